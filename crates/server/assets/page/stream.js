// Watches a turn: reads its frames as they come, and takes up again where the connection was lost.

import { ApiError, send } from './api.js';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/**
 * Watches a turn until its last frame, or until the signal is aborted.
 * @param {string} turn
 * @param {number} after number of the last frame that is known
 * @param {{frame: (frame: {id: number, name: string, data: any}) => void, lost: (is: boolean) => void}} on
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export async function watch(turn, after, on, signal) {
  let last = after;
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      const headers = { 'last-event-id': String(last) };
      const path = `/turns/${encodeURIComponent(turn)}?after=${last}`;
      const response = await send(path, { headers, signal });
      on.lost(false);
      for await (const frame of frames(response.body)) {
        if (frame.id > last) {
          last = frame.id;
          wait = FIRST_WAIT_MS;
          on.frame(frame);
        }
        if (frame.name === 'final' || frame.name === 'error') {
          return;
        }
      }
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.status >= 400 && error.status < 500)) {
        if (signal.aborted) {
          return;
        }
        throw error;
      }
    }
    on.lost(true);
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/**
 * Reads the frames of a stream of events.
 * @param {ReadableStream<Uint8Array>} body
 */
export async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) {
        return;
      }
      const parts = (rest + value).split('\n\n');
      rest = parts.pop();
      for (const part of parts) {
        const frame = read(part);
        if (frame !== null) {
          yield frame;
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Reads one frame; `null` for a comment. */
function read(part) {
  const frame = { id: 0, name: 'message', data: null };
  const data = [];
  for (const line of part.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).replace(/^ /, '');
    switch (line.slice(0, colon)) {
      case 'id': frame.id = Number(value); break;
      case 'event': frame.name = value; break;
      case 'data': data.push(value); break;
      default: break;
    }
  }
  if (data.length === 0) {
    return null;
  }
  frame.data = JSON.parse(data.join('\n'));
  return frame;
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
