// Shows what a tool was given and what it returned: JSON with its parts marked, text as it is.

import { h } from './h.js';

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MAX_SHOWN = 65536;

/**
 * Shows a value: a text as it is, and everything else as JSON.
 * @param {unknown} value
 * @param {string} label what it is, for screen readers
 * @returns {HTMLElement}
 */
export function valued(value, label) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const props = { class: 'code block', tabindex: 0, role: 'group', 'aria-label': label };
  if (typeof value === 'string' && !looksLikeJson(text)) {
    return h('pre', props, cut(text));
  }
  return h('pre', props, marked(cut(pretty(text))));
}

/**
 * Returns what a tool returned as something to show: the text that a tool of MCP gives, else all of it.
 * @param {any} result
 * @returns {unknown}
 */
export function plain(result) {
  if (!Array.isArray(result?.content)) {
    return result;
  }
  const parts = result.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`));
  const structured = result.structuredContent;
  const text = parts.join('\n\n');
  return text === '' && structured ? structured : text;
}

function looksLikeJson(text) {
  return /^\s*[[{]/.test(text) && pretty(text) !== text;
}

function pretty(text) {
  // Numbers that are too long to be kept by the browser stand as they were sent.
  if (/\d{16}/.test(text)) {
    return text;
  }
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function cut(text) {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n… (cut)` : text;
}

function marked(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [whole, string, colon] = found;
    const kind = string === undefined ? (/^[tfn]/.test(whole) ? 'o' : 'n') : colon === undefined ? 's' : 'f';
    const token = string ?? whole;
    parts.push(text.slice(end, found.index), h('span', { class: `m-${kind}` }, token));
    end = found.index + token.length;
  }
  return [...parts, text.slice(end)];
}
