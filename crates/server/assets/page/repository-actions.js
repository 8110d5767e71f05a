// What can be done with a repository: index it again, embed it again, remove it, search it, see its map.

import { post } from './api.js';
import { confirmed } from './dialog.js';
import { fill, h } from './h.js';
import { announce, problem } from './notice.js';
import { go, link, route } from './router.js';
import { refreshRepositories } from './state.js';

/**
 * @param {{name: string, path: string}} root
 * @param {boolean} isBusy whether a run works on it
 * @returns {HTMLElement}
 */
export function actions(root, isBusy) {
  const failed = h('div');
  const act = (label, work, isEnabled = true) => {
    const click = async () => {
      fill(failed);
      button.disabled = true;
      try {
        await work();
        await refreshRepositories();
      } catch (error) {
        fill(failed, problem(error));
      } finally {
        button.disabled = false;
      }
    };
    const button = h('button', { type: 'button', disabled: !isEnabled, onclick: click }, label);
    return button;
  };
  return h('div', null,
    h('p', { class: 'row' },
      act('Index again', () => post('/ingest/start', { path: root.path }), !isBusy),
      act('Embed again', () => embed(root), !isBusy),
      act('Remove', () => discard(root)),
      h('a', { href: link(['search'], { repository: root.name }) }, 'Search in it'),
      h('a', { href: link(['map'], { repository: root.name }) }, 'Map')),
    failed);
}

async function embed(root) {
  const isSure = await confirmed(`Embed ${root.name} again?`,
    'All of its chunks are embedded again, which takes as long as the first time. It stays searchable meanwhile.',
    'Embed again');
  if (isSure) {
    await post(`/ingest/reembed/${encodeURIComponent(root.name)}`);
  }
}

async function discard(root) {
  const isSure = await confirmed(`Remove ${root.name}?`,
    `It is removed from the index. The files in ${root.path} are not touched.`, 'Remove');
  if (!isSure) {
    return;
  }
  await post(`/ingest/remove/${encodeURIComponent(root.name)}`);
  announce(`${root.name} was removed`);
  const { name, id } = route();
  if (name === 'repositories' && id !== null) {
    go(link(['repositories']));
  }
}
