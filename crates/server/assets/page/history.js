// Shows the commits that changed lines or a file, below the source.

import { address, get } from './api.js';
import { changeBlock, changeWord, commitAddress, commitBadges, lazyChange, lineCounts, shortId } from './diff.js';
import { counted } from './format.js';
import { fill, h } from './h.js';
import { announce, problem, sentenced, waiting } from './notice.js';
import { rangesOf } from './router.js';

const FIRST = 20;
const MOST = 100;

/** The history of one place. */
export class HistoryPane {
  /** @param {HTMLElement} element @param {() => void} close */
  constructor(element, close) {
    this.element = element;
    this.title = h('h3');
    this.summary = h('p', { class: 'about', role: 'status' });
    this.list = h('div');
    fill(element, h('div', { class: 'row' }, this.title,
      h('button', { type: 'button', class: 'plain', onclick: close }, 'Close history')), this.summary, this.list);
  }

  /**
   * Shows the history of a file or of lines of it, `path:first-last`; `null` ends it.
   * @param {import('./router.js').ShownUses | null} shown
   */
  async open(shown, limit = FIRST) {
    const key = JSON.stringify([shown, limit]);
    if (key === this.key) {
      return;
    }
    this.key = key;
    this.controller?.abort();
    if (shown === null) {
      return;
    }
    const controller = new AbortController();
    this.controller = controller;
    const { of, repository } = shown;
    const [, path, lines] = /^(.*?)(?::(\d+(?:-\d+)?))?$/s.exec(of);
    fill(this.title, 'History of ', h('code', null, of));
    if (limit === FIRST) {
      this.summary.textContent = '';
      fill(this.list, waiting());
    }
    try {
      const found = await get(address('/symbols/history', { path, lines, repository, limit }), controller.signal);
      if (!controller.signal.aborted) {
        this.show(found, rangesOf(lines ?? '').length > 0, limit < MOST && (() => this.open(shown, MOST)));
      }
    } catch (error) {
      if (!controller.signal.aborted) {
        this.key = null;
        fill(this.list, problem(error, () => this.open(shown, limit)));
      }
    }
  }

  show({ repo, commits, subject, isChanged, stop }, isOfLines, more) {
    const isCut = commits.some((commit) => commit.isAfterGap);
    fill(this.title, 'History of ', h('code', null, subject.replace(/:(\d+)-\1$/, ':$1')));
    fill(this.summary, [
      `${counted(commits.length, 'commit')} changed ${isOfLines ? 'the lines' : 'the file'}${isCut ? ', and more that are not listed' : ''}. `,
      isChanged && 'The indexed file has local changes: the lines are those of the last commit. ',
      stop && sentenced(stop),
    ]);
    announce(this.summary.textContent);
    fill(this.list, h('ul', null, commits.map((commit) => entry(repo, commit, isOfLines))),
      (isCut || (stop !== null && commits.length >= FIRST)) && more
        && h('p', { class: 'row' }, h('button', { type: 'button', onclick: more }, `Show up to ${MOST}`)));
    if (document.activeElement === this.element) {
      this.list.querySelector('[data-item]')?.focus({ preventScroll: true });
      this.element.scrollIntoView({ block: 'nearest' });
    }
  }
}

function range([first, last]) {
  return first === last ? `${first}` : `${first}–${last}`;
}

function entry(repo, commit, isOfLines) {
  const { id, author, date, subject, change, isOrigin, isAfterGap, presentLines = [] } = commit;
  const path = change?.path;
  return h('li', { class: 'use' },
    isAfterGap && h('p', { class: 'about' }, 'Commits between are not listed.'),
    h('p', null, h('a', { href: commitAddress(repo, id, path), 'data-item': true }, h('bdi', null, subject || 'No message')), ' ',
      presentLines.length > 0 && [h('span', { class: 'badge' }, `present form of ${presentLines.map(range).join(', ')}`), ' '],
      isOrigin && [h('span', { class: 'badge' }, 'the lines appeared here'), ' '], commitBadges(commit)),
    h('p', { class: 'about' }, h('time', { title: date }, date.split(' ')[0]), author && [' · ', h('bdi', null, author)], ' · ', h('code', null, shortId(id)),
      change?.oldPath && [' · from ', h('code', null, change.oldPath)]),
    isOfLines || path === undefined ? changeBlock({ repo, commit })
      : lazyChange({ repo, id, path }, [changeWord(change), ' ', h('code', null, path), ` ${lineCounts(change.lines)}`]));
}
