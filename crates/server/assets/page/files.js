// Lists files with the lines that a search found, each a link that opens beside the page.

import { h } from './h.js';
import { beside } from './router.js';

/**
 * @param {{path: string, relPath: string, repo: string, ranges: string[]}[]} files
 * @param {{cited?: Set<string>}} [options] paths that the answer cites
 * @returns {HTMLElement}
 */
export function fileList(files, { cited = new Set() } = {}) {
  const many = new Set(files.map((file) => file.repo)).size > 1;
  return h('ul', { class: 'files' }, files.map((file) => h('li', { class: cited.has(file.path) ? 'cited' : null },
    h('span', { class: 'path', title: file.path },
      many && h('span', { class: 'about' }, `${file.repo} `), file.relPath),
    h('span', { class: 'ranges' }, file.ranges.map((range) => [rangeLink(file, range), ' ']),
      cited.has(file.path) && h('span', { class: 'badge' }, 'cited')))));
}

/**
 * A link that opens lines of a file beside the page.
 * @param {{path: string, relPath?: string}} file
 * @param {string} range as `12-40`
 * @param {unknown} [label]
 * @returns {HTMLElement}
 */
export function rangeLink(file, range, label) {
  const [first, last] = range.split('-').map(Number);
  const lines = first === last ? String(first) : range;
  const at = { path: file.path, first: first || null, last: last || first || null };
  return h('a', {
    href: beside(at), class: 'place', 'data-item': true, 'data-path': file.path, 'data-first': at.first,
    'data-last': at.last, 'aria-label': `${file.relPath ?? file.path}, ${range === '' ? 'all' : `lines ${lines}`}`,
  }, label ?? lines);
}
