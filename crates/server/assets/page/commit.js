// A commit: its message, what it is, and the files that it changed.

import { address, get } from './api.js';
import { copyButton } from './copy.js';
import { changeWord, commitAddress, commitBadges, lazyChange, lineCounts, shortId } from './diff.js';
import { count, counted } from './format.js';
import { fill, h, mayLead } from './h.js';
import { empty, sentenced, waiting } from './notice.js';
import { rangesOf } from './router.js';

/** Files that are opened at once, where there are no more of them. */
const OPENED = 3;

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, { id: repo, part: name, query }, signal) {
  if (repo === null || name === null) {
    fill(content, h('h1', null, 'Commit'), empty('No commit is named.', h('a', { href: '#/search' }, 'Search the code')));
    return { title: 'Commit' };
  }
  fill(content, h('h1', null, `Commit ${shortId(name)}`), waiting());
  const { commits: [commit], stop } = await get(address('/symbols/history', { commit: name, repository: repo }), signal);
  const { subject, message, isMessageCut, files } = commit;
  const [meant = null] = rangesOf(`${query.get('first') ?? ''}-${query.get('last') ?? query.get('first') ?? ''}`);
  let shown = query.get('path');
  const list = h('ul', { class: 'changes' }, files.listed.map((file) => h('li', null,
    fileChange({ repo, id: commit.id, signal, lines: file.path === shown ? meant : null }, file))));
  fill(content,
    h('h1', { class: 'commit-subject' }, subject || 'No message'),
    facts(repo, commit),
    message && h('p', { class: 'commit-message' }, message),
    isMessageCut && h('p', { class: 'about' }, 'The rest of the message is left out.'),
    h('section', { 'aria-labelledby': 'changed-files' },
      h('h2', { id: 'changed-files' }, summary(files)),
      notes(files, stop, commit).map((note) => h('p', { class: 'about' }, note)), list));
  const open = (path) => {
    const found = files.listed.findIndex((file) => file.path === path);
    const details = list.children[found]?.firstChild;
    if (details) {
      details.open = true;
      details.scrollIntoView({ block: 'nearest' });
    }
  };
  if (files.listed.length <= OPENED) {
    [...list.children].forEach((item) => { item.firstChild.open = true; });
  }
  open(shown);
  return {
    title: `${subject || 'Commit'} · ${shortId(commit.id)}`,
    update: (route) => {
      if (route.query.get('path') !== shown) {
        shown = route.query.get('path');
        open(shown);
      }
    },
  };
}

function facts(repo, commit) {
  const { id, author, date, parents, parentCount, reverts, forgeUrl } = commit;
  const to = (other) => [h('a', { href: commitAddress(repo, other) }, h('code', null, shortId(other))), ' '];
  const badges = commitBadges({ parentCount });
  const rows = [
    ['Commit', [h('code', null, id), ' ', copyButton('Copy', () => id), ' ', badges]],
    ['Repository', h('a', { href: `#/repositories/${encodeURIComponent(repo)}` }, repo)],
    author && ['Author', author],
    ['Date', date],
    parents.length > 0 && [parentCount === 1 ? 'Parent' : 'Parents',
      [parents.map(to), parentCount > parents.length && `and ${count(parentCount - parents.length)} more`]],
    reverts && ['Reverts', [to(reverts), h('span', { class: 'about' }, 'as the message says')]],
    forgeUrl && mayLead(forgeUrl)
      && ['Elsewhere', h('a', { href: forgeUrl, rel: 'noopener noreferrer', target: '_blank' }, 'On its forge')],
  ];
  return h('dl', { class: 'facts-list' }, rows.filter((row) => row).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

function summary({ count: total, listed }) {
  const [added, removed] = [0, 1].map((at) => listed.reduce((sum, { lines }) => sum + (lines?.[at] ?? 0), 0));
  return `${counted(total, 'file')} changed ${lineCounts([added, removed])}`;
}

function notes({ count: total, listed, hidden }, stop, { parentCount, files }) {
  const rest = total - hidden - listed.length;
  return [
    parentCount > 1 && 'Compared with the first parent: the other ones brought these changes.',
    files.count === 0 && parentCount < 2 && stop === null && 'The commit changed no file.',
    hidden > 0 && `${counted(hidden, 'file')} not shown: left out of the index.`,
    rest > 0 && `${counted(rest, 'file')} more not listed.`,
    stop && sentenced(stop),
  ].filter((note) => note);
}

function fileChange(shown, file) {
  const { path, oldPath, lines } = file;
  return lazyChange({ ...shown, path }, [
    h('span', { class: 'badge' }, changeWord(file)), ' ', oldPath && [h('code', null, oldPath), ' → '], h('code', null, path), ' ',
    h('span', { class: 'about' }, lineCounts(lines) || 'lines not counted')]);
}
