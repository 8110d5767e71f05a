// Draws the files of an answer one below the other, and which calls or imports which as arcs beside them.

import { counted } from './format.js';
import { h, svg } from './h.js';
import { beside } from './router.js';

const ROW_PX = 24;
const LETTER_PX = 7.9;
const STEP_PX = 12;
const MOST_STEPS = 9;
const VERBS = { calls: 'calls', imports: 'imports' };

/**
 * @param {{files: any[], links: {from: number, to: number, kind: string, names: string[]}[]}} map
 * @returns {HTMLElement}
 */
export function drawing({ files, links }) {
  const drawn = links.filter(({ from, to }) => from !== to && files[from] && files[to]);
  const sentences = drawn.map((edge) => sentence(files, edge));
  const reach = Math.min(MOST_STEPS, Math.max(1, ...drawn.map(({ from, to }) => Math.abs(from - to)))) * STEP_PX + 24;
  const names = short(files);
  const width = reach + Math.ceil(Math.max(...names.map((name) => name.length)) * LETTER_PX) + 16;
  const height = files.length * ROW_PX + 8;
  const arcs = drawn.map((edge, at) => arc(edge, reach, sentences[at]));
  const light = (index, is) => drawn.forEach((edge, at) => {
    if (edge.from === index || edge.to === index) {
      arcs[at].classList.toggle('lit', is);
    }
  });
  const rows = files.map((file, index) => row(file, names[index], index, reach, light));
  const label = `${counted(files.length, 'file')}, ${counted(drawn.length, 'connection')}`;
  return h('figure', { class: 'figure-graph' },
    h('div', { class: 'graph-box', role: 'group', tabindex: 0, 'aria-label': 'Drawing of the connections' },
      svg('svg', { class: 'graph', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': label },
        arcs, rows)),
    h('figcaption', { class: 'about' }, drawn.length === 0
      ? 'No known call or import connects these files.'
      : 'A solid line is a call, a dashed line an import. Cited files are bold.'),
    drawn.length > 0 && h('details', null, h('summary', { class: 'about' }, 'As text'),
      h('ul', { class: 'bare about' }, sentences.map((text) => h('li', null, text)))));
}

function row(file, name, index, reach, light) {
  const first = file.ranges?.[0]?.split('-').map(Number) ?? [];
  const at = { path: file.path, first: first[0] || null, last: first[1] ?? first[0] ?? null, repository: null };
  const link = svg('a', {
    href: beside(at), class: 'place', 'data-item': true, 'data-path': file.path, 'data-first': at.first, 'data-last': at.last,
  }, svg('title', null, file.path), svg('text', { x: reach, y: index * ROW_PX + 20 }, name));
  return svg('g', {
    class: file.cited ? 'cited' : null,
    onpointerenter: () => light(index, true), onpointerleave: () => light(index, false),
    onfocusin: () => light(index, true), onfocusout: () => light(index, false),
  }, link);
}

/** An arc from one row to another, with its head at the end. Those that go up stand a little apart. */
function arc({ from, to, kind }, reach, title) {
  const out = Math.min(MOST_STEPS, Math.abs(from - to)) * STEP_PX;
  const shift = from < to ? -2 : 2;
  const [start, end] = [from * ROW_PX + 16 + shift, to * ROW_PX + 16 + shift];
  const right = reach - 8;
  const left = right - out - 8;
  const head = `M${right} ${end} l-7 -4 v8 z`;
  return svg('g', null,
    svg('title', null, title),
    svg('path', { class: kind === 'imports' ? 'imports' : 'calls', d: `M${right} ${start} C${left} ${start} ${left} ${end} ${right - 6} ${end}` }),
    svg('path', { class: 'arrow', d: head }));
}

function sentence(files, { from, to, kind, names }) {
  const what = (names ?? []).slice(0, 8).join(', ');
  const verb = Object.hasOwn(VERBS, kind) ? VERBS[kind] : 'uses';
  return `${files[from].relPath} ${verb} ${what === '' ? '' : `${what} of `}${files[to].relPath}`;
}

/** Paths, with the end of those that are long. */
function short(files) {
  const most = 44;
  return files.map(({ relPath }) => (relPath.length > most ? `…${relPath.slice(1 - most)}` : relPath));
}
