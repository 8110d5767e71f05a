// Shows the lines of a file, of which only those that are seen stand in the document.

import { fill, h } from './h.js';
import { marked, width } from './marks.js';
import { findNameAtPoint, findSelectedName, listNames } from './names.js';
import { announce } from './notice.js';

/** Height of a line in pixels, which the style takes from here. */
export const LINE_PX = 20;
/** Lines above and below those that are seen. */
const MARGIN = 20;
/** After so long without a key, what is chosen is written into the address. */
const KEY_MS = 200;

/**
 * @typedef {{text: string, marks?: [number, number, string][], changed?: boolean}} Line
 */

/** A list of lines that scrolls. */
export class Lines {
  /**
   * @param {{label: string, total: number, line: (number: number) => Line | undefined,
   *   need: (first: number, last: number) => void, href: (number: number) => string,
   *   choose: (number: number, extend: boolean) => void, chosen: (first: number, last: number) => void,
   *   follow: (name: import('./names.js').Name, isNewTab: boolean) => void}} options
   */
  constructor(options) {
    this.options = options;
    this.rows = new Map();
    this.ranges = [];
    this.widest = 0;
    this.inner = h('div', { class: 'lines-inner' });
    this.inner.style.height = `${options.total * LINE_PX}px`;
    this.element = h('div', {
      class: 'lines code', role: 'region', tabindex: 0, 'aria-label': options.label,
      onscroll: () => this.soon(), onclick: (event) => this.click(event), onkeydown: (event) => this.key(event),
      onauxclick: (event) => event.button === 1 && this.followClick(event),
      onpointermove: (event) => this.point(event), onpointerleave: () => this.point(null),
      // A press of the middle button would begin to scroll.
      onmousedown: (event) => event.button === 1 && findNameAtPoint(event) !== null && event.preventDefault(),
    }, this.inner);
    this.element.style.setProperty('--line', `${LINE_PX}px`);
    this.element.style.setProperty('--gutter', `${String(options.total).length}ch`);
    this.observer = new ResizeObserver(() => this.soon());
    this.observer.observe(this.element);
  }

  /** Ends what goes on by itself. */
  close() {
    this.observer.disconnect();
    clearTimeout(this.timer);
  }

  /**
   * Marks lines, and scrolls to the first ones if they are others than before.
   * @param {{first: number, last: number}[]} ranges
   */
  choose(ranges) {
    const isNew = JSON.stringify(ranges) !== JSON.stringify(this.ranges);
    this.ranges = ranges;
    if (isNew && ranges.length > 0) {
      const [{ first, last }] = ranges;
      const height = this.element.clientHeight;
      const [top, bottom] = [(first - 1) * LINE_PX, last * LINE_PX];
      const above = Math.max(LINE_PX * 3, (height - (bottom - top)) / 3);
      if (top < this.element.scrollTop + LINE_PX || bottom > this.element.scrollTop + height - LINE_PX) {
        this.element.scrollTop = Math.max(0, top - above);
      }
    }
    // What is selected in lines that stay is kept.
    if (isNew || this.rows.size === 0) {
      this.clear();
    }
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
    const isChosen = this.ranges.some(({ first, last }) => first <= number && number <= last);
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

  /** Chooses lines by the arrows: the next one or the one before, and with Shift one more or one less. */
  key(event) {
    if (event.target === this.element && this.actOnName(event)) {
      event.preventDefault();
      return;
    }
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) {
      return;
    }
    event.preventDefault();
    const to = this.moved(by);
    if (!event.shiftKey || this.from === undefined) {
      this.from = to;
    }
    this.to = to;
    const [first, last] = [Math.min(this.from, to), Math.max(this.from, to)];
    this.ranges = [{ first, last }];
    this.clear();
    this.reveal(to);
    announce(first === last ? `Line ${first}` : `Lines ${first} to ${last}`);
    // A browser writes only so many addresses in a while.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.options.chosen(first, last), KEY_MS);
  }

  /** The line after or before the one that was chosen last; from nowhere, the first that is seen. */
  moved(by) {
    const [range] = this.ranges;
    if (range === undefined) {
      this.from = undefined;
      return Math.min(this.options.total, Math.ceil(this.element.scrollTop / LINE_PX) + 1);
    }
    const isKnown = range.first === Math.min(this.from, this.to) && range.last === Math.max(this.from, this.to);
    if (!isKnown) {
      this.from = range.first;
      this.to = by > 0 ? range.last : range.first;
    }
    return Math.max(1, Math.min(this.options.total, this.to + by));
  }

  reveal(number) {
    const [top, height] = [(number - 1) * LINE_PX, this.element.clientHeight];
    if (top - LINE_PX < this.element.scrollTop) {
      this.element.scrollTop = Math.max(0, top - LINE_PX);
    } else if (top + LINE_PX * 2 > this.element.scrollTop + height) {
      this.element.scrollTop = top + LINE_PX * 2 - height;
    }
  }

  click(event) {
    const number = event.target.closest('.number');
    if (number !== null && !event.ctrlKey && !event.metaKey && event.button === 0) {
      event.preventDefault();
      this.options.choose(Number(number.parentElement.dataset.line), event.shiftKey);
    } else if (number === null && event.detail < 2 && !event.shiftKey && !event.altKey && getSelection().isCollapsed) {
      this.followClick(event);
    }
  }

  followClick(event) {
    const name = findNameAtPoint(event);
    if (name !== null) {
      event.preventDefault();
      this.options.follow(name, event.button === 1 || event.ctrlKey || event.metaKey);
    }
  }

  /** Underlines the name that is pointed at. */
  point(event) {
    const name = event?.pointerType === 'mouse' && event.buttons === 0 ? findNameAtPoint(event) : null;
    this.element.classList.toggle('on-name', name !== null);
    if (name === null) {
      CSS.highlights?.delete('name');
    } else {
      CSS.highlights?.set('name', new Highlight(name.range));
    }
  }

  /** Goes through the names of a line by `h` and `l`, and follows one by `Enter` or `o`. */
  actOnName({ key, ctrlKey, metaKey, altKey }) {
    const isNewTab = ctrlKey || metaKey;
    const isEnter = key === 'Enter' || (key === 'o' && !isNewTab);
    const by = isNewTab ? undefined : { h: -1, l: 1 }[key];
    if (altKey || (by === undefined && !isEnter)) {
      return false;
    }
    const selected = findSelectedName(this.inner);
    const row = this.rows.get(selected?.line ?? this.ranges[0]?.first);
    const names = row === undefined ? [] : listNames(row);
    const at = names.findIndex(({ column }) => column === selected?.column);
    const name = names[at < 0 ? 0 : Math.max(0, Math.min(names.length - 1, at + (by ?? 0)))];
    if (name !== undefined && isEnter) {
      this.options.follow(name, isNewTab);
    } else if (name !== undefined) {
      getSelection().removeAllRanges();
      getSelection().addRange(name.range);
      const [box, frame] = [name.range.getBoundingClientRect(), this.element.getBoundingClientRect()];
      if (box.left < frame.left || box.right > frame.right) {
        this.element.scrollLeft += box.left - frame.left - frame.width / 3;
      }
      announce(name.text);
    }
    return true;
  }
}
