// The map: the folders of a repository by size and by what answers cite, or the files that one answer rests on.

import { address, get } from './api.js';
import { bytes, count } from './format.js';
import { fileList } from './files.js';
import { drawing } from './graph.js';
import { fill, h } from './h.js';
import { empty, problem, waiting } from './notice.js';
import { go, link } from './router.js';
import { repositories } from './state.js';
import { Tree, treemap } from './treemap.js';

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  let shown = null;
  const observer = new ResizeObserver(([{ target }]) => target.dispatchEvent(new Event('sized')));
  signal.addEventListener('abort', () => {
    observer.disconnect();
    // So that it is read again when one comes back later.
    kept = null;
  });
  const show = async ({ query }) => {
    const [turn, folder] = [query.get('turn'), query.get('folder') ?? ''];
    const key = JSON.stringify([turn, query.get('repository'), folder]);
    if (key === shown) {
      return;
    }
    shown = key;
    observer.disconnect();
    // What is asked later may come first.
    const at = { content, signal, observer, isWanted: () => key === shown && !signal.aborted };
    try {
      await (turn === null ? ofRepository(at, query.get('repository'), folder) : ofTurn(at, query));
    } catch (error) {
      if (at.isWanted()) {
        shown = null;
        fill(content, h('h1', null, 'Map'), problem(error, () => show({ query })));
      }
    }
  };
  await show(route);
  return { title: 'Map', update: show };
}

async function ofTurn({ content, signal, isWanted }, query) {
  const [turn, conversation] = [query.get('turn'), query.get('conversation')];
  fill(content, h('h1', null, 'Files behind the answer'), waiting());
  const map = await get(address('/map', { turn }), signal);
  if (!isWanted()) {
    return;
  }
  const cited = new Set(map.files.filter((file) => file.cited).map((file) => file.path));
  fill(content, h('h1', null, 'Files behind the answer'),
    conversation && h('p', null, h('a', { href: link(['c', conversation], { turn }) }, 'Back to the answer')),
    map.files.length === 0
      ? empty('No file supports this answer.')
      : [drawing(map), h('section', { 'aria-labelledby': 'map-files' },
        h('h2', { id: 'map-files' }, 'Files and lines'), fileList(map.files, { cited }))]);
}

let kept = null;

async function ofRepository({ content, signal, observer, isWanted }, wanted, folder) {
  const roots = await repositories();
  if (!isWanted()) {
    return;
  }
  if (roots.length === 0) {
    fill(content, h('h1', null, 'Map'), empty('Nothing is indexed yet.',
      h('a', { href: link(['repositories'], { add: 1 }) }, 'Add a folder')));
    return;
  }
  const repository = wanted ?? roots[0].name;
  const heading = h('h1', null, `Map of ${repository}`);
  const choice = h('select', {
    id: 'map-repository', onchange: () => go(link(['map'], { repository: choice.value })),
  }, roots.map((root) => h('option', { value: root.name }, root.name)));
  choice.value = repository;
  const chooser = h('p', { class: 'field choice' }, h('label', { for: 'map-repository' }, 'Repository '), choice);
  if (kept?.repository !== repository) {
    fill(content, heading, chooser, waiting());
    const { folders, truncated } = await get(address('/map', { repository }), signal);
    if (!isWanted()) {
      return;
    }
    kept = { repository, tree: new Tree(folders), truncated };
  }
  const node = kept.tree.at(folder);
  const href = (path) => link(['map'], { repository, folder: path });
  if (node === undefined || node.allFiles === 0) {
    fill(content, heading, chooser, empty(folder === '' ? 'Nothing in it is indexed yet.' : 'There is no such folder in the index.',
      h('a', { href: href('') }, 'The whole repository')));
    return;
  }
  const box = h('div');
  fill(content, heading, chooser, folder !== '' && crumbs(repository, folder, href),
    h('p', { class: 'about' }, 'The size of an area is the amount of indexed code in it. Areas that answers cite are tinted; the bar below shows how often.'),
    kept.truncated && h('p', { class: 'about' }, 'The smallest folders are not shown.'),
    box, table(node, href));
  let drawn = 0;
  box.addEventListener('sized', () => {
    if (box.clientWidth > 0 && box.clientWidth !== drawn) {
      drawn = box.clientWidth;
      fill(box, treemap(node, drawn, href));
    }
  });
  observer.observe(box);
}

function crumbs(repository, folder, href) {
  const parts = folder.split('/');
  const links = parts.map((part, at) => (at === parts.length - 1
    ? h('span', { 'aria-current': 'location' }, part)
    : h('a', { href: href(parts.slice(0, at + 1).join('/')) }, part)));
  return h('nav', { 'aria-label': 'Folder' }, h('p', { class: 'row' },
    h('a', { href: href('') }, repository),
    links.map((one) => ['/', one])));
}

/** The same as text. */
function table(node, href) {
  const rows = node.children.map((child) => h('tr', null,
    h('th', { scope: 'row' }, h('a', { href: href(child.path), 'data-item': true }, child.name)),
    figures(child.allFiles, child.allBytes, child.allCited)));
  if (node.files > 0) {
    rows.push(h('tr', null, h('th', { scope: 'row' }, 'files in this folder'), figures(node.files, node.bytes, node.cited)));
  }
  return h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Folders' }, h('table', null,
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Folder'),
      ['Files', 'Size', 'Cited'].map((name) => h('th', { scope: 'col', class: 'figure' }, name)))),
    h('tbody', null, rows)));
}

function figures(files, size, cited) {
  return [count(files), bytes(size), count(cited)].map((text) => h('td', { class: 'figure' }, text));
}
