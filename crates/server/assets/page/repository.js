// One repository: what is in its index, how the last run went, and what was skipped and why.

import { get } from './api.js';
import { bytes, count, counted, duration, time } from './format.js';
import { fill, h, renew } from './h.js';
import { problem, sentenced, waiting } from './notice.js';
import { actions } from './repository-actions.js';
import { isActive, runPanel, stateInWords } from './run.js';
import { on, refreshRepositories } from './state.js';

const WATCHING = { watching: 'Changes are indexed as they happen', off: 'Off', failed: 'Failed' };

/**
 * Shows a repository.
 * @param {HTMLElement} content
 * @param {string} name
 * @param {AbortSignal} signal
 */
export async function one(content, name, signal) {
  fill(content, h('h1', null, name), waiting());
  const path = `/repositories/${encodeURIComponent(name)}`;
  const parts = { facts: h('div'), actions: h('div'), run: h('div'), more: h('div'), failed: h('div') };
  let run = null;
  const show = (root) => {
    renew(parts.facts, root, () => facts(root));
    renew(parts.actions, [root.name, root.path, root.runId ?? null],
      () => actions(root, isActive(root.state) || Boolean(root.runId)));
    if (root.runId && root.runId !== run) {
      run = root.runId;
      fill(parts.run, runPanel(run, root.name, () => refreshRepositories().catch(() => {}), signal));
    }
    renew(parts.more, [root.languages, root.lastRun, root.leftOut],
      () => [languages(root.languages ?? []), root.lastRun ? lastRun(root.lastRun) : noRun(), leftOut(root.leftOut ?? [])]);
  };
  const load = async () => {
    try {
      const root = await get(path, signal);
      fill(parts.failed);
      show(root);
    } catch (error) {
      if (!signal.aborted) {
        fill(parts.failed, problem(error, load));
      }
    }
  };
  const root = await get(path, signal);
  fill(content, h('h1', null, root.name), parts.failed, parts.facts, parts.actions, parts.run, parts.more);
  show(root);
  let known = JSON.stringify([root.runId, root.state, root.lastIngestAt]);
  on('repositories', (roots) => {
    const mine = roots.find((other) => other.id === root.id);
    const now = JSON.stringify([mine?.runId, mine?.state, mine?.lastIngestAt]);
    if (mine !== undefined && now !== known) {
      known = now;
      load();
    }
  }, signal);
  return { title: root.name };
}

function facts(root) {
  const size = root.bytes === null || root.bytes === undefined
    ? 'unknown' : `${root.bytesEstimated ? 'about ' : ''}${bytes(root.bytes)}`;
  const watch = root.watch
    ? `${WATCHING[root.watch.state] ?? root.watch.state}${root.watch.reason ? `: ${root.watch.reason}` : ''}` : 'unknown';
  const rows = [
    ['Folder', h('code', null, root.path)],
    root.description && ['Description', root.description],
    ['State', stateInWords(root.state)],
    root.lastError && ['Last error', sentenced(root.lastError)],
    ['Indexed', time(root.lastIngestAt)],
    ['In the index', `${counted(root.counts.files, 'file')}, ${counted(root.counts.chunks, 'chunk')}`],
    ['Size on disk', size],
    ['Watching', watch],
    ['Embedding model', h('code', null, root.modelId)],
  ];
  return list(rows);
}

function list(rows) {
  return h('dl', { class: 'facts-list' }, rows.filter((row) => row).map(([name, value]) => [
    h('dt', null, name), h('dd', null, value)]));
}

/** The languages as bars, whose figures stand beside them. */
function languages(all) {
  if (all.length === 0) {
    return null;
  }
  const most = Math.max(...all.map((language) => language.chunks), 1);
  return h('section', { 'aria-labelledby': 'languages' },
    h('h2', { id: 'languages' }, 'Languages'),
    h('ul', { class: 'bars' }, all.map(({ language, files, chunks }) => {
      const bar = h('span', { class: 'bar-line' });
      bar.style.width = `${(100 * chunks) / most}%`;
      return h('li', null, h('span', null, language ?? 'no language'), bar,
        h('span', { class: 'about' }, `${counted(files, 'file')} · ${counted(chunks, 'chunk')}`));
    })));
}

function noRun() {
  return h('section', { 'aria-labelledby': 'last-run' },
    h('h2', { id: 'last-run' }, 'Last run'),
    h('p', { class: 'about' }, 'No run has ended since the server started. Index it again to see which files are skipped, and why.'));
}

function lastRun(run) {
  const took = Date.parse(run.endedAt) - Date.parse(run.startedAt);
  const counts = run.counts ?? {};
  const rows = [
    ['Outcome', stateInWords(run.state)],
    run.startedAt && ['Began', time(run.startedAt)],
    Number.isFinite(took) && ['Took', duration(took)],
    ['Embedded', counted(counts.embedded ?? 0, 'chunk')],
    counts.deleted > 0 && ['Removed', counted(counts.deleted, 'file')],
    run.message && ['Message', sentenced(run.message)],
  ];
  return h('section', { 'aria-labelledby': 'last-run' },
    h('h2', { id: 'last-run' }, 'Last run'), list(rows), skipped(run));
}

function skipped({ skipped: files = [], skippedTotal = files.length }) {
  if (files.length === 0) {
    return h('p', { class: 'about' }, 'No file was skipped.');
  }
  const rest = skippedTotal - files.length;
  return h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Skipped files' }, h('table', null,
    h('caption', null, `${counted(skippedTotal, 'file')} skipped`),
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'File'), h('th', { scope: 'col' }, 'Why'))),
    h('tbody', null, files.map((file) => h('tr', null, h('td', null, h('code', null, file.path)), h('td', null, file.reason))),
      rest > 0 && h('tr', null, h('td', { colspan: 2 }, `and ${count(rest)} more, which the server did not list`)))));
}

/** What rules leave out of the index, a row for each. */
function leftOut(rules) {
  if (rules.length === 0) {
    return null;
  }
  const counts = ({ files, folders }) => [folders > 0 && counted(folders, 'folder'), files > 0 && counted(files, 'file')]
    .filter((part) => part).join(' and ');
  const paths = ({ files, folders, examples }) => [examples.flatMap((path) => [h('code', null, path), ' ']),
    examples.length < files + folders && '…'];
  const head = ['Why', 'How many', 'Such as'].map((name) => h('th', { scope: 'col' }, name));
  return h('section', { 'aria-labelledby': 'left-out' },
    h('h2', { id: 'left-out' }, 'Left out'),
    h('p', { class: 'about' }, 'A line ', h('code', null, '!vendor/'), ' in ', h('code', null, '.codeinfoignore'),
      ' brings a folder or file in, except for secrets and what is no text.'),
    h('div', { class: 'wide', role: 'group', tabindex: 0, 'aria-label': 'Left out by rule' }, h('table', null,
      h('thead', null, h('tr', null, head)),
      h('tbody', null, rules.map((rule) => h('tr', null,
        h('td', null, rule.reason), h('td', null, counts(rule)), h('td', null, paths(rule))))))));
}
