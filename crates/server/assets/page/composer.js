// The question box: for a new conversation, and for what follows in one.

import { get, post } from './api.js';
import { fill, h } from './h.js';
import { problem } from './notice.js';
import { changed, repositories } from './state.js';
import { keep, kept } from './storage.js';

const REPOSITORY = 'codeinfo.repository';
const MODEL = 'codeinfo.model';

const DRAFT = 'codeinfo.draft';
/** Questions that are on their way, by their drafts: who comes back meanwhile waits for them, and asks nothing twice. */
const pending = new Map();
/** After so long it is said that a question waits. */
const WAIT_MS = 700;

/**
 * Makes a question box. What follows in a conversation is confined as that is, and asked of the model that it had.
 * @param {{conversation?: string, repository?: string, model?: () => string | undefined, asked: (begun: {turnId: string, conversationId: string, modelId: string},
 *   question: string) => void, signal: AbortSignal}} options `signal`: once it is aborted, nobody hears of a reply
 * @returns {HTMLElement}
 */
export function composer({ conversation, repository: confined, model: former, asked, signal }) {
  const draft = `${DRAFT}.${conversation ?? 'new'}`;
  const label = conversation === undefined ? 'Question' : 'Follow-up question';
  const field = h('textarea', {
    id: 'question', rows: 3, required: true, 'data-field': true, maxlength: 65536, 'aria-describedby': 'question-help',
  });
  const repository = conversation === undefined ? repositoryChoice() : null;
  const model = conversation === undefined ? modelChoice() : null;
  const failed = h('div');
  const state = h('p', { class: 'about', role: 'status' });
  const button = h('button', { type: 'submit', class: 'primary' }, 'Ask');
  field.value = kept('sessionStorage', draft) ?? '';
  field.addEventListener('input', () => keep('sessionStorage', draft, field.value || null));
  const submit = (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (question === '' || button.disabled) {
      field.focus();
      return;
    }
    const body = { question, conversationId: conversation };
    const [within, by] = [repository?.value() || confined, model?.value() || former?.()];
    if (within) {
      body.repository = within;
    }
    if (by) {
      body.model = by;
    }
    pending.set(draft, { question, begun: begin(body, draft) });
    wait(pending.get(draft));
  };
  const wait = async ({ question, begun }) => {
    button.disabled = true;
    fill(failed);
    // Of one conversation, and of too many at once, the server takes one question after the other.
    const timer = setTimeout(() => fill(state, 'Waits until another question has ended. Leave this page open until it is asked.'), WAIT_MS);
    try {
      const turn = await begun;
      if (field.value.trim() === question) {
        field.value = '';
      }
      if (!signal.aborted) {
        asked(turn, question);
      }
    } catch (error) {
      fill(failed, problem(error));
    } finally {
      clearTimeout(timer);
      fill(state);
      button.disabled = false;
    }
  };
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      submit(event);
    }
  });
  if (pending.has(draft)) {
    wait(pending.get(draft));
  }
  return h('form', { class: 'composer', onsubmit: submit, 'aria-label': label },
    h('label', { for: 'question' }, label),
    field,
    h('div', { class: 'row' },
      repository?.element, model?.element,
      h('span', { class: 'about grow', id: 'question-help' }, 'Enter sends the question, Shift and Enter begin a new line'),
      button),
    state, failed);
}

/** Asks. The draft is kept until it is asked, unless something else was written meanwhile. */
async function begin(body, draft) {
  try {
    const begun = await post('/turns', body);
    if (kept('sessionStorage', draft)?.trim() === body.question) {
      keep('sessionStorage', draft, null);
    }
    changed('conversations');
    return begun;
  } finally {
    pending.delete(draft);
  }
}

function repositoryChoice() {
  const select = h('select', { id: 'question-repository' }, h('option', { value: '' }, 'All repositories'));
  repositories().then((roots) => {
    const chosen = kept('localStorage', REPOSITORY);
    select.append(...roots.map((one) => h('option', { value: one.name }, one.name)));
    select.value = roots.some((one) => one.name === chosen) ? chosen : '';
  }, () => {});
  return choice(select, 'Repository', REPOSITORY);
}

function modelChoice() {
  const select = h('select', { id: 'question-model' }, h('option', { value: '' }, 'Default model'));
  models().then((all) => {
    const chosen = kept('localStorage', MODEL);
    select.append(...all.map((one) => h('option', { value: one.id }, one.name)));
    select.value = all.some((one) => one.id === chosen) ? chosen : '';
  }, () => {});
  return choice(select, 'Model', MODEL);
}

/** The models that can be asked: none where there is no provider, which the page says elsewhere. */
async function models() {
  const { providers } = await get('/chat/providers');
  return providers.some((one) => one.available) ? (await get('/chat/models')).models : [];
}

/** A choice that is the same the next time. */
function choice(select, label, key) {
  select.addEventListener('change', () => keep('localStorage', key, select.value));
  return {
    element: h('span', { class: 'choice' }, h('label', { for: select.id, class: 'unseen' }, label), select),
    value: () => select.value,
  };
}
