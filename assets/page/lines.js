// Shows the lines of a file, of which only those that are seen stand in the document.

import { fill, h } from './h.js';
import { marked, width } from './marks.js';

/** Height of a line in pixels, which the style takes from here. */
export const LINE_PX = 20;
/** Lines above and below those that are seen. */
const MARGIN = 20;

/**
 * @typedef {{text: string, marks?: [number, number, string][], changed?: boolean}} Line
 */

/** A list of lines that scrolls. */
export class Lines {
  /**
   * @param {{label: string, total: number, line: (number: number) => Line | undefined,
   *   need: (first: number, last: number) => void, href: (number: number) => string,
   *   choose: (number: number, extend: boolean) => void}} options
   */
  constructor(options) {
    this.options = options;
    this.rows = new Map();
    this.first = null;
    this.last = null;
    this.widest = 0;
    this.inner = h('div', { class: 'lines-inner' });
    this.inner.style.height = `${options.total * LINE_PX}px`;
    this.element = h('div', {
      class: 'lines code', role: 'region', tabindex: 0, 'aria-label': options.label,
      onscroll: () => this.soon(), onclick: (event) => this.click(event),
    }, this.inner);
    this.element.style.setProperty('--line', `${LINE_PX}px`);
    this.element.style.setProperty('--gutter', `${String(options.total).length}ch`);
    this.observer = new ResizeObserver(() => this.soon());
    this.observer.observe(this.element);
  }

  /** Ends what goes on by itself. */
  close() {
    this.observer.disconnect();
  }

  /**
   * Marks lines, and scrolls to them.
   * @param {number | null} first
   * @param {number | null} last
   */
  choose(first, last) {
    this.first = first;
    this.last = last;
    if (first !== null) {
      const height = this.element.clientHeight;
      const [top, bottom] = [(first - 1) * LINE_PX, last * LINE_PX];
      const above = Math.max(LINE_PX * 3, (height - (bottom - top)) / 3);
      if (top < this.element.scrollTop + LINE_PX || bottom > this.element.scrollTop + height - LINE_PX) {
        this.element.scrollTop = Math.max(0, top - above);
      }
    }
    this.clear();
  }

  /** Writes all lines again, such as when more of them came. */
  clear() {
    this.rows.clear();
    fill(this.inner);
    this.draw();
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { total, need } = this.options;
    const top = this.element.scrollTop;
    const from = Math.max(1, Math.floor(top / LINE_PX) + 1 - MARGIN);
    const to = Math.min(total, Math.ceil((top + this.element.clientHeight) / LINE_PX) + MARGIN);
    for (const [number, row] of this.rows) {
      if (number < from || number > to) {
        row.remove();
        this.rows.delete(number);
      }
    }
    // They stand in order, so that copying gives them in order.
    let before = null;
    const missing = [];
    for (let number = to; number >= from; number -= 1) {
      let row = this.rows.get(number);
      if (row === undefined) {
        const line = this.options.line(number);
        if (line === undefined) {
          missing.push(number);
          continue;
        }
        row = this.row(number, line);
        this.rows.set(number, row);
        this.inner.insertBefore(row, before);
      }
      before = row;
    }
    if (missing.length > 0) {
      need(missing.at(-1), missing[0]);
    }
  }

  row(number, { text, marks, changed }) {
    const isChosen = this.first !== null && this.first <= number && number <= this.last;
    const wide = width(text);
    if (wide > this.widest) {
      this.widest = wide;
      this.inner.style.setProperty('--widest', `${wide}ch`);
    }
    const row = h('div', {
      class: changed ? 'line changed' : 'line', 'data-line': number, 'aria-current': isChosen ? 'true' : null,
    },
    h('a', { class: 'number', href: this.options.href(number), tabindex: -1, title: `Link to line ${number}` }, number),
    changed && h('span', { class: 'change', title: 'Changed since it was indexed' },
      h('span', { class: 'unseen' }, 'changed ')),
    h('code', null, marked(text, marks)), '\n');
    row.style.top = `${(number - 1) * LINE_PX}px`;
    return row;
  }

  click(event) {
    const number = event.target.closest('.number');
    if (number !== null && !event.ctrlKey && !event.metaKey && event.button === 0) {
      event.preventDefault();
      this.options.choose(Number(number.parentElement.dataset.line), event.shiftKey);
    }
  }
}
