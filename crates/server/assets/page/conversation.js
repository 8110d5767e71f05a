// A conversation: its turns, one after the other, and the box for what follows.

import { address, get, remove } from './api.js';
import { composer } from './composer.js';
import { save } from './copy.js';
import { confirmed } from './dialog.js';
import { counted, time } from './format.js';
import { fill, h } from './h.js';
import { announce, problem, waiting } from './notice.js';
import { go } from './router.js';
import { scrolled } from './scroll.js';
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
  const questions = h('span');
  const told = {
    evidence: (turn, isAsked = false) => {
      const latest = [...turns.values()].findLast((one) => one.files.length > 0 || one.citations.length > 0);
      changed('citations', [...turns.values()].reverse().flatMap((one) => one.citations));
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
    const turn = new Turn(about, whole.id, told);
    turns.set(turn.id, turn);
    list.append(turn.element);
    fill(questions, counted(turns.size, 'question'));
    return turn;
  };
  const followed = new Set();
  // A browser has few connections to a server, which its tabs share: one that is not seen has no stream.
  let seen = new AbortController();
  const listen = (turn) => {
    const stop = AbortSignal.any([signal, seen.signal]);
    const news = { frame: (frame) => turn.take(frame), lost: (is) => turn.lost(is) };
    watch(turn.id, turn.after, news, stop).catch((error) => {
      followed.delete(turn);
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
  const follow = (turn) => {
    turn.live();
    followed.add(turn);
    if (!document.hidden) {
      listen(turn);
    }
  };
  document.addEventListener('visibilitychange', () => {
    seen.abort();
    seen = new AbortController();
    followed.forEach((turn) => {
      if (!turn.isRunning) {
        followed.delete(turn);
      } else if (!document.hidden) {
        turn.lost(false);
        listen(turn);
      }
    });
  }, { signal });
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
  const failed = h('div');
  const act = (label, work) => button(label, work, failed);
  const latestModel = () => [...turns.values()].findLast((turn) => turn.modelId)?.modelId;
  fill(content,
    h('h1', { class: 'conversation-title' }, whole.title),
    h('p', { class: 'row' },
      h('span', { class: 'about grow' }, questions, ' · begun ', time(whole.createdAt)),
      act('Export Markdown', () => exportAs(whole.id, 'markdown', 'md')),
      act('Export JSON', () => exportAs(whole.id, 'json', 'json')),
      act('Delete', () => discard(whole))),
    failed,
    list,
    composer({ conversation: whole.id, repository: whole.repository, model: latestModel, asked, signal }));
  signal.addEventListener('abort', () => {
    turns.forEach((turn) => turn.close());
    changed('citations', []);
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

/** A button that shows what went wrong in `failed`. */
function button(label, work, failed) {
  const click = () => {
    fill(failed);
    work().catch((error) => fill(failed, problem(error)));
  };
  return h('button', { type: 'button', class: 'plain', onclick: click }, label);
}

function exportAs(id, format, extension) {
  return save(address(`/conversations/${encodeURIComponent(id)}/export`, { format }), `codeinfo-${id}.${extension}`);
}

async function discard(whole) {
  const isSure = await confirmed('Delete this conversation?',
    `“${whole.title}” is removed from the disk, and what runs of it is stopped.`, 'Delete');
  if (!isSure) {
    return;
  }
  await remove(`/conversations/${encodeURIComponent(whole.id)}`);
  changed('conversations');
  go('#/');
  announce('Conversation deleted');
}
