// Asks the server: requests, the token, and errors as the server words them.

import { keep, kept } from './storage.js';

const KEY = 'codeinfo.token';
/** The page's half of the owner's session; a cookie has the other one. */
const SESSION = 'codeinfo.session';
let prompt = null;
let prompted = null;
/** Whether somebody gave no token, and has done nothing since. What is asked by the clock does not ask again. */
let isDeclined = false;
addEventListener('click', () => {
  isDeclined = false;
}, true);

/** A request that failed, as the server said it, or because nobody answered. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 where nobody answered
   * @param {string} code
   * @param {string} message
   * @param {string[]} [details]
   */
  constructor(status, code, message, details = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/**
 * Says how a token is asked for: a function that gets what the server said, and returns the token or `null`.
 * @param {(message: string) => Promise<string | null>} ask
 */
export function onTokenNeeded(ask) {
  prompt = ask;
}

/** Opens the owner's session where the address has the code of `codeinfo open`. */
export async function openSession() {
  const found = /^#\/session\/([\w-]+)$/.exec(location.hash);
  if (found === null) {
    return;
  }
  // Neither the history nor a reload has it from now on.
  history.replaceState(null, '', '#/');
  const response = await sent('/auth/page-sessions', { method: 'POST', body: { code: found[1] } }, null, null);
  if (response.ok) {
    forgetToken();
    keep('localStorage', SESSION, (await response.json()).key);
  }
}

/** Forgets the token of this tab. */
export function forgetToken() {
  keep('sessionStorage', KEY, null);
}

/** @returns {boolean} whether this tab has a token */
export function hasToken() {
  return kept('sessionStorage', KEY) !== null;
}

/**
 * Sends a request, asks for a token where one is needed, and returns the response when it is a success.
 * @param {string} path
 * @param {{method?: string, body?: unknown, headers?: Object<string, string>, signal?: AbortSignal}} [options]
 * @returns {Promise<Response>}
 */
export async function send(path, options = {}) {
  for (;;) {
    const token = kept('sessionStorage', KEY);
    const session = token === null ? kept('localStorage', SESSION) : null;
    const response = await sent(path, options, token, session);
    if (response.ok) {
      return response;
    }
    const error = await failure(response);
    if (response.status === 401 && session !== null) {
      // Another tab may have opened one meanwhile.
      if (kept('localStorage', SESSION) === session) {
        keep('localStorage', SESSION, null);
      }
      continue;
    }
    if (response.status !== 401 || prompt === null) {
      throw error;
    }
    // Another request may have got one meanwhile.
    if (kept('sessionStorage', KEY) === token) {
      // A wrong one is refused also where none is needed.
      forgetToken();
      if (!(await tokenAsked(error.message))) {
        throw error;
      }
    }
  }
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the JSON at a path
 */
export async function get(path, signal) {
  return (await send(path, { signal })).json();
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the JSON of the reply
 */
export async function post(path, body = {}, signal) {
  return (await send(path, { method: 'POST', body, signal })).json();
}

/**
 * @param {string} path
 * @returns {Promise<any>} the JSON of the reply
 */
export async function remove(path) {
  return (await send(path, { method: 'DELETE' })).json();
}

/**
 * Writes an address with a query; members without a value are left out.
 * @param {string} path
 * @param {Object<string, unknown>} query
 * @returns {string}
 */
export function address(path, query) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') {
      pairs.set(name, String(value));
    }
  }
  const written = pairs.toString();
  return written === '' ? path : `${path}?${written}`;
}

async function sent(path, { method = 'GET', body, headers = {}, signal }, token, session) {
  const all = { ...headers };
  if (token !== null) {
    all.authorization = `Bearer ${token}`;
  } else if (session !== null) {
    all['x-codeinfo-session'] = session;
  }
  if (method !== 'GET') {
    all['content-type'] = 'application/json';
  }
  const content = body === undefined ? undefined : JSON.stringify(body);
  try {
    return await fetch(path, { method, headers: all, body: content, signal, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) {
      throw error;
    }
    throw new ApiError(0, 'UNREACHABLE', 'The server does not answer');
  }
}

async function failure(response) {
  const said = await response.json().catch(() => ({}));
  const message = said.message ?? `The server answered ${response.status}`;
  const details = (said.details ?? []).filter((detail) => detail !== message);
  return new ApiError(response.status, said.error ?? 'UNKNOWN', message, details);
}

/** One prompt for all requests that wait for a token. */
async function tokenAsked(message) {
  if (isDeclined) {
    return false;
  }
  prompted ??= prompt(message).finally(() => {
    prompted = null;
  });
  const token = await prompted;
  if (token !== null) {
    keep('sessionStorage', KEY, token);
  }
  isDeclined = token === null;
  return token !== null;
}
