// Takes the HTML that the server makes from Markdown. What is not on the list below stays text.

import { h, mayLead } from './h.js';

const ELEMENTS = new Set([
  'p', 'br', 'hr', 'strong', 'em', 'del', 'code', 'pre', 'ul', 'ol', 'li', 'blockquote',
  'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'span',
]);
const STATES = new Set(['confirmed', 'unconfirmed', 'wrong']);
const SPOKEN = {
  confirmed: 'confirmed',
  unconfirmed: 'unconfirmed',
  wrong: 'wrong',
};
const LINES = /^\d{1,9}$/;
const RANGES = /^[\d,-]{1,2000}$/;

/**
 * Returns what the server wrote as nodes of this document. It is the second fence: the server escapes all that
 * a model says.
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function trusted(html) {
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  const fragment = document.createDocumentFragment();
  take(parsed.body, fragment);
  return fragment;
}

function take(from, into) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      into.append(node.data);
    } else if (node.nodeType === Node.ELEMENT_NODE) {
      const made = element(node);
      take(node, made ?? into);
      if (made !== null) {
        into.append(framed(made));
      }
    }
  }
}

function element(node) {
  const tag = node.localName;
  if (tag === 'input') {
    const label = node.hasAttribute('checked') ? '[x] ' : '[ ] ';
    return h('span', { class: 'task' }, label);
  }
  if (!ELEMENTS.has(tag)) {
    return null;
  }
  if (tag === 'a') {
    return node.classList.contains('cite') ? citation(node) : outer(node);
  }
  const props = {};
  const language = /^language-[\w.+#-]{1,40}$/.exec(node.getAttribute('class') ?? '');
  if (tag === 'code' && language !== null) {
    props.class = language[0];
  }
  // Parts of code, as they are marked everywhere.
  const part = /^m-[a-z]$/.exec(node.getAttribute('class') ?? '');
  if (tag === 'span' && part !== null) {
    props.class = part[0];
  }
  if (tag === 'ol' && LINES.test(node.getAttribute('start') ?? '')) {
    props.start = node.getAttribute('start');
  }
  return h(tag, props);
}

/** Lets what may be wide scroll by itself. */
function framed(made) {
  if (made.localName === 'pre') {
    made.tabIndex = 0;
    made.setAttribute('role', 'group');
    made.setAttribute('aria-label', 'Code');
  }
  return made.localName === 'table'
    ? h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Table' }, made)
    : made;
}

function outer(node) {
  const href = node.getAttribute('href') ?? '';
  if (!/^(https?:\/\/|mailto:)/i.test(href) || !mayLead(href)) {
    return h('span');
  }
  return h('a', { href, rel: 'noopener noreferrer nofollow', target: '_blank' });
}

function citation(node) {
  const { state, path, first, last, ranges, repo } = node.dataset;
  const href = node.getAttribute('href');
  const known = STATES.has(state) ? state : 'unconfirmed';
  const props = { class: 'cite', 'data-state': known, 'data-path': path, 'data-repo': repo };
  if (LINES.test(first ?? '')) {
    props['data-first'] = first;
    props['data-last'] = LINES.test(last ?? '') ? last : first;
    props['data-ranges'] = RANGES.test(ranges ?? '') ? ranges : null;
  }
  if (href === null || !/^#\/(source\?|commit\/)/.test(href)) {
    return h('span', { ...props, title: SPOKEN[known] });
  }
  return h('a', { ...props, href, 'data-item': true, 'aria-description': SPOKEN[known] });
}
