// Shows the lines of a citation while one points at it, or has it in focus.

import { address, get } from './api.js';
import { fill, h } from './h.js';
import { onEscape } from './keys.js';
import { marked } from './marks.js';
import { on } from './state.js';

const WAIT_MS = 300;
const MOST_LINES = 12;
const MOST_KEPT = 50;
const PLACES = 'a.cite, a.place';

/** Watches for citations that are pointed at. */
export function startPreview() {
  const box = h('div', { id: 'preview', role: 'tooltip', class: 'preview', hidden: true });
  document.body.append(box);
  const kept = new Map();
  let timer = null;
  let target = null;

  const hide = () => {
    clearTimeout(timer);
    target = null;
    const was = !box.hidden;
    box.hidden = true;
    return was;
  };
  const show = async (link) => {
    const { path, first, last } = link.dataset;
    const from = Number(first ?? 1);
    const to = Math.min(Number(last ?? from + MOST_LINES - 1), from + MOST_LINES - 1);
    const key = address('/source', { path, first: from, last: to });
    if (!kept.has(key)) {
      kept.set(key, get(key));
      if (kept.size > MOST_KEPT) {
        kept.delete(kept.keys().next().value);
      }
    }
    try {
      const source = await kept.get(key);
      if (target !== link) {
        return;
      }
      const more = Number(last ?? 0) - to;
      fill(box, h('p', { class: 'about' }, `${source.relPath}:${source.first}-${source.last}`),
        h('pre', { class: 'code' }, source.lines.map((line, at) => h('span', { class: 'preview-line' },
          h('span', { class: 'number' }, String(source.first + at)), h('code', null, marked(line.text, line.marks)), '\n'))),
        more > 0 && h('p', { class: 'about' }, `${more} more`));
      box.hidden = false;
      stand(box, link);
    } catch {
      kept.delete(key);
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

/** Places the box right below a link, or above it where there is more room, so that one can point at it. */
function stand(box, link) {
  const at = link.getClientRects()[0] ?? link.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = box;
  const left = Math.max(8, Math.min(at.left, innerWidth - offsetWidth - 8));
  const isBelow = at.bottom + offsetHeight + 8 < innerHeight || at.top < offsetHeight + 8;
  box.style.left = `${left}px`;
  box.style.top = `${isBelow ? at.bottom : at.top - offsetHeight}px`;
}
