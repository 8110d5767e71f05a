// Toolkits on the status view: whether they work, their tools, and how to start, stop, trust and store them.

import { get, post } from './api.js';
import { count, counted, time } from './format.js';
import { fill, h, renew } from './h.js';
import { announce, empty, problem, sentenced, worded } from './notice.js';
import { editToolkit, removeToolkit } from './toolkit-form.js';

/** The toolkits, and the tools of all. What is opened or has the focus stays when they are read again. */
export class Toolkits {
  /** @param {AbortSignal} signal @param {() => void} acted is called after one was started, stopped or trusted */
  constructor(signal, acted) {
    this.signal = signal;
    this.acted = acted;
    this.asked = 0;
    this.table = h('div');
    this.failed = h('div');
    this.count = h('summary');
    this.list = h('div');
    this.tools = h('details', null, this.count, this.list);
    this.add = h('p', { class: 'row' }, h('button', { type: 'button', onclick: () => this.store(() => editToolkit()) },
      'Add a toolkit'));
  }

  /** @param {HTMLElement} into */
  async load(into) {
    this.asked += 1;
    const mine = this.asked;
    const { toolkits: all = [], tools = [], warnings = [] } = await get('/tools', this.signal);
    if (mine !== this.asked) {
      return;
    }
    if (this.table.parentNode !== into) {
      fill(into, this.table, this.failed, this.add, this.tools);
    }
    this.into = into;
    const act = (...call) => this.act(into, ...call);
    const edits = {
      Edit: (name) => this.store(() => editToolkit(name)),
      Remove: (name) => this.store(() => removeToolkit(name)),
    };
    const changed = tools.filter((tool) => tool.state === 'changed').map((tool) => tool.toolkit);
    renew(this.table, [all, changed, warnings], () => [
      warnings.map((warning) => h('p', { class: 'problem' }, worded(warning))),
      all.length === 0
        ? empty('None is configured.', h('span', null, worded('`codeinfo docs toolkits` says what they are.')))
        : table(all, new Set(changed), act, edits)]);
    this.tools.hidden = tools.length === 0;
    fill(this.count, counted(tools.length, 'tool'));
    renew(this.list, tools, () => list(tools));
  }

  /** Changes what is stored, and tries a toolkit that was stored: its row then says how it is. */
  async store(change) {
    fill(this.failed);
    try {
      const stored = await change();
      if (stored === null) {
        return;
      }
      announce(stored.isRemoved ? `${stored.name} is removed` : `${stored.name} is stored`);
      await this.load(this.into);
      if (!stored.isRemoved) {
        await post(`/toolkits/${encodeURIComponent(stored.name)}/start`);
        announce(`${stored.name} works`);
      }
    } catch (error) {
      fill(this.failed, problem(error));
    } finally {
      this.acted();
    }
  }

  /** Buttons that wait stay as they are, so that the focus does. */
  async act(into, name, action, button) {
    if (button.ariaDisabled === 'true') {
      return;
    }
    button.ariaDisabled = 'true';
    fill(this.failed);
    try {
      const { state } = await post(`/toolkits/${encodeURIComponent(name)}/${action}`);
      announce(`${name}: ${state}`);
      const isFocused = document.activeElement === button;
      await this.load(into);
      if (isFocused && !button.isConnected) {
        [...this.table.querySelectorAll('button:not([hidden])')].find((one) => one.value === name)?.focus();
      }
    } catch (error) {
      fill(this.failed, problem(error));
    } finally {
      button.ariaDisabled = 'false';
      this.acted();
    }
  }
}

function table(all, changed, act, edits) {
  return h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Toolkits' }, h('table', null,
    h('thead', null, h('tr', null,
      ['Toolkit', 'State', 'Since', 'Tools', 'Restarts', 'From', 'Actions'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', null, all.map((one) => h('tr', null,
      h('th', { scope: 'row' }, one.name, ' ', h('span', { class: 'badge' }, one.transport)),
      h('td', null, h('span', { class: one.state === 'failing' ? 'state-word bad' : 'state-word' }, one.state),
        one.lastError && h('p', null, sentenced(one.lastError))),
      h('td', null, time(one.since)),
      h('td', { class: 'figure' }, count(one.tools)),
      h('td', { class: 'figure' }, count(one.restarts)),
      h('td', null, one.origin),
      h('td', null, actions(one, changed.has(one.name), act, edits)))))));
}

/** Those that mean nothing now are hidden, so that each is in its place when the row is made again. */
function actions({ name, state, origin }, isChanged, act, edits) {
  const button = (label, action, isOffered) => {
    const one = h('button', {
      type: 'button', value: name, 'aria-label': `${label} ${name}`, hidden: !isOffered,
      onclick: () => act(name, action, one),
    }, label);
    return one;
  };
  const isUp = ['ready', 'starting', 'failing'].includes(state);
  return h('span', { class: 'row' },
    isUp ? button('Restart', 'restart', true) : button('Start', 'start', state !== 'disabled'),
    button('Stop', 'stop', isUp),
    button('Trust', 'trust', isChanged),
    origin === 'stored' && Object.entries(edits).map(([label, edit]) => h('button', {
      type: 'button', value: name, 'aria-label': `${label} ${name}`, onclick: () => edit(name),
    }, label)));
}

function list(tools) {
  return h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Tools' }, h('table', null,
    h('thead', null, h('tr', null, ['Tool', 'From', 'State', 'What it does'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', null, tools.map((tool) => h('tr', null,
      h('th', { scope: 'row' }, h('code', null, tool.name)),
      h('td', null, h('span', { class: 'badge' }, tool.source), ' ', tool.toolkit),
      h('td', null, tool.state, tool.reason && `: ${tool.reason}`),
      h('td', null, worded(tool.description)))))));
}
