// Repositories: all of them, or one with its languages, its last run and what was skipped.

import { counted, time } from './format.js';
import { addFolder } from './folders.js';
import { fill, h, renew } from './h.js';
import { empty, problem, waiting } from './notice.js';
import { actions } from './repository-actions.js';
import { one } from './repository.js';
import { go, link } from './router.js';
import { isActive, runPanel, stateInWords } from './run.js';
import { on, refreshRepositories } from './state.js';

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  if (route.id !== null) {
    return one(content, route.id, signal);
  }
  const list = h('div', null, waiting());
  const cards = new Map();
  const add = async () => {
    const added = await addFolder();
    if (added !== null) {
      await refreshRepositories().catch(() => {});
    }
  };
  fill(content,
    h('h1', null, 'Repositories'),
    h('p', { class: 'row' }, h('button', { type: 'button', class: 'primary', onclick: add }, 'Add a folder')),
    list);
  const show = (roots) => {
    if (roots.length === 0) {
      fill(list, empty('Nothing is indexed yet. Add a folder with code; its files are read and never changed.'));
      cards.clear();
      return;
    }
    for (const [id, card] of cards) {
      if (!roots.some((root) => root.id === id)) {
        card.element.remove();
        cards.delete(id);
      }
    }
    if (cards.size === 0) {
      fill(list);
    }
    roots.forEach((root, at) => {
      if (!cards.has(root.id)) {
        cards.set(root.id, new Card(root, signal));
      }
      const card = cards.get(root.id);
      card.update(root);
      if (list.children[at] !== card.element) {
        list.insertBefore(card.element, list.children[at] ?? null);
      }
    });
  };
  on('repositories', show, signal);
  const load = () => refreshRepositories().catch((error) => fill(list, problem(error, load)));
  await load();
  const opened = (next) => {
    if (next.query.get('add') !== null) {
      go(link(['repositories']), 'replace');
      add();
    }
  };
  opened(route);
  return { title: 'Repositories', update: opened };
}

/** A repository in the list. What it says is renewed; a run that is shown stays. */
class Card {
  constructor(root, signal) {
    this.signal = signal;
    this.run = null;
    this.about = h('div');
    this.progress = h('div');
    this.buttons = h('div');
    this.element = h('article', { class: 'card', 'aria-label': root.name }, this.about, this.progress, this.buttons);
  }

  update(root) {
    const isFailed = root.lastError !== null && !root.runId;
    renew(this.about, root, () => [
      h('div', { class: 'row' },
        h('h2', null, h('a', { href: link(['repositories', root.name]), 'data-item': true }, root.name)),
        h('span', { class: isFailed ? 'state-word bad' : 'about' }, root.runId ? 'Being indexed' : stateInWords(root.state))),
      h('p', { class: 'path' }, root.path),
      root.description && h('p', null, root.description),
      h('p', { class: 'about' }, `${counted(root.counts.files, 'file')} · ${counted(root.counts.chunks, 'chunk')} · indexed `,
        time(root.lastIngestAt)),
      isFailed && problem({ message: root.lastError }, undefined, { isQuiet: true })]);
    if (root.runId && root.runId !== this.run) {
      this.run = root.runId;
      const ended = () => refreshRepositories().catch(() => {});
      fill(this.progress, runPanel(root.runId, root.name, ended, this.signal));
    }
    renew(this.buttons, [root.name, root.path, root.runId ?? null],
      () => actions(root, isActive(root.state) || Boolean(root.runId)));
  }
}
