// Shows the lines of a citation while one points at it, or has it in focus.

import { address, get } from './api.js';
import { fill, h, PLACES } from './h.js';
import { onEscape } from './keys.js';
import { marked } from './marks.js';
import { rangesOf, written } from './router.js';
import { on } from './state.js';

const WAIT_MS = 300;
const MOST_LINES = 12;
const MOST_KEPT = 50;

/** Watches for citations that are pointed at. */
export function startPreview() {
  const box = h('div', { id: 'preview', role: 'tooltip', class: 'preview', hidden: true });
  document.body.append(box);
  const kept = new Map();
  let timer = null;
  let target = null;

  const hide = () => {
    clearTimeout(timer);
    target?.removeAttribute('aria-describedby');
    target = null;
    const was = !box.hidden;
    box.hidden = true;
    return was;
  };
  const read = (path, { first, last }) => {
    const key = address('/source', { path, first, last });
    if (!kept.has(key)) {
      kept.set(key, get(key));
      kept.get(key).catch(() => kept.delete(key));
      if (kept.size > MOST_KEPT) {
        kept.delete(kept.keys().next().value);
      }
    }
    return kept.get(key);
  };
  const show = async (link) => {
    const all = lines(link.dataset);
    const shown = beginning(all);
    try {
      const parts = await Promise.all(shown.map((range) => read(link.dataset.path, range)));
      if (target !== link) {
        return;
      }
      const more = size(all) - size(shown);
      const [{ relPath, first, last }] = parts;
      const said = link.getAttribute('aria-description');
      fill(box, h('p', { class: 'about' },
        written({ path: relPath, first, last, ranges: parts }), said && ` · ${said}`),
        parts.map((part) => h('pre', { class: 'code' }, part.lines.map((line, at) => h('span', { class: 'preview-line' },
          h('span', { class: 'number' }, String(part.first + at)), h('code', null, marked(line.text, line.marks)), '\n')))),
        more > 0 && h('p', { class: 'about' }, `${more} more`));
      box.hidden = false;
      link.setAttribute('aria-describedby', box.id);
      stand(box, link);
    } catch {
      // Where it leads is said when it is opened.
    }
  };
  const point = (event) => {
    const link = event.target instanceof Element ? event.target.closest(PLACES) : null;
    if (link === target) {
      return;
    }
    hide();
    if (link?.dataset.path) {
      target = link;
      timer = setTimeout(() => show(link), WAIT_MS);
    }
  };
  document.addEventListener('pointerover', (event) => {
    if (event.pointerType === 'mouse' && !box.contains(event.target)) {
      point(event);
    }
  });
  document.addEventListener('focusin', (event) => {
    if (event.target.matches(':focus-visible')) {
      point(event);
    }
  });
  document.addEventListener('focusout', hide);
  document.addEventListener('click', hide);
  addEventListener('scroll', hide, { capture: true, passive: true });
  onEscape(hide);
  // Files may have changed since.
  on('evidence', () => kept.clear());
  on('repositories', () => kept.clear());
}

/** The lines of a link; without any, those at the start of the file. */
function lines({ first, last, ranges }) {
  const [from, to] = [Number(first ?? 1), Number(last ?? first ?? MOST_LINES)];
  return ranges ? rangesOf(ranges) : [{ first: from, last: to }];
}

/** As many of the lines as are shown. */
function beginning(ranges) {
  let room = MOST_LINES;
  const shown = ranges.map(({ first, last }) => {
    const to = Math.min(last, first + room - 1);
    room -= Math.max(0, to - first + 1);
    return { first, last: to };
  });
  return shown.filter(({ first, last }) => first <= last);
}

function size(ranges) {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

/** Places the box right below a link, or above it where there is more room, so that one can point at it. */
function stand(box, link) {
  const at = link.getClientRects()[0] ?? link.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = box;
  const left = Math.max(8, Math.min(at.left, innerWidth - offsetWidth - 8));
  const isBelow = at.bottom + offsetHeight + 8 < innerHeight || at.top < offsetHeight + 8;
  box.style.left = `${left}px`;
  box.style.top = `${isBelow ? at.bottom : at.top - offsetHeight}px`;
}
