// Dialogs: to confirm, to give a token, and the list of keys.

import { h } from './h.js';
import { capital, worded } from './notice.js';

const KEYS = [
  ['/', 'Write a question, or a search on every other page'],
  ['j · k', 'Next and previous result, citation, step or conversation'],
  ['o', 'Open the selected item, like Enter'],
  ['s', 'Go to the lines of the open source'],
  ['↑ · ↓', 'Select a line of the focused source; with Shift, several lines'],
  ['h · l', 'Select a name of the line: the one before or after'],
  ['Enter', 'In the source, go to the definition of the selected name; with Ctrl, in a new tab'],
  ['u', 'Show what uses the definition at the selected line, or that of a result'],
  ['c', 'Show the commits that changed the selected lines, or the open file'],
  ['Esc', 'Close the open pane, or leave a field'],
  ['?', 'Show these keys'],
  ['Enter', 'In a question, send it; Shift and Enter begin a new line'],
];

/**
 * Opens a dialog, and gives back the focus after it. It closes when the address changes.
 * @param {string} title
 * @param {(close: (value: any) => void) => unknown} content
 * @param {{wide?: boolean}} [options]
 * @returns {Promise<any>} what it was closed with; `null` where it was dismissed
 */
export function dialog(title, content, { wide = false } = {}) {
  return new Promise((resolve) => {
    let value = null;
    const before = document.activeElement;
    const close = (given) => {
      value = given;
      box.close();
    };
    const leave = () => box.close();
    const closed = () => {
      removeEventListener('route', leave);
      removeEventListener('hashchange', leave);
      box.remove();
      before?.focus?.();
      resolve(value);
    };
    // One may open over another.
    const id = `dialog-title-${document.querySelectorAll('dialog').length}`;
    const heading = h('h2', { id }, title);
    const props = { 'aria-labelledby': id, class: wide ? 'wide-dialog' : null, onclose: closed };
    const box = h('dialog', props, heading, content(close));
    document.body.append(box);
    box.showModal();
    addEventListener('route', leave);
    addEventListener('hashchange', leave);
  });
}

/**
 * Asks whether something is to be done that cannot be undone.
 * @param {string} title a question
 * @param {string} text what will be lost
 * @param {string} verb the name of the button
 * @returns {Promise<boolean>}
 */
export async function confirmed(title, text, verb) {
  const answer = await dialog(title, (close) => [
    h('p', null, text),
    h('p', { class: 'row end' },
      h('button', { type: 'button', autofocus: true, onclick: () => close(false) }, 'Cancel'),
      h('button', { type: 'button', class: 'danger', onclick: () => close(true) }, verb)),
  ]);
  return answer === true;
}

/**
 * Asks for a token.
 * @param {string} message what the server said
 * @returns {Promise<string | null>}
 */
export function askToken(message) {
  return dialog('A token is needed', (close) => {
    const field = h('input', {
      id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', autofocus: true, required: true,
    });
    const submit = (event) => {
      event.preventDefault();
      const token = field.value.trim();
      if (token !== '') {
        close(token);
      }
    };
    return h('form', { onsubmit: submit },
      h('p', null, worded(`${capital(message)}.`)),
      h('p', null, 'Make one with ', h('code', null, 'codeinfo token create NAME'),
        '; it stays in this tab alone. As the owner, open the page with ', h('code', null, 'codeinfo open'), '.'),
      h('p', { class: 'field' }, h('label', { for: 'token' }, 'Token'), field),
      h('p', { class: 'row end' },
        h('button', { type: 'button', onclick: () => close(null) }, 'Cancel'),
        h('button', { type: 'submit', class: 'primary' }, 'Use token')));
  });
}

/** Shows the keys. */
export function showKeys() {
  return dialog('Keys', (close) => [
    h('dl', { class: 'keys' }, KEYS.map(([key, what]) => [
      h('dt', null, key.split(' · ').map((one, at) => [at > 0 && ' ', h('kbd', null, one)])),
      h('dd', null, what),
    ])),
    h('p', { class: 'row end' },
      h('button', { type: 'button', autofocus: true, onclick: () => close(null) }, 'Close')),
  ]);
}
