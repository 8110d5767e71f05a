// Draws folders as areas, each as large as the indexed code in it.

import { bytes, counted } from './format.js';
import { svg } from './h.js';

const LABEL_PX = 24;
const LETTER_PX = 8;
const GAP = 2;
/** Areas that are smaller are not divided. */
const DIVIDED_PX = 72;

/** The folders of a repository, each with those in it. The server lists what lies in each directly. */
export class Tree {
  /** @param {any[]} folders as the server lists them */
  constructor(folders) {
    this.nodes = new Map();
    this.node('');
    for (const { path, files, bytes: size, cited } of folders) {
      Object.assign(this.node(path), { files, bytes: size, cited });
    }
    total(this.node(''));
  }

  /** @param {string} path @returns {any} the folder at a path; `''` is the root */
  at(path) {
    return this.nodes.get(path);
  }

  /** The folder at a path, which is made with those around it where none is listed. */
  node(path) {
    const known = this.nodes.get(path);
    if (known !== undefined) {
      return known;
    }
    const slash = path.lastIndexOf('/');
    const made = { path, name: path.slice(slash + 1), files: 0, bytes: 0, cited: 0, children: [] };
    this.nodes.set(path, made);
    if (path !== '') {
      this.node(path.slice(0, Math.max(0, slash))).children.push(made);
    }
    return made;
  }
}

/** Adds up what is in a folder and below. */
function total(node) {
  node.children.forEach(total);
  const sum = (own, all) => node.children.reduce((so, child) => so + child[all], node[own]);
  node.allFiles = sum('files', 'allFiles');
  node.allBytes = sum('bytes', 'allBytes');
  node.allCited = sum('cited', 'allCited');
  node.children.sort((a, b) => b.allBytes - a.allBytes || (a.path < b.path ? -1 : 1));
}

/**
 * Draws a folder.
 * @param {any} node
 * @param {number} width in pixels
 * @param {(path: string) => string} href where a folder leads
 * @returns {SVGElement}
 */
export function treemap(node, width, href) {
  const height = Math.round(Math.max(320, Math.min(560, width * 0.6)));
  const most = Math.max(1, ...node.children.map((child) => child.allCited), node.cited);
  const areas = divided(node, { x: 0, y: 0, width, height });
  const label = `${node.path || 'The repository'}: ${areas.map((area) => area.title).join('; ')}`;
  return svg('svg', {
    class: 'treemap', viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': label,
  },
  svg('g', { 'aria-hidden': 'true' }, areas.map((area) => cell(area, most, true))),
  areas.filter((area) => area.node !== null).map((area) => svg('a', { href: href(area.node.path), 'aria-label': area.title },
    svg('title', null, area.title), svg('rect', { class: 'link', ...inset(area) }))));
}

function cell(area, most, isOuter) {
  const { x, y, width, height } = inset(area);
  if (width < 2 || height < 2) {
    return null;
  }
  const rest = { x: x + 4, y: y + LABEL_PX, width: width - 8, height: height - LABEL_PX - 12 };
  const isDivided = isOuter && area.node !== null && Math.min(rest.width, rest.height) > DIVIDED_PX;
  const bar = Math.round(((width - 8) * area.cited) / most);
  return svg('g', null,
    svg('rect', { class: isOuter ? null : 'inner', x, y, width, height }),
    area.cited > 0 && !isOuter && svg('rect', { class: 'heat', x, y, width, height, 'fill-opacity': heat(area.cited / most) }),
    labels(area, { x, y, width, height }),
    isDivided && divided(area.node, rest).map((inner) => cell(inner, most, false)),
    isOuter && bar > 0 && height > 12 && svg('rect', { class: 'cited', x: x + 4, y: y + height - 8, width: bar, height: 4 }));
}

/** How dark an area is, so that what stands in it can still be read. */
function heat(share) {
  return (0.08 + 0.22 * Math.min(1, share)).toFixed(2);
}

function labels({ name, bytes: size }, { x, y, width, height }) {
  const room = Math.floor((width - 8) / LETTER_PX);
  if (height < LABEL_PX - 6 || room < 3) {
    return null;
  }
  const shown = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  const figure = bytes(size);
  const left = room - shown.length - 1 > figure.length;
  return [
    svg('text', { x: x + 6, y: y + 16 }, shown),
    left && svg('text', { x: x + width - 6, y: y + 16, 'text-anchor': 'end', class: 'figure-text' }, figure),
  ];
}

/** Divides an area among the folders in one, and the files that lie in it directly. */
function divided(node, area) {
  const parts = node.children.filter((child) => child.allBytes > 0).map((child) => ({
    node: child, name: child.name, bytes: child.allBytes, cited: child.allCited, title: spoken(child.name, child.allFiles, child.allBytes, child.allCited),
  }));
  if (node.bytes > 0) {
    const title = spoken('files in this folder', node.files, node.bytes, node.cited);
    parts.push({ node: null, name: 'files', bytes: node.bytes, cited: node.cited, title });
  }
  parts.sort((a, b) => b.bytes - a.bytes);
  return squarified(parts, area);
}

function spoken(name, files, size, cited) {
  return `${name}, ${counted(files, 'file')}, ${bytes(size)}, cited ${counted(cited, 'time')}`;
}

/** Lays parts out in rows, so that areas come near to squares. */
function squarified(parts, area) {
  let { x, y, width, height } = area;
  let left = parts.reduce((sum, part) => sum + part.bytes, 0);
  const laid = [];
  let rest = parts;
  while (rest.length > 0 && left > 0) {
    const side = Math.min(width, height);
    const scale = (width * height) / left;
    let taken = 1;
    while (taken < rest.length
      && worst(rest.slice(0, taken + 1), side, scale) <= worst(rest.slice(0, taken), side, scale)) {
      taken += 1;
    }
    const row = rest.slice(0, taken);
    const sum = row.reduce((all, part) => all + part.bytes, 0);
    const thick = (sum * scale) / side;
    let along = 0;
    for (const part of row) {
      const long = (part.bytes / sum) * side;
      laid.push(width >= height
        ? { ...part, x, y: y + along, width: thick, height: long }
        : { ...part, x: x + along, y, width: long, height: thick });
      along += long;
    }
    if (width >= height) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      height -= thick;
    }
    left -= sum;
    rest = rest.slice(taken);
  }
  return laid;
}

function worst(row, side, scale) {
  const sum = row.reduce((all, part) => all + part.bytes, 0) * scale;
  const [most, least] = [row[0].bytes * scale, row.at(-1).bytes * scale];
  return Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
}

function inset({ x, y, width, height }) {
  const round = (number) => Math.round(number * 10) / 10;
  return {
    x: round(x + GAP / 2), y: round(y + GAP / 2),
    width: round(Math.max(0, width - GAP)), height: round(Math.max(0, height - GAP)),
  };
}
