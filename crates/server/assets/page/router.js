// Reads and writes the address: which page is shown, and which lines stand beside it.

/**
 * @typedef {{name: string, id: string | null, part: string | null, query: URLSearchParams}} Route `part`: what stands
 *   after the id, such as a commit of a repository
 * @typedef {{first: number, last: number}} Range
 * @typedef {{path: string, first: number | null, last: number | null, ranges?: Range[],
 *   repository: string | null, commit?: string | null}} Place `ranges`: all of the lines, where there are several apart;
 *   `first` and `last` are those of the first; `commit`: the one that has the lines, where they are not those of now
 */

const MOST_RANGES = 100;

/** @returns {Route} what the address shows */
export function route() {
  const [path, query] = split(location.hash);
  const parts = path.split('/').filter((part) => part !== '');
  const [id, part] = [1, 2].map((at) => (parts.length > at ? decoded(parts[at]) : null));
  return { name: parts[0] ?? '', id, part, query };
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
    const path = query.get('path');
    const [first, last] = [number(query.get('first')), number(query.get('last'))];
    const ranges = rangesOf(query.get('ranges') ?? '');
    const all = ranges.length > 0 ? ranges : rangesOf(first === null ? '' : `${first}-${last ?? first}`);
    return path === null ? null : placed(path, all, query.get('repository'), query.get('commit'));
  }
  const at = query.get('at');
  if (at === null || at === '') {
    return null;
  }
  const [, path, lines] = /^(.*?)(?::([\d,-]+))?$/s.exec(at);
  return placed(path, rangesOf(lines ?? ''), query.get('in'), query.get('commit'));
}

/**
 * @typedef {{of: string, repository: string | null, kind: string}} ShownUses `of`: the definition, as the server reads
 *   it; `kind`: what is shown of it, such as its callers, or its history
 */

/** @returns {ShownUses | null} the definition whose uses are shown with the lines */
export function shownUses() {
  const { query } = route();
  const of = query.get('of') ?? '';
  return of === '' ? null : { of, repository: query.get('of-in'), kind: query.get('uses') ?? 'callers' };
}

/**
 * Reads lines that are written as `3-5,20`.
 * @param {string} text
 * @returns {Range[]}
 */
export function rangesOf(text) {
  const all = [];
  for (const part of text.split(',').slice(0, MOST_RANGES)) {
    const found = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (found !== null) {
      const [one, other] = [found[1], found[2] ?? found[1]].map((digits) => Math.max(1, Number(digits)));
      all.push({ first: Math.min(one, other), last: Math.max(one, other) });
    }
  }
  return all;
}

/**
 * Writes the address of this page with lines beside it, or with none.
 * @param {Place | null} at
 * @param {ShownUses | null} [uses] what is shown with the lines; as now, where it is not given
 * @returns {string}
 */
export function beside(at, uses = shownUses()) {
  const [path, query] = split(location.hash);
  const about = at === null || uses === null ? {} : { of: uses.of, 'of-in': uses.repository, uses: uses.kind };
  if (path.startsWith('/source') && at !== null) {
    const { first, last, repository, commit } = at;
    const ranges = at.ranges?.length > 1 ? lines(at) : null;
    return link(['source'], { path: at.path, repository, commit, first, last, ranges, ...about });
  }
  ['at', 'in', 'commit', 'of', 'of-in', 'uses'].forEach((name) => query.delete(name));
  if (at !== null) {
    query.set('at', written(at));
    Object.entries({ in: at.repository, commit: at.commit }).forEach(([name, value]) => value && query.set(name, value));
  }
  Object.entries(about).forEach(([name, value]) => value && query.set(name, value));
  return joined(`#${path}`, query);
}

/**
 * Writes a place as `path:first-last`, with all of its lines.
 * @param {Place} at
 * @returns {string}
 */
export function written(at) {
  return at.first === null || at.first === undefined ? at.path : `${at.path}:${lines(at)}`;
}

function lines({ first, last, ranges }) {
  const all = ranges?.length > 1 ? ranges : [{ first, last: last ?? first }];
  return all.map((one) => (one.first === one.last ? `${one.first}` : `${one.first}-${one.last}`)).join(',');
}

function placed(path, ranges, repository, commit) {
  const { first = null, last = null } = ranges[0] ?? {};
  return { path, first, last, ranges, repository, commit };
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
