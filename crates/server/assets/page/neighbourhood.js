// Draws a definition between what calls it, at the left, and what it calls, at the right, two steps each way.

import { counted } from './format.js';
import { h, svg } from './h.js';
import { linkProps, nameOf } from './symbols.js';

/** Definitions of one side that are drawn: with the one in the middle, 23 in all. */
const MAX_NODES = 11;
const MAX_LETTERS = 22;
const LETTER_PX = 7.9;
const GAP_PX = 56;
const ROW_PX = 28;
/** The column of the definition: there are as many before it, and after it. */
const MIDDLE = 2;
const LINES = { certain: 'solid: certain', likely: 'dashed: likely', possible: 'dotted: possible' };

/**
 * @typedef {import('./symbols.js').SymbolPlace & {before: number | null, depth: number, certainty: string}} Step
 * @param {{starts: any[], steps: Step[], isCut: boolean}} callers
 * @param {{starts: any[], steps: Step[], isCut: boolean}} callees
 * @returns {HTMLElement}
 */
export function drawNeighbourhood(callers, callees) {
  const starts = callees.starts.length > 0 ? callees.starts : callers.starts;
  if (starts.length === 0) {
    return h('p', { class: 'about' }, 'No definition is known here, so that there is nothing to draw.');
  }
  const [left, right] = [chooseNodes(callers.steps, -1), chooseNodes(callees.steps, 1)];
  const center = { place: starts[0], column: MIDDLE };
  const { width, height } = placeNodes([...left, center, ...right]);
  const calls = [
    ...left.map((node) => drawCall(node.place.certainty, node, node.before ?? center)),
    ...right.map((node) => drawCall(node.place.certainty, node.before ?? center, node)),
  ];
  const label = `Calls around ${nameOf(starts[0])}: ${counted(left.length, 'definition')} before it, ${right.length} after it`;
  const omitted = callers.steps.length + callees.steps.length - left.length - right.length;
  return h('figure', { class: 'figure-graph' },
    h('div', { class: 'graph-box', role: 'group', tabindex: 0, 'aria-label': 'Picture of the calls' },
      svg('svg', { class: 'graph', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': label },
        calls, left.map(drawNode), svg('g', { class: 'cited' }, drawNode(center)), right.map(drawNode))),
    h('figcaption', { class: 'about' }, 'Each line is a call, from left to right. ', drawLegend(),
      starts.length > 1 && ` ${starts.length} definitions have this name; all are drawn as the first.`,
      omitted > 0 && ` ${omitted} more are not drawn.`,
      (callers.isCut || callees.isCut) && ' Not all calls were followed.'));
}

/** Chooses the steps of a side that are drawn, nearest first. */
function chooseNodes(steps, direction) {
  const chosen = new Map();
  for (const [index, place] of steps.entries()) {
    const before = place.before === null ? null : chosen.get(place.before);
    if (place.depth <= MIDDLE && before !== undefined && chosen.size < MAX_NODES) {
      chosen.set(index, { place, before, column: MIDDLE + direction * place.depth });
    }
  }
  return [...chosen.values()];
}

/** Places nodes in columns as wide as their names, one below the other. Returns the size of all. */
function placeNodes(nodes) {
  const columns = Array.from({ length: 2 * MIDDLE + 1 }, (_, column) => nodes.filter((node) => node.column === column));
  const rows = Math.max(...columns.map((own) => own.length));
  let x = 8;
  for (const own of columns.filter(({ length }) => length > 0)) {
    own.forEach((node, at) => Object.assign(node, { x, y: (at + (rows - own.length) / 2) * ROW_PX + 18 }));
    x += Math.max(...own.map(({ place }) => shortName(place).length)) * LETTER_PX + GAP_PX;
  }
  return { width: x - GAP_PX + 8, height: rows * ROW_PX + 8 };
}

/** A line from a caller, whose name it begins after, to what it calls, where its head is. */
function drawCall(certainty, caller, callee) {
  const [start, end] = [caller.x + shortName(caller.place).length * LETTER_PX + 4, callee.x - 6];
  const [from, to] = [caller.y - 5, callee.y - 5];
  const middle = (start + end) / 2;
  return svg('g', null,
    svg('path', { class: certainty, d: `M${start} ${from} C${middle} ${from} ${middle} ${to} ${end - 6} ${to}` }),
    svg('path', { class: 'arrow', d: `M${end} ${to} l-7 -4 v8 z` }));
}

function drawNode({ place, x, y }) {
  const mark = (place.certainty ?? 'certain') === 'certain' ? '' : `, ${place.certainty}`;
  const said = `${nameOf(place)}, ${place.relPath}, line ${place.line}${mark}`;
  return svg('a', linkProps(place, place.line, said), svg('title', null, said), svg('text', { x, y }, shortName(place)));
}

function shortName(place) {
  const name = nameOf(place);
  return name.length > MAX_LETTERS ? `…${name.slice(1 - MAX_LETTERS)}` : name;
}

function drawLegend() {
  return Object.entries(LINES).map(([certainty, words]) => [
    svg('svg', { class: 'graph legend', width: 32, height: 8, 'aria-hidden': 'true' }, svg('path', { class: certainty, d: 'M0 4 h32' })),
    ` ${words} `,
  ]);
}
