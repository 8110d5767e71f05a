// Copies text, and saves what the server exports.

import { send } from './api.js';
import { h } from './h.js';
import { announce } from './notice.js';

const SHOWN_MS = 2000;

/**
 * A button that copies, and says that it did.
 * @param {string} label
 * @param {() => string | Promise<string>} text
 * @returns {HTMLElement}
 */
export function copyButton(label, text) {
  const click = async () => {
    const done = await copy(text).then(() => 'Copied', () => 'Cannot be copied');
    button.textContent = done;
    announce(done);
    setTimeout(() => {
      button.textContent = label;
    }, SHOWN_MS);
  };
  const button = h('button', { type: 'button', class: 'plain', onclick: click }, label);
  return button;
}

/**
 * @param {string} path
 * @returns {Promise<string>} what the server exports, as text
 */
export async function exported(path) {
  return (await send(path)).text();
}

/**
 * Saves what the server exports. A link cannot send the token.
 * @param {string} path
 * @param {string} name of the file
 */
export async function save(path, name) {
  const href = URL.createObjectURL(await (await send(path)).blob());
  h('a', { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), SHOWN_MS);
}

async function copy(text) {
  if (window.ClipboardItem !== undefined && navigator.clipboard !== undefined) {
    // What is fetched is given as a promise: some browsers copy only in the moment of the click.
    const blob = Promise.resolve(text()).then((given) => new Blob([given], { type: 'text/plain' }));
    return navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
  }
  const given = await text();
  // Without a secure context, such as by the name of another machine.
  const field = h('textarea', { class: 'unseen', readonly: true, value: given });
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) {
    throw new Error('the browser refused');
  }
}
