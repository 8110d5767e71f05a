// The keyboard: `/`, `j`, `k`, `o`, `s`, `u`, `c`, `Esc` and `?`.

import { showKeys } from './dialog.js';
import { beside, go, link } from './router.js';

const FIELDS = 'textarea, select, input, [contenteditable]';
const escapes = [];

/**
 * Says what `Esc` closes. The one that was added last is asked first.
 * @param {() => boolean} close returns whether there was something to close
 */
export function onEscape(close) {
  escapes.unshift(close);
}

/** Listens to the keyboard. */
export function listen() {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
      return;
    }
    if (document.querySelector('dialog[open]') !== null) {
      return;
    }
    const isField = event.target instanceof Element && event.target.matches(FIELDS);
    if (event.key === 'Escape' ? escape(event.target, isField) : !isField && act(event.key)) {
      event.preventDefault();
    }
  });
}

function act(key) {
  switch (key) {
    case '/': return toField();
    case 'j': return move(1);
    case 'k': return move(-1);
    case 'o': return open();
    case 's': return toSource();
    case 'u': return followSource('[data-uses]');
    case 'c': return followSource('[data-history]');
    case '?': showKeys(); return true;
    default: return false;
  }
}

function escape(target, isField) {
  if (escapes.some((close) => close())) {
    return true;
  }
  if (isField) {
    target.blur();
    document.getElementById('main').focus({ preventScroll: true });
  }
  return isField;
}

/** Goes to the field of the view, which the source may cover; where it has none, to the search. */
function toField() {
  const field = document.querySelector('[data-field]');
  if (field === null) {
    go(link(['search']));
    return true;
  }
  if (!field.checkVisibility()) {
    go(beside(null));
  }
  field.focus();
  field.select();
  return true;
}

function toSource() {
  const lines = document.querySelector('.lines');
  lines?.focus();
  return lines !== null;
}

/** Shows the uses or the history of the result with the focus, else those of the open source. */
function followSource(links) {
  const result = document.activeElement?.closest('.result');
  const to = result?.querySelector(links) ?? document.querySelector('.source')?.querySelector(links) ?? null;
  to?.focus();
  to?.click();
  return to !== null;
}

/** Moves the focus among what can be opened: in the part of the page that has it, else in the main one. */
function move(by) {
  const active = document.activeElement;
  const part = active?.closest('#side, #evidence, #main') ?? document.getElementById('main');
  const items = [...part.querySelectorAll('[data-item]')].filter((item) => item.checkVisibility());
  if (items.length === 0) {
    return false;
  }
  const at = items.indexOf(active.closest?.('[data-item]'));
  // From nowhere, the first one that is seen.
  const seen = items.findIndex((item) => item.getBoundingClientRect().top >= part.getBoundingClientRect().top);
  const next = at < 0 ? Math.max(0, seen) : Math.min(items.length - 1, Math.max(0, at + by));
  items[next].focus({ preventScroll: true });
  items[next].scrollIntoView({ block: 'nearest' });
  return true;
}

function open() {
  const item = document.activeElement?.closest('[data-item]');
  // Links in drawings have no `click`.
  item?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
  return item !== null && item !== undefined;
}
