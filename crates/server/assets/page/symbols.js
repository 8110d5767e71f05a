// Links to definitions, as the server lists them.

import { h } from './h.js';
import { beside } from './router.js';

/**
 * @typedef {{path: string, relPath: string, repo: string, line: number, name: string, isTest: boolean}} SymbolPlace
 */

/**
 * Writes the address of a definition.
 * @param {SymbolPlace} place
 * @param {import('./router.js').ShownUses | null} [uses]
 * @returns {string}
 */
export function addressOf({ path, line }, uses) {
  return beside({ path, first: line, last: line, repository: null }, uses);
}

/** @param {SymbolPlace} place @returns {string} the name of a definition; that of the file at its top level */
export function nameOf({ name, relPath }) {
  return name === '' ? `top level of ${relPath.split('/').at(-1)}` : name;
}

/** Properties of a link to a line of a file, for HTML and SVG. */
export function linkProps({ path, relPath }, line, label) {
  return {
    href: addressOf({ path, line }), class: 'place', 'data-item': true, 'data-path': path, 'data-first': line,
    'data-last': line, 'aria-label': label ?? `${relPath}, line ${line}`,
  };
}

/** @param {SymbolPlace} place @returns {HTMLElement} a link to a definition */
export function symbolLink(place) {
  return h('a', linkProps(place, place.line, `${nameOf(place)}, ${place.relPath}, line ${place.line}`),
    h('code', null, nameOf(place)));
}

/** @param {string} certainty @returns {HTMLElement | false} the word for what is not certain */
export function certaintyBadge(certainty) {
  return certainty !== 'certain' && h('span', { class: 'badge' }, certainty);
}

/** @param {SymbolPlace} place @returns {HTMLElement} where a definition is */
export function placeText({ path, relPath, line }) {
  return h('span', { class: 'path about', title: path }, `${relPath}:${line}`);
}
