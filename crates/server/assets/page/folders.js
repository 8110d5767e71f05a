// Adds a folder to the index: chosen from what the server lists, or written by hand.

import { address, get, post } from './api.js';
import { dialog } from './dialog.js';
import { counted } from './format.js';
import { fill, h } from './h.js';
import { announce, empty, problem, waiting } from './notice.js';
import { refreshRepositories } from './state.js';

/**
 * Has one choose a folder, and starts indexing it.
 * @returns {Promise<{runId: string, path: string} | null>} `null` where it was dismissed
 */
export function addFolder() {
  return dialog('Add a folder', chooser, { wide: true });
}

function chooser(close) {
  const path = h('input', { id: 'folder-path', required: true, autocomplete: 'off', spellcheck: 'false' });
  const name = h('input', { id: 'folder-name', autocomplete: 'off', maxlength: 200 });
  const description = h('input', { id: 'folder-description', autocomplete: 'off', maxlength: 4000 });
  const list = h('div', { class: 'chooser', role: 'group', 'aria-label': 'Folders', tabindex: 0 });
  const failed = h('div');
  const button = h('button', { type: 'submit', class: 'primary' }, 'Add');
  let asked = 0;

  const open = async (at, isFocused = true) => {
    asked += 1;
    const mine = asked;
    try {
      const folder = await get(address('/folders', { path: at }));
      if (mine === asked) {
        path.value = folder.path ?? '';
        show(folder);
        announce(counted(folder.folders.length, 'folder'));
        if (isFocused) {
          list.querySelector('button')?.focus();
        }
      }
    } catch (error) {
      if (mine === asked) {
        const { code, message, details } = error;
        const hint = code === 'FORBIDDEN' ? 'You can still add it: write its full path above' : undefined;
        fill(list, problem({ code, message, details, hint }, at === undefined ? undefined : () => open(undefined)),
          hint === undefined && h('p', { class: 'about' }, 'You can also write a path above.'));
      }
    }
  };
  const show = (folder) => {
    const up = folder.path !== null
      && h('li', null, h('button', { type: 'button', class: 'plain folder', onclick: () => open(folder.parent ?? undefined) },
        folder.parent === null ? 'All allowed folders' : 'Up'));
    const items = folder.folders.map((one) => h('li', null,
      h('button', { type: 'button', class: 'plain folder', onclick: () => open(one.path) }, one.name),
      one.isRepository && h('span', { class: 'badge' }, 'git'),
      one.indexed && h('span', { class: 'badge' }, `indexed as ${one.indexed}`)));
    fill(list, h('ul', null, up, items),
      folder.folders.length === 0 && empty('It has no folders. Add this one, or go up.'),
      folder.truncated && h('p', { class: 'about' }, 'There are more folders; write the path above.'));
    list.scrollTop = 0;
  };
  const submit = async (event) => {
    event.preventDefault();
    const body = { path: path.value.trim() };
    if (name.value.trim() !== '') {
      body.name = name.value.trim();
    }
    if (description.value.trim() !== '') {
      body.description = description.value.trim();
    }
    button.disabled = true;
    fill(failed);
    try {
      const { runId } = await post('/ingest/start', body);
      await refreshRepositories().catch(() => {});
      close({ runId, path: body.path });
    } catch (error) {
      fill(failed, problem(error));
    } finally {
      button.disabled = false;
    }
  };
  path.addEventListener('change', () => path.value.trim() !== '' && open(path.value.trim(), false));
  fill(list, waiting());
  open(undefined, false);
  return h('form', { onsubmit: submit },
    h('p', { class: 'field' }, h('label', { for: 'folder-path' }, 'Folder'), path),
    list,
    h('p', { class: 'field' }, h('label', { for: 'folder-name' }, 'Name (if empty, the name of the folder)'), name),
    h('p', { class: 'field' }, h('label', { for: 'folder-description' }, 'Description, for agents that choose a repository (may be empty)'),
      description),
    failed,
    h('p', { class: 'row end' },
      h('button', { type: 'button', onclick: () => close(null) }, 'Cancel'), button));
}
