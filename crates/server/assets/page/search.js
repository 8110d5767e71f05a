// Search as one types: by repository and language, grouped by file, with the code.

import { get, post } from './api.js';
import { count, counted } from './format.js';
import { showCommits, showResults } from './found.js';
import { fill, h } from './h.js';
import { capital, empty, problem } from './notice.js';
import { go, link, route as current } from './router.js';
import { repositories } from './state.js';

const WAIT_MS = 120;
const FIRST = 40;
const MOST = 1000;
const MOST_COMMITS = 50;
/** Repositories whose languages are asked for when the list is opened. */
const ASKED = 8;

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  const search = new Search(signal);
  fill(content, h('h1', null, 'Search'), search.form, search.summary, search.results);
  search.take(route.query);
  if (!matchMedia('(pointer: coarse)').matches) {
    search.field.focus({ preventScroll: true });
  }
  return { title: 'Search', update: ({ query }) => search.take(query) };
}

class Search {
  constructor(signal) {
    this.signal = signal;
    this.shown = null;
    this.timer = null;
    this.found = Promise.resolve();
    this.field = h('input', {
      id: 'search', type: 'search', 'data-field': true, autocomplete: 'off', spellcheck: 'false', maxlength: 8192,
      oninput: () => this.soon(), onkeydown: (event) => this.key(event),
    });
    this.repository = h('select', { id: 'search-repository', onchange: () => this.write() },
      h('option', { value: '' }, 'All'));
    this.language = h('select', {
      id: 'search-language', onchange: () => this.write(), onfocus: () => this.askLanguages(),
    }, h('option', { value: '' }, 'All'));
    this.what = h('select', { id: 'search-what', onchange: () => this.write() },
      h('option', { value: '' }, 'Code'), h('option', { value: 'commits' }, 'Commits'));
    this.form = h('form', { class: 'search-form', role: 'search', onsubmit: (event) => event.preventDefault() },
      field('Words, names, or a question', this.field), field('Repository', this.repository),
      field('Language', this.language), field('In', this.what));
    this.summary = h('p', { class: 'about', role: 'status' });
    this.results = h('div', { class: 'results', 'aria-label': 'Results', role: 'region', tabindex: -1 });
    signal.addEventListener('abort', () => {
      clearTimeout(this.timer);
      this.running?.abort();
    });
    repositories().then((roots) => {
      roots.forEach((one) => offer(this.repository, one.name));
    }, () => {});
  }

  /** Shows what the address says. */
  take(query) {
    const words = query.get('q') ?? '';
    const [repository, language] = [query.get('repository') ?? '', query.get('language') ?? ''];
    const limit = Math.min(MOST, Math.max(1, Number(query.get('n')) || FIRST));
    if (this.field.value.trim() !== words) {
      this.field.value = words;
    }
    offer(this.repository, repository);
    offer(this.language, language);
    this.repository.value = repository;
    this.language.value = language;
    const isOfCommits = query.get('what') === 'commits';
    this.what.value = isOfCommits ? 'commits' : '';
    this.language.disabled = isOfCommits;
    const key = JSON.stringify([words, repository, language, limit, isOfCommits]);
    if (key !== this.shown) {
      this.shown = key;
      this.found = this.run({ query: words, repository, language, limit, isOfCommits });
    }
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), WAIT_MS);
  }

  /** Writes what is looked for into the address, from which it is read. */
  write(n) {
    clearTimeout(this.timer);
    this.timer = null;
    const [q, repository, language] = [this.field.value.trim(), this.repository.value, this.language.value];
    const at = current().query.get('at');
    go(link(['search'], { q, repository, language, what: this.what.value, n, at }), 'replace');
  }

  async run({ query, repository, language, limit, isOfCommits }) {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    if (query === '') {
      this.summary.textContent = '';
      fill(this.results, empty('Write what to search for: words, the name of a function, or a question.'));
      return;
    }
    const body = { query, limit };
    if (repository !== '') {
      body.repository = repository;
    }
    if (isOfCommits) {
      Object.assign(body, { in: 'history', limit: Math.min(limit, MOST_COMMITS) });
    } else if (language !== '') {
      body.languages = [language];
    }
    try {
      const found = await post('/search', body, running.signal);
      if (!running.signal.aborted) {
        isOfCommits ? this.showCommits(found) : this.show(found, limit, running.signal);
      }
    } catch (error) {
      if (!running.signal.aborted) {
        this.summary.textContent = '';
        fill(this.results, problem(error, () => {
          this.found = this.run({ query, repository, language, limit, isOfCommits });
        }));
      }
    }
  }

  showCommits({ commits, notes }) {
    this.summary.textContent = [
      commits.length === 0 ? 'No commit was found.' : `${counted(commits.length, 'commit')}, best first.`,
      ...notes.map((note) => `${capital(note)}.`),
    ].join(' ');
    showCommits(this.results, commits);
  }

  show({ results, absent }, limit, signal) {
    const files = new Set(results.map((one) => one.path)).size;
    const missing = absent?.length > 0 ? ` Not in the index: ${absent.join(', ')}.` : '';
    this.summary.textContent = results.length === 0
      ? `Nothing was found.${missing}`
      : `${counted(results.length, 'result')} in ${counted(files, 'file')}.${missing}`;
    results.forEach((one) => one.language && offer(this.language, one.language));
    if (results.length === 0) {
      fill(this.results, empty('Try fewer or other words, or search in all repositories and languages.',
        h('a', { href: link([], { q: this.field.value.trim() }) }, 'Ask it as a question')));
      return;
    }
    const more = results.length >= limit && limit < MOST
      ? h('p', { class: 'row' }, h('button', { type: 'button', onclick: () => this.showMost() },
        `Show up to ${count(MOST)}`))
      : null;
    showResults(this.results, results, more, signal);
  }

  /** Shows all; the button that was pressed goes, and the focus with it into the results. */
  showMost() {
    this.results.focus({ preventScroll: true });
    this.write(MOST);
  }

  /** Leads from the field into the results, once they are those of what stands in it. */
  async key(event) {
    if ((event.key !== 'Enter' && event.key !== 'ArrowDown') || event.isComposing) {
      return;
    }
    event.preventDefault();
    if (this.timer !== null) {
      this.write();
    }
    const { found } = this;
    await found;
    if (found === this.found && this.timer === null && document.activeElement === this.field) {
      this.results.querySelector('[data-item]')?.focus();
    }
  }

  async askLanguages() {
    if (this.isAsked) {
      return;
    }
    this.isAsked = true;
    const roots = await repositories().catch(() => []);
    const chosen = roots.filter((one) => this.repository.value === '' || one.name === this.repository.value);
    const about = chosen.slice(0, ASKED).map((one) =>
      get(`/repositories/${encodeURIComponent(one.name)}`, this.signal).catch(() => ({ languages: [] })));
    for (const { languages } of await Promise.all(about)) {
      languages.forEach((one) => one.language && offer(this.language, one.language));
    }
  }
}

function field(label, input) {
  return h('p', { class: 'field' }, h('label', { for: input.id }, label), input);
}

/** Adds a choice in its place of the alphabet, unless it is there. */
function offer(select, value) {
  const options = [...select.options];
  if (value !== '' && !options.some((option) => option.value === value)) {
    const next = options.find((option) => option.value !== '' && option.value > value);
    select.insertBefore(h('option', { value }, value), next ?? null);
  }
}
