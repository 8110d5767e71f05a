// Shows a file at lines: what stands there, whether it is as it was cited, and where else it can be opened.

import { address, get } from './api.js';
import { copyButton } from './copy.js';
import { counted } from './format.js';
import { fill, h } from './h.js';
import { Lines } from './lines.js';
import { announce, problem, waiting } from './notice.js';
import { beside, go, link, place, shownUses, written } from './router.js';
import { on, pageConfig } from './state.js';
import { addressOf, certaintyBadge, placeText, symbolLink } from './symbols.js';
import { verdictOf } from './verdicts.js';

/** Lines that are asked for at once. */
const WINDOW = 1000;
const EDITORS = { vscode: 'VS Code', cursor: 'Cursor', idea: 'IDEA', zed: 'Zed' };
const STATES = {
  same: null,
  changed: 'The file changed since it was indexed. New lines are marked.',
  gone: 'The file is gone. It is shown as it was indexed.',
  unreadable: 'The file can no longer be read. It is shown as it was indexed.',
  elsewhere: 'The file is on another host. It is shown as it was indexed.',
};

/** Closes what uses a definition, and leads back to the lines. Returns whether it was open. */
export function closeUses() {
  const isOpen = shownUses() !== null && place() !== null;
  if (isOpen) {
    go(beside(place(), null));
    document.querySelector('.lines')?.focus();
  }
  return isOpen;
}

/** A file beside the page, or on its own. */
export class Source {
  /** @param {HTMLElement} element @param {{close?: () => void, signal?: AbortSignal}} [options] */
  constructor(element, { close, signal } = {}) {
    this.element = h('div', { class: 'source' });
    [this.uses, this.history] = ['Uses', 'History'].map((label) =>
      h('section', { class: 'uses', 'aria-label': label, tabindex: -1, hidden: true }));
    fill(element, this.element, this.uses, this.history);
    this.close = close;
    this.at = null;
    this.file = null;
    on('citations', () => this.file !== null && this.showVerdict(), signal);
  }

  /**
   * Opens a file at lines.
   * @param {import('./router.js').Place} at
   */
  async open(at) {
    const isSame = this.at !== null && this.file !== null
      && this.at.path === at.path && this.at.repository === at.repository && this.at.commit === at.commit;
    this.at = at;
    this.showUses(shownUses());
    if (isSame) {
      this.choose();
      return;
    }
    const hadFocus = this.lines !== null && this.lines?.element === document.activeElement;
    this.endFile();
    fill(this.element, this.head(at.path), waiting());
    const controller = new AbortController();
    this.controller = controller;
    try {
      const file = await this.read(at, controller.signal);
      if (!controller.signal.aborted) {
        this.show(file);
        if (hadFocus && document.activeElement === document.body) {
          this.lines.element.focus({ preventScroll: true });
        }
      }
    } catch (error) {
      if (!controller.signal.aborted) {
        fill(this.element, this.head(at.path), problem(error, () => this.open(this.at)));
      }
    }
  }

  /** Reads the lines that are shown again, and shows them where they are others by now. */
  async check() {
    const { file, at, controller } = this;
    if (file === null) {
      return;
    }
    try {
      const now = await this.read(at, controller.signal);
      if (this.file === file && this.at === at && this.isOther(now)) {
        this.lines.close();
        this.show(now);
      }
    } catch (error) {
      if (this.file === file) {
        fill(this.failed, problem(error, () => this.check()));
      }
    }
  }

  isOther({ first, total, state, lines }) {
    const isOther = (line, number) => this.known.has(number) && JSON.stringify(this.known.get(number)) !== JSON.stringify(line);
    return total !== this.file.total || state !== this.file.state || lines.some((line, index) => isOther(line, first + index));
  }

  /** Forgets the file, and what uses it. */
  end() {
    this.endFile();
    this.showUses(null);
  }

  endFile() {
    this.controller?.abort();
    this.lines?.close();
    this.file = null;
    this.lines = null;
    fill(this.element);
  }

  /** Reads the window of lines of a place. Where the file became shorter, the server shows its end. */
  read(at, signal) {
    return this.window(at, Math.floor(((at.first ?? 1) - 1) / WINDOW) * WINDOW + 1, signal);
  }

  window({ path, repository, commit }, first, signal) {
    return get(address('/source', { path, repository, commit, first, last: first + WINDOW - 1 }), signal);
  }

