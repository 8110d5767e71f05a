// What several parts of the page know together: repositories, settings of the page, and news of conversations.

import { get } from './api.js';

const events = new EventTarget();
let roots = null;
let config = null;
let asked = 0;

/**
 * Calls a function whenever something changed.
 * @param {'conversations' | 'listed' | 'repositories' | 'evidence' | 'citations'} what
 * @param {(detail: any) => void} changed
 * @param {AbortSignal} [signal] ends it
 */
export function on(what, changed, signal) {
  events.addEventListener(what, (event) => changed(event.detail), { signal });
}

/**
 * Says that something changed.
 * @param {'conversations' | 'listed' | 'repositories' | 'evidence' | 'citations'} what
 * @param {any} [detail]
 */
export function changed(what, detail) {
  events.dispatchEvent(new CustomEvent(what, { detail }));
}

/** @returns {Promise<any[]>} the repositories, as they were last read */
export function repositories() {
  roots ??= refreshRepositories();
  return roots;
}

/** @returns {Promise<any[]>} the repositories as they are now */
export function refreshRepositories() {
  asked += 1;
  const mine = asked;
  const reading = get('/ingest/roots').then(({ roots: listed }) => {
    // Replies may come in another order than they were asked for: an older one says nothing new.
    if (mine === asked) {
      changed('repositories', listed);
    }
    return listed;
  });
  roots = reading;
  reading.catch(() => {
    if (mine === asked) {
      roots = null;
    }
  });
  return reading;
}

/** @returns {Promise<{editor: string, editorLink?: string}>} the settings of the page */
export function pageConfig() {
  config ??= get('/page/config').catch(() => {
    config = null;
    return { editor: 'none' };
  });
  return config;
}

/**
 * Does something now and then while the page is seen, until the signal ends it.
 * @param {() => Promise<number>} work returns after how many milliseconds it is to be done again
 * @param {AbortSignal} [signal]
 * @returns {() => Promise<void>} does it now
 */
export function poll(work, signal) {
  let timer = null;
  let round = 0;
  const run = async () => {
    clearTimeout(timer);
    round += 1;
    const mine = round;
    const wait = document.hidden ? 5000 : await work().catch(() => 15000);
    if (mine === round && !signal?.aborted) {
      timer = setTimeout(run, wait);
    }
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      run();
    }
  }, { signal });
  signal?.addEventListener('abort', () => clearTimeout(timer));
  run();
  return run;
}
