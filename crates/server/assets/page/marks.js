// Writes a line of code with its parts marked, as the server found them with the grammar of the language.

import { h } from './h.js';

/** Longer lines are cut: nobody reads them, and they would slow the page down. */
const MAX_LENGTH = 4000;
const CLASSES = new Set(['k', 's', 'c', 'n', 't', 'f', 'a', 'o']);

/**
 * @param {string} text
 * @param {[number, number, string][]} [marks] start, end and class; in order and apart
 * @returns {(string | HTMLElement)[]}
 */
export function marked(text, marks = []) {
  const line = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text;
  const parts = [];
  let at = 0;
  for (const [start, end, kind] of marks) {
    if (start < at || end <= start || end > line.length || !CLASSES.has(kind)) {
      continue;
    }
    if (start > at) {
      parts.push(line.slice(at, start));
    }
    parts.push(h('span', { class: `m-${kind}` }, line.slice(start, end)));
    at = end;
  }
  if (at < line.length) {
    parts.push(line.slice(at));
  }
  return parts;
}

/**
 * How wide a line is, in letters.
 * @param {string} text
 * @returns {number}
 */
export function width(text) {
  let tabs = 0;
  for (const letter of text.slice(0, MAX_LENGTH)) {
    // Wide letters, such as Chinese ones, take about two.
    tabs += letter === '\t' ? 3 : letter > '\u2e7f' ? 1 : 0;
  }
  return Math.min(text.length, MAX_LENGTH) + tabs;
}