  show(file) {
    this.file = file;
    this.known = new Map();
    // Beyond the end of the file, the server shows its last line alone.
    this.asked = new Set((file.first - 1) % WINDOW === 0 ? [(file.first - 1) / WINDOW] : []);
    this.keep(file);
    const { path, repository, commit } = this.at;
    const chosen = (first, last) => go(beside({ path, repository, commit, first, last }), 'replace');
    const lines = new Lines({
      label: `Lines of ${file.relPath}`,
      total: file.total,
      line: (number) => this.known.get(number),
      need: (first, last) => this.need(first, last),
      href: (number) => beside({ path, repository, commit, first: number, last: number }),
      choose: (number, extend) => {
        const other = extend ? this.at.first ?? number : number;
        chosen(Math.min(number, other), Math.max(number, other));
      },
      chosen,
      // What a name of earlier lines meant is not known.
      follow: (name, isNewTab) => !commit && this.follow(name, isNewTab),
    });
    this.lines = lines;
    this.verdict = h('p', { class: 'verdict', role: 'status' });
    this.actions = h('p', { class: 'row actions' });
    this.failed = h('div');
    this.definitions = h('div', { class: 'definitions', role: 'status' });
    fill(this.element, this.head(file.relPath, file), this.verdict, this.actions, this.failed, this.definitions,
      file.total === 0 ? h('p', { class: 'empty' }, 'The file is empty.') : lines.element);
    this.choose();
    announce(`Opened ${written({ ...this.at, path: file.relPath })}`);
  }

  head(name, file) {
    const slash = name.lastIndexOf('/') + 1;
    return h('header', { class: 'source-head' },
      h('h2', { title: file?.path ?? name },
        h('span', { class: 'about' }, name.slice(0, slash)), name.slice(slash)),
      file && h('span', { class: 'about' }, `${file.repo} · ${counted(file.total, 'line')}`,
        file.language && ` · ${file.language}`),
      this.close && h('button', { type: 'button', class: 'plain', onclick: this.close }, 'Close'));
  }

  /** Opens where a name is defined. Several definitions and those that are only possible are listed. */
  async follow({ text, line, column }, isNewTab) {
    const { file, at: { path, repository }, lines } = this;
    const isByKey = document.activeElement === lines.element;
    try {
      const { definitions } = await get(address('/symbols/at', { path, line, column, repository }), this.controller.signal);
      if (this.file !== file) {
        return;
      }
      const [first] = definitions;
      if (definitions.length !== 1 || first.certainty === 'possible') {
        this.listDefinitions(text, definitions);
        if (isByKey && definitions.length > 0) {
          this.definitions.querySelector('a').focus();
        }
      } else if (isNewTab) {
        if (window.open(addressOf(first, null)) === null) {
          // The browser refused the tab.
          this.listDefinitions(text, definitions);
        }
      } else if (first.path === file.path && first.line === line) {
        go(addressOf(first, { of: `${first.path}:${line}`, repository: null, kind: 'callers' }));
        if (isByKey) {
          this.uses.focus({ preventScroll: true });
        }
      } else {
        go(addressOf(first, shownUses() && { ...shownUses(), of: `${first.path}:${first.line}`, repository: null }));
      }
    } catch (error) {
      if (this.file === file && error.name !== 'AbortError') {
        fill(this.failed, problem(error));
      }
    }
  }

  listDefinitions(text, definitions) {
    fill(this.definitions, definitions.length === 0
      ? h('p', { class: 'about' }, 'No definition of ', h('code', null, text), ' is known. ',
        h('a', { href: link(['search'], { q: text, at: written(this.at) }) }, 'Search for it'))
      : [h('p', { class: 'about' }, h('code', null, text), ' may be one of these definitions:'),
        h('ul', null, definitions.map((place) => h('li', null,
        symbolLink(place), ' ', placeText(place), ' ', certaintyBadge(place.certainty))))]);
  }

  /** Shows what uses a definition, the history of lines, or nothing. */
  async showUses(shown) {
    const isAsked = document.activeElement?.matches('[data-uses], [data-history]') === true;
    const isHistory = shown?.kind === 'history';
    this.uses.hidden = shown === null || isHistory;
    this.history.hidden = !isHistory;
    this.shownUses = shown;
    if (isAsked) {
      (isHistory ? this.history : this.uses).focus({ preventScroll: true });
    }
    if (isHistory) {
      const { HistoryPane } = await import('./history.js');
      this.historyPane ??= new HistoryPane(this.history, closeUses);
    } else if (shown !== null) {
      const { UsesPane } = await import('./uses.js');
      this.usesPane ??= new UsesPane(this.uses, closeUses);
    }
    if (shown === this.shownUses) {
      this.usesPane?.open(isHistory ? null : shown);
      this.historyPane?.open(isHistory ? shown : null);
    }
  }

