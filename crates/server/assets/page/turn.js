// One question with its steps and its answer, as the frames of the server make them.

import { address, post } from './api.js';
import { copyButton, exported } from './copy.js';
import { count, counted, duration, time } from './format.js';
import { fill, h } from './h.js';
import { announce, problem, worded } from './notice.js';
import { link } from './router.js';
import { Steps } from './steps.js';
import { trusted } from './trusted.js';

const TICK_MS = 1000;

/** A turn on the page. */
export class Turn {
  /**
   * @param {{turnId: string, question: string, askedAt: string, modelId?: string}} about
   * @param {string} conversation
   * @param {{evidence: (turn: Turn) => void, ended: (turn: Turn) => void}} on
   */
  constructor(about, conversation, on) {
    this.id = about.turnId;
    this.conversation = conversation;
    this.askedAt = about.askedAt;
    this.on = on;
    this.after = 0;
    this.files = [];
    this.citations = [];
    this.isRunning = true;
    this.isLive = false;
    this.pending = null;
    this.steps = new Steps();
    this.build(about);
  }

  build({ question, askedAt, modelId }) {
    const title = `question-${this.id}`;
    this.modelId = modelId;
    this.model = h('span', null, modelId ?? '');
    this.confined = h('span');
    this.answer = h('div', { class: 'answer prose', role: 'group', 'aria-label': 'Answer', hidden: true });
    this.notes = h('div', { class: 'notes' });
    this.failure = h('div');
    this.facts = h('p', { class: 'facts about', hidden: true });
    this.actions = h('p', { class: 'row actions', hidden: true });
    this.clock = h('span', { class: 'about', role: 'timer', 'aria-live': 'off' });
    this.doing = h('span', { class: 'doing' }, 'Waiting for the model');
    const stop = h('button', { type: 'button', onclick: () => this.stop(stop) }, 'Stop');
    this.state = h('p', { class: 'row state' }, this.doing, this.clock, stop);
    this.summary = h('summary', { 'data-item': true }, 'Steps');
    this.log = h('div', { role: 'log', 'aria-label': 'Steps', 'aria-live': 'off' }, this.steps.list);
    this.details = h('details', { class: 'steps', open: true }, this.summary, this.log);
    // Where somebody opened or closed the steps, they stay so.
    this.summary.addEventListener('click', () => {
      this.isChosen = true;
    });
    this.element = h('article', { class: 'turn running', id: `turn-${this.id}`, 'aria-labelledby': title, tabindex: -1 },
      h('h2', { class: 'question', id: title }, question),
      h('p', { class: 'about' }, time(askedAt), ' · ', this.model, this.confined),
      this.state, this.answer, this.failure, this.notes, this.facts, this.actions, this.details);
  }

  /** Says that frames come as they happen from here on: they are spoken, and time goes on. */
  live() {
    this.isLive = true;
    this.log.setAttribute('aria-live', 'polite');
    const tick = () => {
      this.clock.textContent = duration(Date.now() - Date.parse(this.askedAt));
    };
    tick();
    this.timer = setInterval(tick, TICK_MS);
  }

  /** Ends what goes on by itself. */
  close() {
    clearInterval(this.timer);
  }

  /** Says whether the server is reached. */
  lost(is) {
    this.element.classList.toggle('lost', is);
    if (is) {
      this.doing.textContent = 'The connection was lost; trying again';
    } else if (this.doing.textContent.startsWith('The connection')) {
      this.doing.textContent = 'Working';
    }
  }

  /**
   * Takes the next frame.
   * @param {{id: number, name: string, data: any}} frame
   */
  take({ id, name, data }) {
    if (id <= this.after) {
      return;
    }
    this.after = id;
    switch (name) {
      case 'question': this.confined.textContent = data.repository ? ` · ${data.repository} only` : ''; break;
      case 'thread':
        this.modelId = data.modelId;
        this.model.textContent = data.modelId;
        break;
      case 'thinking': this.steps.thinking(data); this.now('Thinking'); break;
      case 'warning':
        this.steps.warning(data);
        this.notes.append(h('p', null, worded(`Without: ${data.message}`)));
        break;
      case 'tool-request': this.steps.request(data); this.now(`Using ${data.name}`); break;
      case 'tool-result': this.steps.result(data); this.now('Thinking'); break;
      case 'vector_summary':
        this.files = data.files;
        this.steps.files(data);
        this.on.evidence(this);
        break;
      case 'answer': this.said(data); break;
      case 'final': this.final(data); break;
      case 'error': this.failed(data); break;
      default: break;
    }
    const steps = counted(this.steps.count, 'step');
    this.summary.textContent = this.took ? `${steps} in ${this.took}` : steps;
    this.details.hidden = this.steps.count === 0;
  }

