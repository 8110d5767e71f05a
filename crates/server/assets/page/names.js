// Finds the names in shown lines of code: under the pointer, at the selection, and one after the other.

const NAME = /[\p{L}\p{N}_$]+/gu;
/** Keywords, strings, comments and numbers are not names. */
const NOT_NAMES = '.m-k, .m-s, .m-c, .m-n';
const encoder = new TextEncoder();

/**
 * @typedef {{text: string, line: number, column: number, range: Range}} Name `column` counts bytes from 0
 */

/**
 * Lists the names of a line in order.
 * @param {HTMLElement} row
 * @returns {Name[]}
 */
export function listNames(row) {
  const code = row.querySelector('code');
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const names = [];
  let before = '';
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const matches = node.parentElement.matches(NOT_NAMES) ? [] : node.data.matchAll(NAME);
    for (const { 0: text, index } of matches) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + text.length);
      const column = encoder.encode(before + node.data.slice(0, index)).length;
      names.push({ text, line: Number(row.dataset.line), column, range });
    }
    before += node.data;
  }
  return names;
}

/**
 * Finds the name at a point of the window.
 * @param {{clientX: number, clientY: number, target: EventTarget | null}} event
 * @returns {Name | null}
 */
export function findNameAtPoint({ clientX: x, clientY: y, target }) {
  const row = target instanceof Element && target.closest('code') !== null ? target.closest('.line') : null;
  const isAt = ({ range }) => [...range.getClientRects()].some((box) =>
    box.left <= x && x < box.right && box.top <= y && y < box.bottom);
  return row === null ? null : listNames(row).find(isAt) ?? null;
}

/**
 * Finds the name at the selection or the caret, where that is in one of some lines.
 * @param {HTMLElement} lines
 * @returns {Name | null}
 */
export function findSelectedName(lines) {
  const selection = getSelection();
  const row = selection.anchorNode?.parentElement?.closest('.line code')?.closest('.line') ?? null;
  if (row === null || !lines.contains(row)) {
    return null;
  }
  const start = selection.getRangeAt(0);
  const isAt = ({ range }) => range.comparePoint(start.startContainer, start.startOffset) === 0;
  return listNames(row).find(isAt) ?? null;
}
