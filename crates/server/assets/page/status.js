// Status: what works, what is missing and what to do about it; toolkits, recent failures, and settings.

import { forgetToken, get, hasToken } from './api.js';
import { count, counted, duration, time } from './format.js';
import { fill, h, renew } from './h.js';
import { empty, problem, sentenced, waiting, worded } from './notice.js';
import { poll } from './state.js';
import { Toolkits } from './toolkits.js';

const EVERY_MS = 10000;

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  const state = h('div', null, waiting());
  const toolkits = new Toolkits(signal, () => again());
  fill(content,
    h('h1', null, 'Status'), state,
    section('Toolkits', 'toolkits', (into) => toolkits.load(into)),
    section('Recent failures', 'failures', async (into) => {
      const failed = await get('/failures', signal);
      renew(into, failed, () => failures(failed));
    }),
    section('Settings', 'settings', async (into) => fill(into, settings(await get('/settings', signal)))));
  const again = poll(async () => {
    try {
      const [health, chat, failed] = await Promise.all([
        get('/health', signal), get('/chat/providers', signal).catch(() => ({ providers: [] })),
        // Says by itself when it cannot be read.
        get('/failures', signal).catch(() => null),
      ]);
      const { uptimeSeconds, ...lasting } = health;
      renew(state, [lasting, chat, hasToken()], () => parts(health, chat.providers));
      fill(state.querySelector('.uptime'), duration(uptimeSeconds * 1000));
      // Says by itself when they cannot be read.
      await toolkits.load(content.querySelector('#toolkits + div')).catch(() => {});
      const into = content.querySelector('#failures + div');
      if (failed !== null && into !== null) {
        renew(into, failed, () => failures(failed));
      }
    } catch (error) {
      if (!signal.aborted) {
        renew(state, [error.code, error.message], () => problem(error, again));
      }
    }
    return EVERY_MS;
  }, signal);
  return { title: 'Status' };
}

/** A part of the view that is loaded by itself, and fails by itself. */
function section(title, id, load) {
  const body = h('div', null, waiting());
  const again = () => load(body).catch((error) => {
    if (error.name !== 'AbortError') {
      fill(body, problem(error, again));
    }
  });
  again();
  return h('section', { 'aria-labelledby': id }, h('h2', { id }, title), body);
}

function parts(health, providers) {
  const { codex, store, embedder } = health;
  const provider = providers.find((one) => one.id === 'codex');
  const isWell = health.status === 'ok';
  const forget = () => {
    forgetToken();
    location.reload();
  };
  return [
    h('p', null, word(isWell, isWell ? 'All parts work' : 'Something is missing; see below')),
    h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Parts' }, h('table', null,
      h('thead', null, h('tr', null, ['Part', 'State', 'Details'].map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', null,
        row('Server', true, [`version ${health.version}, up for `, h('span', { class: 'uptime' })]),
        row('Codex', codex?.available, codexDetails(codex ?? {}, provider)),
        codex?.sandbox && row('Sandbox of the shell', codex.sandbox.ok, sandboxDetails(codex.sandbox)),
        row('Store', store?.ok, [`${store?.backend}`, store?.version && ` ${store.version}`,
          ` · ${counted(store?.chunks, 'chunk')}`, slow(store), why(store)]),
        row('Embedder', embedder?.ok, [h('code', null, embedder?.name),
          embedder?.dimensions && ` · ${embedder.dimensions} dimensions`, slow(embedder), why(embedder)]),
        row('MCP server', true, `port ${health.mcp?.port}`),
        health.toolkits && row('Toolkits', health.toolkits.failing === 0,
          `${health.toolkits.ready} ready, ${health.toolkits.failing} failing`)))),
    hasToken() && h('p', { class: 'row' }, h('span', { class: 'about' }, 'This tab sends a token.'),
      h('button', { type: 'button', onclick: forget }, 'Forget token')),
  ];
}

function row(name, isWell, details) {
  return h('tr', null, h('th', { scope: 'row' }, name),
    h('td', null, word(isWell, isWell ? 'works' : 'does not work')), h('td', null, details));
}

function word(isWell, text) {
  return h('span', { class: isWell ? 'state-word' : 'state-word bad' }, text);
}

function slow(part) {
  return part?.slow && ' · slow to answer';
}

function why(part) {
  return part?.reason && h('p', null, sentenced(part.reason));
}

function codexDetails(codex, provider) {
  if (codex.available) {
    return [codex.version && `version ${codex.version}`, codex.model && [' · ', h('code', null, codex.model)]];
  }
  const hint = provider?.hint ?? codex.hint;
  return [h('p', null, sentenced(codex.reason ?? provider?.reason ?? 'it cannot be used')),
    hint && h('p', null, 'What to do: ', worded(`${hint}.`)),
    h('p', null, 'Search works meanwhile.')];
}

function sandboxDetails(sandbox) {
  return [`${sandbox.mode}, network ${sandbox.network}`, why(sandbox),
    sandbox.hint && h('p', null, 'What to do: ', worded(`${sandbox.hint}.`)),
    (sandbox.unread ?? []).map((one) => h('p', null, `Does not read ${one.repo}: ${one.reason}.`))];
}

function failures({ failures: all }) {
  if (all.length === 0) {
    return empty('None since the server started.');
  }
  return h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Recent failures' }, h('table', null,
    h('thead', null, h('tr', null, ['When', 'Where', 'Code', 'What'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', null, all.map((one) => h('tr', null,
      h('td', null, time(one.at)),
      h('td', null, one.listener, one.path && [' ', h('code', null, one.path)]),
      h('td', null, h('code', null, one.code)),
      h('td', null, worded(one.message), one.times > 1 && ` (${count(one.times)} times)`))))));
}

function settings({ settings: all }) {
  const value = (one) => {
    if (one.secret) {
      return one.isSet ? 'set (not shown)' : 'not set';
    }
    return one.value === undefined || one.value === null ? 'not set' : one.value === '' ? 'empty' : h('code', null, one.value);
  };
  return h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Settings' }, h('table', null,
    h('thead', null, h('tr', null, ['Name', 'Value', 'From'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', null, all.map((one) => h('tr', null,
      h('th', { scope: 'row' }, h('code', null, one.name)), h('td', null, value(one)), h('td', null, one.source))))));
}