  choose() {
    fill(this.definitions);
    const within = (line) => Math.min(line, this.file.total);
    this.lines.choose(this.at.ranges.map(({ first, last }) => ({ first: within(first), last: within(last) })));
    this.showVerdict();
    this.showActions();
  }

  showVerdict() {
    const { first, commit } = this.at;
    const verdict = commit ? null : verdictOf({ ...this.at, path: this.file.path, relPath: this.file.relPath });
    const beyond = first !== null && first > this.file.total
      ? `The file has only ${counted(this.file.total, 'line')}.` : null;
    const past = commit && `The file is shown as it was in the commit ${commit.slice(0, 10)}.`;
    const said = [verdict?.sentence, beyond, past ?? STATES[this.file.state]].filter((one) => one);
    this.verdict.dataset.state = verdict?.state ?? this.file.state;
    fill(this.verdict, said.join(' '));
    this.verdict.hidden = said.length === 0;
  }

  async showActions() {
    const { file, at } = this;
    const config = await pageConfig();
    if (this.file !== file || this.at !== at) {
      return;
    }
    const line = at.first ?? 1;
    const editor = config.editorLink
      ?.replaceAll('{path}', file.path.split('/').map(encodeURIComponent).join('/'))
      .replaceAll('{line}', String(line));
    // A commit that is not checked out has no file to open.
    fill(this.actions,
      file.onDisk && editor && h('a', { href: editor }, `Open in ${EDITORS[config.editor] ?? 'the editor'}`),
      at.first !== null && !at.commit && h('a', {
        href: beside(at, { of: `${file.path}:${at.first}`, repository: null, kind: 'callers' }), 'data-uses': true,
      }, 'What uses this'),
      at.commit ? [
        h('a', { href: link(['commit', file.repo, at.commit], { path: file.relPath }) }, 'The commit'),
        h('a', { href: beside({ path: file.relPath, repository: file.repo, first: null, last: null }, null) }, 'The file as it is'),
      ] : h('a', {
        href: beside(at, { of: written({ path: file.relPath, first: at.first, last: at.last }), repository: file.repo, kind: 'history' }),
        'data-history': true,
      }, at.first === null ? 'History' : 'History of these lines'),
      file.onDisk && copyButton('Copy path', () => written({ ...at, path: file.path })),
      file.permalink && (['same', 'committed'].includes(file.state) ? this.permalink(at)
        : h('span', { class: 'about' }, 'No permalink: the commit may have other lines.')));
    this.actions.hidden = !this.actions.hasChildNodes();
  }

  permalink({ first, last }) {
    const anchor = first === null ? '' : (this.file.lineAnchor ?? '')
      .replaceAll('{first}', String(first)).replaceAll('{last}', String(last));
    const href = this.file.permalink + anchor;
    return /^https?:\/\//i.test(href)
      && h('a', { href, rel: 'noopener noreferrer', target: '_blank' }, 'Permalink');
  }

  keep(file) {
    file.lines.forEach((line, at) => this.known.set(file.first + at, line));
  }

  /** Asks for the windows of lines that are seen and not there yet. */
  need(first, last) {
    for (let at = Math.floor((first - 1) / WINDOW); at <= Math.floor((last - 1) / WINDOW); at += 1) {
      if (!this.asked.has(at)) {
        this.asked.add(at);
        const { file } = this;
        const { signal } = this.controller;
        this.window(this.at, at * WINDOW + 1, signal).then((more) => {
          if (this.file !== file) {
            return;
          }
          if (more.total !== file.total || more.state !== file.state) {
            // It was written meanwhile: lines of two states would stand side by side.
            this.file = null;
            this.open(this.at);
            return;
          }
          fill(this.failed);
          this.keep(more);
          this.lines.soon();
        }, (error) => {
          if (this.file === file && !signal.aborted) {
            // Asked for again when the lines are seen the next time.
            this.asked.delete(at);
            fill(this.failed, problem(error, () => this.lines.soon()));
          }
        });
      }
    }
  }
}