  now(what) {
    this.doing.textContent = what;
  }

  /** A message counts as the answer until another one comes. */
  said({ html }) {
    if (this.pending !== null) {
      this.steps.message(this.pending);
    }
    this.pending = html;
    this.show(html);
    this.now('Checking the citations');
  }

  show(html) {
    fill(this.answer, trusted(html));
    this.answer.hidden = false;
  }

  final(data) {
    if (data.html) {
      this.show(data.html);
    }
    this.citations = data.citations ?? [];
    this.end(data.endedAt);
    const checked = data.segments?.findLast((segment) => segment.type === 'answer')?.checked;
    fill(this.facts, [verdict(checked), this.took, usage(data.usage)].filter((fact) => fact)
      .map((fact, at) => [at > 0 && ' · ', fact]));
    this.facts.hidden = false;
    this.on.evidence(this);
    if (this.isLive) {
      announce('The answer is ready');
    }
  }

  failed(data) {
    this.end(data.endedAt);
    const isStopped = data.code === 'CANCELLED';
    fill(this.failure, isStopped
      ? h('p', { class: 'stopped' }, `Stopped: ${data.message}. ${data.hint ? `You can ${data.hint}.` : 'Ask again, or ask something else.'}`)
      : problem(data));
    if (this.isLive && isStopped) {
      announce('The turn was stopped');
    }
  }

  end(endedAt) {
    const took = Date.parse(endedAt) - Date.parse(this.askedAt);
    this.took = Number.isFinite(took) ? duration(took) : null;
    this.isRunning = false;
    this.close();
    this.steps.end();
    this.state.hidden = true;
    this.element.classList.remove('running');
    this.log.setAttribute('aria-live', 'off');
    if (!this.isChosen && !this.answer.hidden) {
      this.details.open = false;
    }
    const path = (format) =>
      address(`/conversations/${encodeURIComponent(this.conversation)}/export`, { format, turn: this.id });
    fill(this.actions,
      copyButton('Copy as Markdown', () => exported(path('markdown'))),
      copyButton('Copy as JSON', () => exported(path('json'))),
      copyButton('Copy link', () =>
        new URL(link(['c', this.conversation], { turn: this.id }), location.href).href),
      this.files.length > 0 && h('button', { type: 'button', class: 'plain', onclick: () => this.on.evidence(this, true) },
        'Show its files'),
      h('a', { href: link(['map'], { turn: this.id, conversation: this.conversation }) }, 'Map'));
    this.actions.hidden = false;
    this.on.ended(this);
  }

  async stop(button) {
    button.disabled = true;
    this.now('Stopping');
    try {
      await post(`/turns/${encodeURIComponent(this.id)}/stop`);
    } catch (error) {
      button.disabled = false;
      fill(this.failure, problem(error));
    }
  }
}

function verdict(checked) {
  if (!checked) {
    return null;
  }
  if (checked.citations === 0) {
    return 'cites no lines';
  }
  const repaired = checked.repaired > 0 ? `, ${checked.repaired} repaired` : '';
  const wrong = checked.wrong > 0 ? `, ${checked.wrong} wrong` : '';
  const contradicted = checked.claims?.contradicted > 0 ? `, ${counted(checked.claims.contradicted, 'sentence')} contradicted` : '';
  return `${count(checked.confirmed ?? 0)} of ${counted(checked.citations, 'citation')} confirmed${repaired}${wrong}${contradicted}`;
}

function usage(tokens) {
  if (!tokens) {
    return null;
  }
  const parts = `${count(tokens.inputTokens)} in, ${count(tokens.cachedInputTokens)} of them cached; `
    + `${count(tokens.outputTokens)} out, ${count(tokens.reasoningOutputTokens)} of them for thinking`;
  return h('span', { title: parts }, `${counted(tokens.totalTokens, 'token')}`,
    h('span', { class: 'unseen' }, ` (${parts})`));
}
