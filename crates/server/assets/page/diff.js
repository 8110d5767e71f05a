// Shows what a commit changed in a file: the lines with their signs, and links to the file as it is and was.

import { address, get } from './api.js';
import { count, counted } from './format.js';
import { fill, h } from './h.js';
import { marked } from './marks.js';
import { problem, sentenced, waiting } from './notice.js';
import { beside, link } from './router.js';

const SIGNS = { '+': 'added ', '-': 'removed ' };

/**
 * Writes the address of a commit.
 * @param {string} repo
 * @param {string} id
 * @param {string} [path] the file whose change is opened
 * @returns {string}
 */
export function commitAddress(repo, id, path) {
  return link(['commit', repo, id], { path });
}

/** @param {string} id @returns {string} the beginning of an id, as it is shown */
export function shortId(id) {
  return id.slice(0, 10);
}

/** @returns {HTMLElement[]} words for what a commit is besides a change */
export function commitBadges({ parentCount, reverts }) {
  return [parentCount > 1 && `merge of ${parentCount} commits`, reverts && `says that it reverts ${shortId(reverts)}`]
    .filter((words) => words).map((words) => [h('span', { class: 'badge' }, words), ' ']);
}

/** @returns {string} such as `renamed`; `mode changed` where no line is another */
export function changeWord({ kind, lines }) {
  const isSame = kind === 'modified' && lines !== undefined && lines[0] + lines[1] === 0;
  return isSame ? 'mode changed' : kind === 'retyped' ? 'type changed' : kind;
}

/** @returns {string} such as `+3 −1`, or nothing where lines were not counted */
export function lineCounts(lines) {
  return lines === undefined ? '' : `+${count(lines[0])} −${count(lines[1])}`;
}

/**
 * Shows the difference of a file, as the server sends it with a commit.
 * @param {{repo: string, commit: any, lines?: import('./router.js').Range | null}} shown `lines`: the cited ones, which are marked
 * @returns {unknown[]}
 */
export function changeBlock({ repo, commit: { id, parents, change, note }, lines: meant = null }) {
  if (change === undefined) {
    return [note && h('p', { class: 'about' }, sentenced(note))];
  }
  const { path, oldPath, kind, lines, diff = [], isCut, isIndexed } = change;
  const [parent] = parents;
  const at = (number, sign) => beside(sign === '-'
    ? { path: oldPath ?? path, repository: repo, commit: parent, first: number, last: number }
    : { path, repository: repo, commit: id, first: number, last: number }, null);
  const links = [
    isIndexed && ['The file as it is', { path, repository: repo }],
    kind !== 'deleted' && ['As it was in this commit', { path, repository: repo, commit: id, ...meant }],
    kind !== 'added' && parent !== undefined && ['Before', { path: oldPath ?? path, repository: repo, commit: parent }],
  ].filter((one) => one);
  let last = null;
  const rows = diff.map(({ sign, number, text, marks }) => {
    const isApart = sign !== '-' && last !== null && number > last + 1;
    last = sign === '-' ? last : number;
    const isMeant = sign !== '-' && meant !== null && meant.first <= number && number <= meant.last;
    return [isApart && h('span', { class: 'code-line about' }, '⋯\n'),
      h('span', { class: 'code-line', 'data-sign': sign, 'aria-current': isMeant ? 'true' : null },
        h('a', { class: 'number', href: at(number, sign), tabindex: -1 }, number),
        h('span', { class: 'sign' }, h('span', { class: 'unseen' }, SIGNS[sign]), sign), h('code', null, marked(text, marks)), '\n')];
  });
  return [
    rows.length > 0 && h('pre', { class: 'result-code diff code', role: 'group', tabindex: 0, 'aria-label': `Difference of ${path}` }, rows),
    note && h('p', { class: 'about' }, sentenced(note)),
    rows.length === 0 && note === undefined && h('p', { class: 'about' },
      lines === undefined ? 'The lines cannot be compared: the file is binary or too large.' : 'No line differs.'),
    isCut && h('p', { class: 'about' }, `More lines differ than the ${counted(rows.length, 'line')} shown here.`),
    h('p', { class: 'row' }, links.map(([words, place]) =>
      h('a', { href: beside({ first: null, last: null, ...place }, null) }, words))),
  ];
}

/**
 * A part that loads the difference of a file when it is opened.
 * @param {{repo: string, id: string, path: string, signal?: AbortSignal, lines?: import('./router.js').Range | null}} file
 * @param {unknown} summary
 * @returns {HTMLDetailsElement}
 */
export function lazyChange({ repo, id, path, signal, lines }, summary) {
  const box = h('div');
  let isAsked = false;
  const load = async () => {
    if (!details.open || isAsked) {
      return;
    }
    isAsked = true;
    fill(box, waiting());
    try {
      const { commits: [commit] } = await get(address('/symbols/history', { commit: id, path, repository: repo }), signal);
      fill(box, changeBlock({ repo, commit, lines }));
      box.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
    } catch (error) {
      isAsked = false;
      fill(box, problem(error, load));
    }
  };
  const details = h('details', { class: 'change', ontoggle: load }, h('summary', { 'data-item': true }, summary), box);
  return details;
}
