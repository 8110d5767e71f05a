// Reads and writes the address: which page is shown, and which lines stand beside it.

/**
 * @typedef {{name: string, id: string | null, query: URLSearchParams}} Route
 * @typedef {{path: string, first: number | null, last: number | null, repository: string | null}} Place
 */

/** @returns {Route} what the address shows */
export function route() {
  const [path, query] = split(location.hash);
  const parts = path.split('/').filter((part) => part !== '');
  return { name: parts[0] ?? '', id: parts.length > 1 ? decoded(parts[1]) : null, query };
}

/**
 * Writes the address of a page.
 * @param {string[]} parts
 * @param {Object<string, unknown>} [query]
 * @returns {string}
 */
export function link(parts, query = {}) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') {
      pairs.set(name, String(value));
    }
  }
  return joined(`#/${parts.map(encodeURIComponent).join('/')}`, pairs);
}

/**
 * Goes to an address.
 * @param {string} hash
 * @param {'push' | 'replace'} [how] `replace` adds nothing to the history
 */
export function go(hash, how = 'push') {
  if (hash === location.hash || (hash === '#/' && location.hash === '')) {
    return;
  }
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', hash);
  dispatchEvent(new Event('route'));
}

/**
 * Calls a function now, and whenever the address changes.
 * @param {(route: Route) => void} changed
 */
export function onRoute(changed) {
  const call = () => changed(route());
  addEventListener('route', call);
  addEventListener('hashchange', call);
  call();
}

/** @returns {Place | null} the lines that stand beside the page */
export function place() {
  const { name, query } = route();
  const number = (text) => (/^\d{1,9}$/.test(text ?? '') ? Math.max(1, Number(text)) : null);
  if (name === 'source') {
    const [path, first] = [query.get('path'), number(query.get('first'))];
    const last = number(query.get('last')) ?? first;
    return path === null ? null : ordered({ path, first, last, repository: query.get('repository') });
  }
  const at = query.get('at');
  if (at === null || at === '') {
    return null;
  }
  const [, path, first, last] = /^(.*?)(?::(\d{1,9})(?:-(\d{1,9}))?)?$/s.exec(at);
  return ordered({ path, first: number(first), last: number(last ?? first), repository: query.get('in') });
}

/**
 * Writes the address of this page with lines beside it, or with none.
 * @param {Place | null} at
 * @returns {string}
 */
export function beside(at) {
  const [path, query] = split(location.hash);
  if (path.startsWith('/source') && at !== null) {
    const { first, last, repository } = at;
    return link(['source'], { path: at.path, repository, first, last });
  }
  query.delete('at');
  query.delete('in');
  if (at !== null) {
    query.set('at', written(at));
    if (at.repository) {
      query.set('in', at.repository);
    }
  }
  return joined(`#${path}`, query);
}

/**
 * Writes a place as `path:first-last`.
 * @param {{path: string, first: number | null, last: number | null}} at
 * @returns {string}
 */
export function written({ path, first, last }) {
  if (first === null || first === undefined) {
    return path;
  }
  return last === null || last === undefined || last === first ? `${path}:${first}` : `${path}:${first}-${last}`;
}

function ordered(at) {
  return at.first !== null && at.last < at.first ? { ...at, first: at.last, last: at.first } : at;
}

function split(hash) {
  const text = hash.startsWith('#/') ? hash.slice(1) : '/';
  const mark = text.indexOf('?');
  return mark < 0
    ? [text, new URLSearchParams()]
    : [text.slice(0, mark), new URLSearchParams(text.slice(mark + 1))];
}

function joined(path, pairs) {
  // Slashes and colons may stand in a query as they are, and are read more easily.
  const query = pairs.toString().replaceAll('%2F', '/').replaceAll('%3A', ':');
  return query === '' ? path : `${path}?${query}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
