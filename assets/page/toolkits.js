// Toolkits on the status view: whether they work, their tools, and how to start, stop and trust them.

import { get, post } from './api.js';
import { count, time } from './format.js';
import { fill, h } from './h.js';
import { announce, empty, problem, sentenced, worded } from './notice.js';

/**
 * Shows the toolkits, and the tools of all.
 * @param {HTMLElement} into
 * @param {AbortSignal} signal
 */
export async function toolkits(into, signal) {
  const { toolkits: all = [], tools = [], warnings = [] } = await get('/tools', signal);
  const failed = h('div');
  const act = async (name, action, button) => {
    button.disabled = true;
    fill(failed);
    try {
      const { state } = await post(`/toolkits/${encodeURIComponent(name)}/${action}`);
      announce(`${name}: ${state}`);
      await toolkits(into, signal);
    } catch (error) {
      button.disabled = false;
      fill(failed, problem(error));
    }
  };
  fill(into,
    warnings.map((warning) => h('p', { class: 'problem' }, worded(warning))),
    all.length === 0
      ? empty('None is configured. docs/toolkits.md says how to add one.')
      : table(all, tools, act),
    failed,
    tools.length > 0 && list(tools));
}

function table(all, tools, act) {
  const changed = new Set(tools.filter((tool) => tool.state === 'changed').map((tool) => tool.toolkit));
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
      h('td', null, actions(one, changed.has(one.name), act)))))));
}

function actions({ name, state }, isChanged, act) {
  const button = (label, action) => {
    const one = h('button', {
      type: 'button', 'aria-label': `${label} ${name}`, onclick: () => act(name, action, one),
    }, label);
    return one;
  };
  const isUp = ['ready', 'starting', 'failing'].includes(state);
  return h('span', { class: 'row' },
    !isUp && state !== 'disabled' && button('Start', 'start'),
    isUp && button('Restart', 'restart'),
    isUp && button('Stop', 'stop'),
    isChanged && button('Trust', 'trust'));
}

function list(tools) {
  return h('details', null, h('summary', null, `${count(tools.length)} tools`),
    h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Tools' }, h('table', null,
      h('thead', null, h('tr', null, ['Tool', 'From', 'State', 'What it does'].map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', null, tools.map((tool) => h('tr', null,
        h('th', { scope: 'row' }, h('code', null, tool.name)),
        h('td', null, h('span', { class: 'badge' }, tool.source), ' ', tool.toolkit),
        h('td', null, tool.state, tool.reason && `: ${tool.reason}`),
        h('td', null, tool.description)))))));
}
