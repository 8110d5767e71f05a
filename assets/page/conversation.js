// A conversation: its turns, one after the other, and the box for what follows.

import { address, get, remove } from './api.js';
import { composer } from './composer.js';
import { save } from './copy.js';
import { confirmed } from './dialog.js';
import { counted, time } from './format.js';
import { fill, h } from './h.js';
import { announce, problem, waiting } from './notice.js';
import { go } from './router.js';
import { changed, on } from './state.js';
import { watch } from './stream.js';
import { Turn } from './turn.js';

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  fill(content, h('h1', null, 'Conversation'), waiting());
  const whole = await get(`/conversations/${encodeURIComponent(route.id)}`, signal);
  const turns = new Map();
  const list = h('div', { class: 'turns' });
  const told = {
    evidence: (turn, isAsked = false) => {
      const latest = [...turns.values()].findLast((one) => one.files.length > 0 || one.citations.length > 0);
      if (isAsked || turn === latest || latest === undefined) {
        changed('evidence', { turn: turn.id, files: turn.files, citations: turn.citations, isAsked });
      }
    },
    ended: (turn) => {
      if (turn.isLive) {
        changed('conversations');
      }
      // The answer comes to who has not scrolled away meanwhile.
      if (turn === asking?.turn && scrolled() === asking.at) {
        turn.element.scrollIntoView({ block: 'start' });
      }
    },
  };
  let asking = null;
  const add = (about) => {
    const turn = new Turn({ repository: whole.repository, ...about }, whole.id, told);
    turns.set(turn.id, turn);
    list.append(turn.element);
    return turn;
  };
  const follow = (turn) => {
    turn.live();
    const news = { frame: (frame) => turn.take(frame), lost: (is) => turn.lost(is) };
    watch(turn.id, turn.after, news, signal).catch((error) => {
      turn.close();
      fill(turn.failure, problem(error, () => {
        if (error.status === 404) {
          // The server was started again; the conversation says how the turn ended.
          location.reload();
          return;
        }
        fill(turn.failure);
        follow(turn);
      }));
    });
  };
  const addWhole = (about) => {
    const turn = add(about);
    about.frames.forEach((frame) => turn.take(frame));
    return turn;
  };
  whole.turns.forEach(addWhole);
  // What is asked in another tab, or by another page.
  on('listed', async (listed) => {
    const mine = listed.find((one) => one.id === whole.id);
    if (mine !== undefined && mine.turns > turns.size) {
      const now = await get(`/conversations/${encodeURIComponent(whole.id)}`, signal).catch(() => null);
      now?.turns.filter((one) => !turns.has(one.turnId)).map(addWhole).filter((turn) => turn.isRunning).forEach(follow);
    }
  }, signal);
  const asked = ({ turnId, modelId }, question) => {
    if (turns.has(turnId)) {
      return;
    }
    const turn = add({ turnId, modelId, question, askedAt: new Date().toISOString() });
    turn.element.scrollIntoView({ block: 'start' });
    asking = { turn, at: scrolled() };
    announce('Asked');
    follow(turn);
  };
  fill(content,
    h('h1', { class: 'conversation-title' }, whole.title),
    h('p', { class: 'row' },
      h('span', { class: 'about grow' }, counted(whole.turns.length, 'question'), ' · begun ', time(whole.createdAt)),
      exportButton(whole.id, 'markdown', 'md', 'Export Markdown'),
      exportButton(whole.id, 'json', 'json', 'Export JSON'),
      h('button', { type: 'button', class: 'plain', onclick: () => discard(whole) }, 'Delete')),
    list,
    composer({ conversation: whole.id, asked }));
  signal.addEventListener('abort', () => {
    turns.forEach((turn) => turn.close());
    changed('evidence', null);
  });
  const latest = [...turns.values()].findLast((turn) => turn.files.length > 0 || turn.citations.length > 0);
  if (latest !== undefined) {
    told.evidence(latest);
  }
  [...turns.values()].filter((turn) => turn.isRunning).forEach(follow);
  const toTurn = ({ query }) => {
    const turn = turns.get(query.get('turn') ?? '');
    turn?.element.scrollIntoView({ block: 'start' });
    return turn;
  };
  const linked = toTurn(route);
  if (linked !== undefined) {
    told.evidence(linked, true);
  } else if (turns.size > 1) {
    [...turns.values()].at(-1)?.element.scrollIntoView({ block: 'start' });
  }
  let shown = route.query.get('turn');
  return {
    title: whole.title,
    update: (next) => {
      if (next.query.get('turn') !== shown) {
        shown = next.query.get('turn');
        toTurn(next);
      }
    },
  };
}

/** How far the page is scrolled: its main part, or all of it where it is narrow. */
function scrolled() {
  return document.getElementById('main').scrollTop + document.documentElement.scrollTop;
}

function exportButton(id, format, extension, label) {
  const path = address(`/conversations/${encodeURIComponent(id)}/export`, { format });
  const click = () => save(path, `codeinfo-${id}.${extension}`).catch((error) => announce(error.message));
  return h('button', { type: 'button', class: 'plain', onclick: click }, label);
}

async function discard(whole) {
  const isSure = await confirmed('Delete this conversation?',
    `“${whole.title}” is removed from the disk, and what runs of it is stopped.`, 'Delete');
  if (!isSure) {
    return;
  }
  try {
    await remove(`/conversations/${encodeURIComponent(whole.id)}`);
  } catch (error) {
    announce(error.message);
    return;
  }
  changed('conversations');
  go('#/');
  announce('Conversation deleted');
}
