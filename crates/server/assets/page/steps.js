// The steps of a turn: one line each until it is opened.

import { counted, duration } from './format.js';
import { fileList } from './files.js';
import { fill, h } from './h.js';
import { plain, valued } from './json.js';
import { worded } from './notice.js';
import { trusted } from './trusted.js';

const MAX_TITLE = 160;

/** What the tools of CodeInfo and Codex do, with what they were given. */
const TITLES = {
  VectorSearch: (given) => [given.in === 'history' ? 'Searched commits for' : 'Searched', quoted(given.query)],
  FindUses: (given) => [`Looked for ${given.kind ?? 'uses'} of`, code(given.name ?? given.pattern)],
  Impact: (given) => ['Looked at what changes reach', ...(given.since ? ['since', code(given.since)] : [])],
  Trace: (given) => ['Followed calls from', code(given.from), ...(given.to ? ['to', code(given.to)] : [])],
  ReadLines: (given) => ['Read', code(lines(given))],
  History: (given) => ['Looked at the history of', code(given.commit ?? given.path ?? given.symbol ?? given.repository)],
  Outline: (given) => ['Looked at the outline of', code(given.path)],
  ListIngestedRepositories: () => ['Listed the repositories'],
  shell: (given) => ['Ran', code(Array.isArray(given.command) ? given.command.join(' ') : given.command)],
  apply_patch: () => ['Changed files'],
  web_search: (given) => ['Searched the web for', quoted(given.query)],
};

/** The steps of one turn, in the order in which they came. */
export class Steps {
  constructor() {
    this.list = h('ol', { class: 'steps-list' });
    this.calls = new Map();
    this.last = null;
    this.count = 0;
  }

  /** What the model thought. */
  thinking({ text, html }) {
    const title = (text.split('\n').find((line) => line.trim() !== '') ?? '').replace(/[*_`#]/g, '').trim();
    this.add('thinking', ['Thought: ', clipped(title)], null, () => h('div', { class: 'prose' }, trusted(html ?? '')));
  }

  /** A message that another one followed. */
  message(html) {
    const body = h('div', { class: 'prose' }, trusted(html));
    this.add('message', ['Said: ', clipped(body.textContent.trim().split('\n')[0])], null, () => body);
  }

  /** What the turn does without. */
  warning({ message }) {
    this.add('warning', ['Warning: ', worded(clipped(message))], null, () => h('p', null, worded(message)));
  }

  /** The model calls a tool. */
  request(call) {
    const given = call.parameters ?? {};
    const title = call.source === 'local' && Object.hasOwn(TITLES, call.name)
      ? TITLES[call.name](given).map((part, at) => (at > 0 ? [' ', part] : part))
      : [code(call.name)];
    const outcome = h('span', { class: 'outcome' }, 'running');
    const badges = [badge(call.source), call.toolkit && badge(call.toolkit)];
    const step = { given, outcome, from: Date.parse(call.timestamp), files: [], isFailed: false, took: null };
    step.element = this.add('tool', title, [badges, outcome], () => called(step));
    this.calls.set(call.callId, step);
    this.last = step;
  }

  /** A tool returned. */
  result(call) {
    if (!this.calls.has(call.callId)) {
      this.request(call);
    }
    const step = this.calls.get(call.callId);
    this.last = step;
    const took = Date.parse(call.timestamp) - step.from;
    step.isFailed = call.stage === 'error';
    step.took = Number.isFinite(took) && took > 0 ? duration(took) : null;
    step.element.classList.toggle('failed', step.isFailed);
    step.result = call.error ?? plain(call.result) ?? 'nothing';
    step.html = call.error ? null : call.html;
    this.tell(step);
  }

  /** The files that the last search found. */
  files({ files }) {
    const step = this.last;
    if (step === null) {
      this.add('files', [`Found ${counted(files.length, 'file')}`], null, () => fileList(files));
      return;
    }
    step.files.push(...files);
    this.tell(step);
  }

  /** Ends what has no result. */
  end() {
    for (const step of this.calls.values()) {
      if (step.outcome.textContent === 'running') {
        step.outcome.textContent = 'no result';
      }
    }
  }

  tell(step) {
    const found = step.files.length === 0 ? null : counted(step.files.length, 'file');
    const parts = [step.isFailed ? 'failed' : found, step.took].filter((part) => part);
    step.outcome.textContent = parts.length === 0 ? 'done' : parts.join(' · ');
    step.element.dispatchEvent(new Event('renew'));
  }

  /** Adds a line. What it holds is made when it is opened: it may be long, and most are never opened. */
  add(kind, title, end, body) {
    const box = h('div', { class: 'step-body' });
    const show = () => details.open && fill(box, body());
    const details = h('details', { ontoggle: show },
      h('summary', { 'data-item': true }, h('span', { class: 'title' }, title), end), box);
    const element = h('li', { class: `step ${kind}`, onrenew: show }, details);
    this.list.append(element);
    this.count += 1;
    return element;
  }
}

/** What a tool was given, what it found, and what it returned. */
function called({ given, files, result, html, isFailed }) {
  const title = isFailed ? 'Error' : 'Result';
  return [
    h('h4', null, 'Arguments'), valued(given, 'Arguments'),
    files.length > 0 && [h('h4', null, 'Files'), fileList(files)],
    result !== undefined && [h('h4', null, title), html
      ? h('div', { class: 'prose code-result', tabindex: 0, role: 'group', 'aria-label': title }, trusted(html))
      : valued(result?.message ?? result, title)],
  ];
}

function badge(text) {
  return h('span', { class: 'badge' }, text);
}

function code(text) {
  return h('code', null, clipped(String(text ?? '')));
}

function quoted(text) {
  return `“${clipped(String(text ?? ''))}”`;
}

function clipped(text) {
  const line = text.replace(/\s+/g, ' ');
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE)}…` : line;
}

function lines({ path, first, last }) {
  return first === undefined ? path : `${path}:${first}${last === undefined ? '' : `-${last}`}`;
}
