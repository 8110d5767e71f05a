// Shows what a search found. Thousand results come in slices, and code is written when it is about to be seen.

import { commitAddress, commitBadges, shortId } from './diff.js';
import { rangeLink } from './files.js';
import { counted } from './format.js';
import { fill, h } from './h.js';
import { marked } from './marks.js';
import { beside } from './router.js';
import { scroll } from './scroll.js';

/** How long one slice may take, so that the page stays with who types. */
const SLICE_MS = 8;
const AHEAD = '600px';
/** Lines of a result that are shown before one asks for all. */
const FIRST_LINES = 10;
const LINE_PX = 20;
const HEAD_PX = 40;

/**
 * Shows results by file, best first.
 * @param {HTMLElement} into
 * @param {any[]} results
 * @param {Node | null} more what stands below them
 * @param {AbortSignal} signal ends it
 */
export function showResults(into, results, more, signal) {
  const byFile = new Map();
  for (const one of results) {
    byFile.set(one.path, [...(byFile.get(one.path) ?? []), one]);
  }
  const groups = [...byFile.values()];
  const isWide = new Set(results.map((one) => one.repo)).size > 1;
  const written = new WeakMap();
  const waiting = [];
  let isWriting = false;
  // What came into view last is written first: the rest may have been scrolled past.
  const writeSome = () => {
    const end = performance.now() + SLICE_MS;
    while (waiting.length > 0 && performance.now() < end && !signal.aborted) {
      waiting.pop()();
    }
    isWriting = waiting.length > 0 && !signal.aborted;
    if (isWriting) {
      requestAnimationFrame(writeSome);
    }
  };
  const observer = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (isIntersecting) {
        observer.unobserve(target);
        waiting.push(written.get(target));
      }
    }
    if (!isWriting) {
      isWriting = true;
      writeSome();
    }
  }, { rootMargin: AHEAD, scrollMargin: AHEAD });
  signal.addEventListener('abort', () => observer.disconnect());
  const later = (element, write) => {
    written.set(element, write);
    observer.observe(element);
  };
  fill(into);
  scroll(0);
  let at = 0;
  const slice = () => {
    const end = performance.now() + SLICE_MS;
    const part = document.createDocumentFragment();
    while (at < groups.length && performance.now() < end) {
      part.append(group(groups[at], isWide, later));
      at += 1;
    }
    if (signal.aborted) {
      return;
    }
    into.append(part);
    if (at < groups.length) {
      requestAnimationFrame(slice);
    } else if (more !== null) {
      into.append(more);
    }
  };
  slice();
}

/**
 * Shows commits, best first, with the lines of their messages that fit.
 * @param {HTMLElement} into
 * @param {any[]} commits
 */
export function showCommits(into, commits) {
  scroll(0);
  fill(into, h('ul', null, commits.map(({ repository, id, time, subject, author, files, fileCount, lines, merge, reverts }) => h('li', { class: 'use' },
    h('p', null, h('a', { href: commitAddress(repository, id), 'data-item': true }, h('bdi', null, subject || 'No message')), ' ',
      commitBadges({ parentCount: merge ?? 1, reverts })),
    lines.map((line) => h('p', { class: 'excerpt' }, line)),
    h('p', { class: 'about' }, h('time', { title: time }, time.split(' ')[0]), author && [' · ', h('bdi', null, author)],
      ' · ', h('code', null, shortId(id)), ' · ', h('bdi', null, repository)),
    fileCount > 0 && h('p', { class: 'about' }, files.map((path) => [h('code', null, path), ' ']),
      files.length === 0 ? `${counted(fileCount, 'file')}, left out of the index`
        : fileCount > files.length && `and ${counted(fileCount - files.length, 'more file')}`)))));
}

function group(results, isWide, later) {
  const { relPath, path, repo } = results[0];
  const section = h('section', { class: 'result-file' },
    h('h2', { title: path }, isWide && h('span', { class: 'about' }, `${repo} `), relPath),
    results.map((one) => result(one, later)));
  const heights = results.map((one) => HEAD_PX + height(Math.min(FIRST_LINES, one.lineCount)));
  section.style.containIntrinsicHeight = `auto ${HEAD_PX + heights.reduce((sum, one) => sum + one, 0)}px`;
  return section;
}

function result(one, later) {
  const code = h('pre', { class: 'result-code code', role: 'group', tabindex: 0, 'aria-label': `Code of ${one.relPath}` });
  code.style.minHeight = `${height(Math.min(FIRST_LINES, one.lineCount))}px`;
  later(code, () => write(code, one, FIRST_LINES));
  return h('article', { class: 'result', 'aria-label': `${one.relPath}:${one.startLine}-${one.endLine}` },
    h('div', { class: 'result-head' },
      rangeLink(one, `${one.startLine}-${one.endLine}`),
      one.symbol && h('code', null, one.symbol),
      one.symbol && usesLink(one),
      one.alsoIn?.length > 0 && h('span', { class: 'about', title: one.alsoIn.join(', ') },
        `also in ${one.alsoIn.length === 1 ? one.alsoIn[0] : counted(one.alsoIn.length, 'place')}`),
      score(one)),
    code);
}

/** A link that opens a result with what uses its definition. */
function usesLink({ path, relPath, repo, startLine, endLine, symbol }) {
  const at = { path, first: startLine, last: endLine, repository: null };
  const uses = { of: `${relPath}:${symbol}`, repository: repo, kind: 'callers' };
  return h('a', { href: beside(at, uses), 'data-uses': true, 'aria-label': `What calls this: ${symbol}` }, 'What calls this');
}

/** The score, and on demand what it is made of. */
function score({ score: value, parts }) {
  const text = value.toFixed(4);
  if (!parts?.length) {
    return h('span', { class: 'about' }, `score ${text}`);
  }
  const details = h('details', { ontoggle: () => {
    if (details.open && details.children.length === 1) {
      details.append(h('table', { class: 'parts' }, h('tbody', null, parts.map((part) =>
        h('tr', null, h('th', { scope: 'row' }, part.name), h('td', { class: 'figure' }, part.value.toFixed(4)))))));
    }
  } }, h('summary', { 'aria-label': `Score ${text}: its parts` }, `score ${text}`));
  return details;
}

function write(code, one, most) {
  const lines = one.chunk.replace(/\n$/, '').split('\n');
  const shown = lines.slice(0, most).map((text, at) => h('span', { class: 'code-line' },
    h('span', { class: 'number' }, String(one.startLine + at)), marked(text, one.marks?.[at] ?? []), '\n'));
  fill(code, shown);
  code.style.minHeight = '';
  if (lines.length > most) {
    const all = () => {
      button.remove();
      write(code, one, Infinity);
      code.focus({ preventScroll: true });
    };
    const button = h('button', { type: 'button', class: 'plain', onclick: all }, `Show all ${lines.length} lines`);
    code.after(button);
  }
}

function height(lines) {
  return lines * LINE_PX + 2;
}
