// The first view: a question box, and what has to be done before one can ask.

import { get } from './api.js';
import { composer } from './composer.js';
import { fill, h } from './h.js';
import { empty, sentenced, worded } from './notice.js';
import { go, link } from './router.js';
import { on, repositories } from './state.js';

const EXAMPLES = [
  'Where are settings read, and which one wins?',
  'What happens from a request to its reply?',
  'Which tests cover the error paths?',
];

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  const form = composer({ signal, asked: ({ conversationId }) => go(link(['c', conversationId])) });
  const field = form.querySelector('textarea');
  const before = h('div');
  const choose = (text) => {
    field.value = text;
    field.dispatchEvent(new Event('input'));
    field.focus();
  };
  const examples = EXAMPLES.map((text) => h('li', null,
    h('button', { type: 'button', class: 'plain', 'data-item': true, onclick: () => choose(text) }, text)));
  const asked = route.query.get('q');
  if (asked !== null) {
    field.value = asked;
    field.dispatchEvent(new Event('input'));
  }
  fill(content,
    h('h1', null, 'Ask about your code'),
    before, form,
    h('section', { 'aria-label': 'Examples' }, h('h2', null, 'For example'), h('ul', { class: 'bare' }, examples)));
  const check = () => obstacles(signal).then((all) => fill(before, all), () => {});
  check();
  on('repositories', check, signal);
  if (!matchMedia('(pointer: coarse)').matches) {
    field.focus({ preventScroll: true });
  }
  return { title: 'Ask' };
}

/** Returns what stands in the way of an answer, each with the next step. */
async function obstacles(signal) {
  const [roots, { providers }] = await Promise.all([repositories(), get('/chat/providers', signal)]);
  const all = [];
  if (roots.length === 0) {
    all.push(empty('Nothing is indexed yet.',
      h('a', { href: link(['repositories'], { add: 1 }), class: 'button' }, 'Add a folder')));
  }
  for (const one of providers.filter((provider) => !provider.available)) {
    all.push(h('div', { class: 'problem' },
      h('p', null, h('strong', null, 'Questions cannot be answered: ', worded(`${one.reason ?? 'Codex cannot be used'}.`))),
      one.hint && h('p', null, sentenced(one.hint)),
      h('p', { class: 'row' }, h('a', { href: link(['search']) }, 'Search instead'),
        h('a', { href: link(['status']) }, 'Status'))));
  }
  return all;
}
