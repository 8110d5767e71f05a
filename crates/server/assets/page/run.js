// Shows a run that indexes a repository: how far it is, how fast, how long it will take, and how to end it.

import { get, post } from './api.js';
import { count, counted, duration } from './format.js';
import { fill, h } from './h.js';
import { announce, capital, problem } from './notice.js';
import { poll } from './state.js';

const EVERY_MS = 500;
const OVER_MS = 5000;
const AWAY_MS = 3000;
const WORDS = {
  queued: 'Waiting',
  scanning: 'Looking for changes',
  embedding: 'Embeds',
  completed: 'Completed',
  skipped: 'Nothing has changed',
  cancelled: 'Cancelled',
  error: 'Failed',
};

/** @returns {string} the state of a run in words */
export function stateInWords(state) {
  return Object.hasOwn(WORDS, state) ? WORDS[state] : state;
}

/** @returns {boolean} whether a run in this state works or waits */
export function isActive(state) {
  return ['queued', 'scanning', 'embedding'].includes(state);
}

/**
 * Watches a run until it ends.
 * @param {string} id
 * @param {string} name of the repository
 * @param {(status: any) => void} ended
 * @param {AbortSignal} signal
 * @returns {HTMLElement}
 */
export function runPanel(id, name, ended, signal) {
  const bar = h('progress', { max: 100, 'aria-label': `Indexing ${name}` });
  const text = h('p', { class: 'about' }, 'Starting …');
  const file = h('p', { class: 'about' });
  const failed = h('div');
  const cancel = h('button', { type: 'button', onclick: () => stop() }, 'Cancel');
  const panel = h('div', { class: 'run', role: 'group', 'aria-label': `Run of ${name}` },
    bar, h('div', { class: 'row' }, h('div', { class: 'grow' }, text, file), cancel), failed);
  const samples = [];
  let isAway = false;
  const over = new AbortController();
  signal.addEventListener('abort', () => over.abort());

  const stop = async () => {
    cancel.disabled = true;
    try {
      await post(`/ingest/cancel/${encodeURIComponent(id)}`);
      text.textContent = 'Cancelling …';
    } catch (error) {
      cancel.disabled = false;
      fill(failed, problem(error));
    }
  };
  const show = async () => {
    const status = await get(`/ingest/status/${encodeURIComponent(id)}`, signal);
    bar.value = status.percent;
    if (isAway) {
      fill(failed);
    }
    if (isActive(status.state)) {
      text.textContent = progress(status, rate(samples, status));
      file.textContent = status.currentFile ?? '';
      return EVERY_MS;
    }
    over.abort();
    cancel.hidden = true;
    file.textContent = '';
    text.textContent = outcome(status);
    announce(`${name}: ${text.textContent}`);
    if (status.lastError) {
      fill(failed, problem({ message: status.lastError }));
    }
    ended(status);
    return EVERY_MS;
  };
  const again = poll(() => show().then((wait) => {
    isAway = false;
    return wait;
  }, (error) => {
    if (signal.aborted) {
      throw error;
    }
    if (error.status === 404) {
      over.abort();
      bar.hidden = true;
      cancel.hidden = true;
      file.textContent = '';
      text.textContent = 'The server was restarted; see its last run.';
      ended(null);
    } else if (!isAway) {
      isAway = true;
      // How fast it was says nothing of now.
      samples.length = 0;
      text.textContent = 'The progress is unknown';
      file.textContent = '';
      fill(failed, problem(error, () => again()));
    }
    return AWAY_MS;
  }), over.signal);
  return panel;
}

function progress(status, perSecond) {
  const parts = [stateInWords(status.state), `${status.percent} %`];
  if (status.fileTotal > 0) {
    parts.push(`${count(status.fileIndex)} of ${counted(status.fileTotal, 'file')}`);
  }
  if (perSecond !== null) {
    parts.push(perSecond);
  }
  if (status.etaMs !== undefined && status.etaMs !== null) {
    parts.push(`${duration(status.etaMs)} left`);
  }
  if (status.message) {
    parts.push(status.message);
  }
  return parts.join(' · ');
}

/** How fast it went in the last seconds: by chunks, else by files. */
function rate(samples, status) {
  const now = performance.now();
  samples.push({ now, chunks: status.counts.embedded, files: status.fileIndex ?? 0 });
  while (samples.length > 2 && now - samples[0].now > OVER_MS) {
    samples.shift();
  }
  const [first, last] = [samples[0], samples.at(-1)];
  const seconds = (last.now - first.now) / 1000;
  const [chunks, files] = [last.chunks - first.chunks, last.files - first.files];
  if (seconds < 0.4 || (chunks <= 0 && files <= 0)) {
    return null;
  }
  return chunks > 0 ? `${count(Math.round(chunks / seconds))} chunks/s` : `${count(Math.round(files / seconds))} files/s`;
}

function outcome({ state, counts, message }) {
  const parts = [stateInWords(state)];
  if (state === 'completed') {
    parts.push(counted(counts.files, 'file'), counted(counts.chunks, 'chunk'), `${count(counts.embedded)} embedded`);
    if (counts.skipped > 0) {
      parts.push(`${count(counts.skipped)} skipped`);
    }
  }
  return [...parts, message && capital(message)].filter((part) => part).join(' · ');
}
