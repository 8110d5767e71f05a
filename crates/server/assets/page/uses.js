// Shows what calls a definition, what it calls, and its other relations, below the source.

import { address, get } from './api.js';
import { counted } from './format.js';
import { fill, h } from './h.js';
import { announce, empty, problem, waiting } from './notice.js';
import { beside, go, place } from './router.js';
import { certaintyBadge, linkProps, nameOf, placeText, symbolLink } from './symbols.js';

/** The relations, each with the word for one. */
const KINDS = {
  callers: 'caller', callees: 'callee', implementations: 'implementation', overrides: 'override', importers: 'importer',
};

/** The relations of one definition. */
export class UsesPane {
  /** @param {HTMLElement} element @param {() => void} close */
  constructor(element, close) {
    this.element = element;
    this.title = h('h3');
    this.kind = h('select', { name: 'uses-kind', 'aria-label': 'Relation', onchange: () => this.chooseKind() },
      Object.keys(KINDS).map((kind) => h('option', { value: kind }, kind)));
    this.past = h('span');
    this.summary = h('p', { class: 'about', role: 'status' });
    this.list = h('div');
    this.picture = h('details', { ontoggle: () => this.drawPicture() }, h('summary', { class: 'about' }, 'Picture of the calls'));
    this.drawing = h('div');
    this.picture.append(this.drawing);
    fill(element, h('div', { class: 'row' }, this.title, this.past, this.kind,
      h('button', { type: 'button', class: 'plain', onclick: close }, 'Close uses')),
    this.summary, this.picture, this.list);
  }

  chooseKind() {
    go(beside(place(), { ...this.shown, kind: this.kind.value }), 'replace');
  }

  /**
   * Shows a relation of a definition; `null` ends it.
   * @param {import('./router.js').ShownUses | null} shown
   */
  async open(shown) {
    const key = JSON.stringify(shown);
    if (key === this.key) {
      return;
    }
    this.key = key;
    this.shown = shown;
    this.controller?.abort();
    if (shown === null) {
      return;
    }
    const controller = new AbortController();
    this.controller = controller;
    const { of, repository } = shown;
    const kind = Object.hasOwn(KINDS, shown.kind) ? shown.kind : 'callers';
    fill(this.title, 'Uses of ', h('code', null, of));
    fill(this.past);
    this.kind.value = kind;
    this.summary.textContent = '';
    fill(this.list, waiting());
    this.drawPicture();
    try {
      const relations = await get(address('/symbols', { name: of, kind, repository }), controller.signal);
      if (!controller.signal.aborted) {
        this.show(relations);
      }
    } catch (error) {
      if (!controller.signal.aborted) {
        this.key = null;
        fill(this.list, problem(error, () => this.open(shown)));
      }
    }
  }

  show({ definitions, related, more, kind, isIncomplete }) {
    const [only] = definitions.length === 1 ? definitions : [];
    fill(this.title, 'Uses of ', h('code', null, only === undefined ? this.shown.of : nameOf(only)));
    fill(this.past, only && h('a', {
      href: beside(place(), { of: `${only.relPath}:${only.lines.join('-')}`, repository: only.repo, kind: 'history' }), 'data-history': true,
    }, 'Its history'));
    const tests = related.filter((symbol) => symbol.isTest);
    const total = related.length + more;
    const sentences = [
      definitions.length > 0 && `${total === 0 ? `No ${kind} found` : counted(total, KINDS[kind])}${tests.length > 0 ? `, ${tests.length} in tests` : ''}.`,
      more > 0 && `${more} of them are not listed.`,
      isIncomplete && 'Some files were not read, so that there may be more.',
    ].filter((sentence) => sentence);
    this.summary.textContent = sentences.join(' ');
    announce(this.summary.textContent);
    const others = related.filter((symbol) => !symbol.isTest);
    fill(this.list,
      definitions.length === 0 && empty('No definition of this name is known. Relations are known for some languages only.'),
      definitions.length > 1 && this.listDefinitions(definitions, kind),
      others.length > 0 && listSymbols(others),
      tests.length > 0 && [h('h4', null, 'In tests'), listSymbols(tests)]);
    if (document.activeElement === this.element) {
      this.list.querySelector('[data-item]')?.focus({ preventScroll: true });
    }
  }

  /** Lists the definitions that a name has, each with a link to its own uses. */
  listDefinitions(definitions, kind) {
    const usesOf = ({ path, line }) => beside(place(), { of: `${path}:${line}`, repository: null, kind });
    return [h('p', { class: 'about' }, `${definitions.length} definitions have this name. Show only:`),
      h('ul', { class: 'about' }, definitions.map((one) => h('li', null,
        h('a', { href: usesOf(one), 'data-item': true }, h('code', null, nameOf(one))), ' ', placeText(one))))];
  }

  async drawPicture() {
    const { of, repository } = this.shown ?? {};
    const key = JSON.stringify([of, repository]);
    if (!this.picture.open || of === undefined || this.drawn === key) {
      return;
    }
    this.drawn = key;
    fill(this.drawing, waiting('Drawing'));
    try {
      const trace = (direction) => get(address('/symbols/trace', { from: of, direction, depth: 2, repository }));
      const [{ drawNeighbourhood }, callers, callees] = await Promise.all([
        import('./neighbourhood.js'), trace('callers'), trace('callees'),
      ]);
      if (this.drawn === key) {
        fill(this.drawing, drawNeighbourhood(callers, callees));
      }
    } catch (error) {
      if (this.drawn === key) {
        this.drawn = null;
        fill(this.drawing, problem(error, () => this.drawPicture()));
      }
    }
  }
}

function listSymbols(symbols) {
  return h('ul', null, symbols.map((symbol) => h('li', { class: 'use', 'data-certainty': symbol.certainty },
    h('p', null, symbolLink(symbol), ' ', placeText(symbol), ' ', certaintyBadge(symbol.certainty)),
    h('ul', null, symbol.references.map((reference) => listReference(symbol, reference))),
    symbol.count > symbol.references.length && h('p', { class: 'about' }, `${counted(symbol.count, 'reference')} in all`))));
}

function listReference({ referencesIn, certainty }, reference) {
  return h('li', null, h('a', linkProps(referencesIn, reference.number), reference.number), ' ',
    h('code', null, reference.text), ' ', reference.certainty !== certainty && certaintyBadge(reference.certainty));
}
