// Says what happened: errors with the next step, empty states, and what a screen reader is to speak.

import { h } from './h.js';
import { link } from './router.js';

/** What to do after an error of the server, by its code: a sentence, and where it is done. */
const NEXT = {
  UNREACHABLE: ['Start it with `codeinfo serve`, then try again.'],
  UNAUTHORIZED: ['Send a token: make one with `codeinfo token create NAME`, or open the page with `codeinfo open`.'],
  FORBIDDEN: ['Open the page with `codeinfo open`, or at the address that the server is bound to.'],
  INGEST_REQUIRED: ['Add a folder, then ask again.', ['Add a folder', link(['repositories'], { add: 1 })]],
  EMBED_MODEL_MISMATCH: ['Embed the repositories again.', ['Repositories', link(['repositories'])]],
  EMBED_MODEL_MISSING: ['Check the embedder.', ['Status', link(['status'])]],
  STORE_UNAVAILABLE: ['Check the store.', ['Status', link(['status'])]],
  CODE_INFO_LLM_UNAVAILABLE: ['Search works meanwhile.', ['See what Codex lacks', link(['status'])]],
  REPO_NOT_FOUND: ['It may have been removed or renamed.', ['Repositories', link(['repositories'])]],
  FOLDER_NOT_FOUND: ['It may have been moved, or cannot be indexed.'],
  FILE_NOT_FOUND: ['It may have been moved or removed since.', ['Search for it', link(['search'])]],
  CONVERSATION_NOT_FOUND: ['It may have been deleted, or was not kept.', ['Ask a question', link([])]],
  TURN_NOT_FOUND: ['It may have been deleted, or was not kept.', ['Ask a question', link([])]],
  CONTEXT_WINDOW_EXCEEDED: ['Begin a new conversation.', ['Ask a question', link([])]],
  RUN_NOT_FOUND: ['The server was started again, or the run ended long ago.', ['Repositories', link(['repositories'])]],
  ARCHIVE_UNAVAILABLE: ['Check that the data folder of the server can be written and has free space; the log has the details.'],
  VAULT_UNAVAILABLE: ['Check that the data folder of the server can be read and written; the log has the details.'],
  TOOLKIT_NOT_FOUND: ['It may have been removed or renamed.', ['Toolkits', link(['status'])]],
  TOOLKIT_UNAVAILABLE: ['See what is missing, then start it again.', ['Toolkits', link(['status'])]],
  CANCELLED: ['Ask again, or ask something else.'],
  REQUEST_TIMEOUT: ['The server had too much to do. Try again in a moment.'],
  BUSY: ['Wait until another question has ended, then try again.'],
  TURN_TIMED_OUT: ['Ask a smaller question, or increase CODEX_TURN_TIMEOUT_SECS.'],
  TURN_FAILED: ['See the log of the server, then ask again.'],
  ROUTE_NOT_FOUND: ['This server is of another version than the page. Reload the page.'],
  VALIDATION_FAILED: ['Correct what the message names, then try again.'],
  BAD_REQUEST: ['Reload the page, then try again.'],
  INVALID_JSON: ['Reload the page, then try again.'],
  UNSUPPORTED_MEDIA_TYPE: ['Reload the page, then try again.'],
  METHOD_NOT_ALLOWED: ['This server is of another version than the page. Reload the page.'],
  BODY_TOO_LARGE: ['Shorten the text, then try again.'],
  INTERNAL: ['The log of the server has the details.'],
};

/**
 * Shows an error, with what to do.
 * @param {{code?: string, message: string, details?: string[], hint?: string}} error
 * @param {() => void} [again] what a button `Try again` does
 * @param {{isQuiet?: boolean}} [options] `isQuiet`: nobody waits for it, so that it is not spoken
 * @returns {HTMLElement}
 */
export function problem(error, again, { isQuiet = false } = {}) {
  const [sentence, target] = NEXT[error.code] ?? [];
  const details = (error.details ?? []).map((detail) => h('li', null, sentenced(detail)));
  const next = error.hint ? sentenced(error.hint) : sentence && worded(sentence);
  return h('div', { class: 'problem', role: isQuiet ? null : 'alert' },
    h('p', null, h('strong', null, sentenced(error.message))),
    details.length > 0 && h('ul', null, details),
    next && h('p', null, next),
    (target || again) && h('p', { class: 'row' },
      target && h('a', { href: target[1] }, target[0]),
      again && h('button', { type: 'button', onclick: again }, 'Try again')));
}

/**
 * Shows that there is nothing yet, and what to do.
 * @param {string} what
 * @param {...unknown} next
 * @returns {HTMLElement}
 */
export function empty(what, ...next) {
  return h('div', { class: 'empty' }, h('p', null, what), next.length > 0 && h('p', { class: 'row' }, next));
}

/** @returns {HTMLElement} what stands where something is awaited */
export function waiting(what = 'Loading') {
  return h('p', { class: 'waiting' }, `${what} …`);
}

/**
 * Has a screen reader speak a sentence when it is free.
 * @param {string} sentence
 */
export function announce(sentence) {
  const region = document.getElementById('announcement');
  region.textContent = '';
  requestAnimationFrame(() => {
    region.textContent = sentence;
  });
}

/**
 * Writes a sentence with what stands between backticks as code; `codeinfo docs NAME` is a link to that page.
 * @param {string} sentence
 */
export function worded(sentence) {
  return sentence.split('`').map((part, at) => (at % 2 === 1 ? coded(part) : part));
}

function coded(text) {
  const page = /^codeinfo docs ([a-z-]+)$/.exec(text);
  const code = h('code', null, text);
  return page === null ? code : h('a', { href: `/page/${page[1]}`, target: '_blank' }, code);
}

/**
 * Writes what the server says as a sentence: with a capital letter, a full stop, and code between backticks.
 * @param {string} text
 */
export function sentenced(text) {
  return worded(/[.!?…]$/.test(text) ? capital(text) : `${capital(text)}.`);
}

/** @returns {string} the text with a capital first letter */
export function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
