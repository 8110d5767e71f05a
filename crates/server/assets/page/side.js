// The left column: conversations, which are searched here, and repositories.

import { address, get, remove } from './api.js';
import { confirmed } from './dialog.js';
import { counted, time } from './format.js';
import { fill, h } from './h.js';
import { announce, problem } from './notice.js';
import { go, link, onRoute, route } from './router.js';
import { changed, on, poll, refreshRepositories } from './state.js';

const WAIT_MS = 200;
/** So many conversations are listed, and so many more each time that one asks for more. */
const PAGE = 100;
const OFTEN_MS = 3000;
const SELDOM_MS = 30000;

/** Fills the left column, and keeps it up to date. */
export function startSide() {
  const side = document.getElementById('side');
  const search = h('input', {
    id: 'find-conversation', type: 'search', placeholder: 'Search conversations', autocomplete: 'off',
    'aria-label': 'Search conversations',
  });
  const conversations = h('ul', { class: 'list', 'aria-label': 'Conversations' });
  const repositories = h('ul', { class: 'list', 'aria-label': 'Repositories' });
  const note = h('div', { class: 'note' });
  const failed = h('div');
  const clear = h('button', { type: 'button', class: 'plain', hidden: true, onclick: () => deleteAll(failed) }, 'Delete all');
  let limit = PAGE;
  const more = h('button', { type: 'button', class: 'plain more', hidden: true, onclick: () => showMore() }, 'Show more');
  fill(side,
    h('p', { class: 'row' }, h('a', { href: '#/', class: 'button' }, 'New question')),
    h('section', null, h('h2', null, 'Conversations'), search, conversations, note,
      h('p', { class: 'row end' }, more, clear), failed),
    h('section', null, h('h2', null, 'Repositories'), repositories,
      h('p', { class: 'row' }, h('a', { href: link(['repositories'], { add: 1 }) }, 'Add a folder'))));

  const showConversations = async () => {
    const words = search.value.trim();
    const asked = limit;
    const found = await get(address('/conversations', { q: words, limit: asked }));
    if (words !== search.value.trim() || asked !== limit) {
      return SELDOM_MS;
    }
    changed('listed', found.conversations);
    const items = found.conversations.map(conversation);
    keepFocus(conversations, items);
    more.hidden = !found.more;
    clear.hidden = items.length === 0 || words !== '';
    fill(note, found.kept === 0 && h('p', null, 'The server keeps none on disk.'),
      items.length === 0 && h('p', null, words === '' ? 'None yet. Ask a question.' : 'No conversation has these words.'));
    return found.conversations.some((one) => one.running) ? OFTEN_MS : SELDOM_MS;
  };
  const refresh = poll(() => showConversations().catch((error) => {
    if (note.querySelector('.problem') === null) {
      fill(note, problem(error, () => refresh()));
    }
    throw error;
  }));
  /** The button goes with the last of them, and the focus goes to the first that is new. */
  const showMore = async () => {
    const shown = conversations.children.length;
    limit += PAGE;
    await refresh();
    conversations.children[shown]?.querySelector('a').focus();
  };
  let timer = null;
  search.addEventListener('input', () => {
    limit = PAGE;
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT_MS);
  });
  on('conversations', refresh);
  on('repositories', (roots) => keepFocus(repositories, roots.map(repository)));
  poll(async () => {
    const roots = await refreshRepositories();
    return roots.some((one) => one.runId) ? OFTEN_MS : SELDOM_MS;
  });
  onRoute(() => markCurrent(side));
}

function conversation(one) {
  const place = { class: 'entry', href: link(['c', one.id]), 'data-item': true };
  return h('li', null, h('a', place,
    h('span', { class: 'title' }, one.title),
    one.excerpt && h('span', { class: 'excerpt' }, one.excerpt),
    h('span', { class: 'about' }, one.running ? h('span', { class: 'running' }, 'running') : time(one.updatedAt),
      ` · ${counted(one.turns, 'question')}`, one.repository && ` · ${one.repository}`)));
}

function repository(one) {
  const state = one.lastError && !one.runId ? 'failed' : one.runId ? one.state : counted(one.counts.files, 'file');
  return h('li', null, h('a', { class: 'entry', href: link(['repositories', one.name]), 'data-item': true },
    h('span', { class: 'title' }, one.name),
    h('span', { class: one.runId ? 'about running' : 'about' }, state)));
}

/** Replaces the entries of a list; the one with the focus keeps it. */
function keepFocus(list, items) {
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  fill(list, items);
  markCurrent(list);
  if (focused !== null) {
    list.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

function markCurrent(part) {
  const { name, id } = route();
  const href = id === null ? null : link([name, id]);
  for (const entry of part.querySelectorAll('.entry')) {
    if (entry.getAttribute('href') === href) {
      entry.setAttribute('aria-current', 'page');
    } else {
      entry.removeAttribute('aria-current');
    }
  }
}

async function deleteAll(failed) {
  const isSure = await confirmed('Delete all conversations?',
    'All conversations are removed from the disk, and running questions are stopped.', 'Delete all');
  if (!isSure) {
    return;
  }
  let deleted = 0;
  try {
    ({ deleted } = await remove('/conversations'));
  } catch (error) {
    fill(failed, problem(error));
    return;
  }
  fill(failed);
  announce(`${counted(deleted, 'conversation')} deleted`);
  changed('conversations');
  if (route().name === 'c') {
    go('#/');
  }
}
