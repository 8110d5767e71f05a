// Starts the page: chooses the view by the address, and connects keyboard, dialogs and side parts.

import { onTokenNeeded, openSession } from './api.js';
import { askToken, showKeys } from './dialog.js';
import { fill, h } from './h.js';
import { listen, onEscape } from './keys.js';
import { announce, empty, problem } from './notice.js';
import { startPane } from './pane.js';
import { startPreview } from './preview.js';
import { onRoute } from './router.js';
import { scroll } from './scroll.js';
import { startSide } from './side.js';

/** The views by the first part of the address. Those beside asking are loaded when they are opened. */
const VIEWS = {
  '': () => import('./ask.js'),
  c: () => import('./conversation.js'),
  search: () => import('./search.js'),
  source: () => import('./file.js'),
  commit: () => import('./commit.js'),
  repositories: () => import('./repositories.js'),
  map: () => import('./map.js'),
  status: () => import('./status.js'),
};

const main = document.getElementById('main');
let shown = null;

/** @typedef {{title: string, update?: (route: import('./router.js').Route) => string | unknown}} View */

async function show(route) {
  foldMenu();
  const key = JSON.stringify([route.name, route.id, route.part]);
  if (shown?.key === key) {
    update(shown, route);
    return;
  }
  const isFirst = shown === null;
  shown?.controller.abort();
  const controller = new AbortController();
  const mine = { key, controller, view: null, late: null };
  shown = mine;
  mark(route.name);
  const content = h('div', { class: `view view-${route.name || 'ask'}` });
  fill(main, content);
  scroll(0);
  try {
    const load = Object.hasOwn(VIEWS, route.name) ? VIEWS[route.name] : null;
    if (load === null) {
      fill(content, h('h1', null, 'Page not found'),
        empty(`The page has no address “${location.hash.slice(1)}”.`, h('a', { href: '#/' }, 'Ask a question')));
      return;
    }
    const { view } = await load();
    if (shown === mine) {
      mine.view = await view(content, route, controller.signal);
    }
    // The address may have changed meanwhile.
    if (shown === mine && mine.late !== null) {
      update(mine, mine.late);
    }
  } catch (error) {
    if (shown !== mine || controller.signal.aborted) {
      return;
    }
    console.warn(error);
    const again = () => {
      controller.abort();
      shown = null;
      show(route);
    };
    fill(content, h('h1', null, 'This cannot be shown'), problem(error, again));
  }
  if (shown === mine) {
    settle(mine.title ?? mine.view?.title, isFirst, content);
  }
}

/** Gives a view its new address: at once, or when it has loaded. What it returns is its title from then on. */
function update(mine, route) {
  if (mine.view === null) {
    mine.late = route;
    return;
  }
  const title = mine.view.update?.(route);
  if (typeof title === 'string') {
    mine.title = title;
    name(title);
  }
}

function name(title) {
  document.title = title ? `${title} · CodeInfo` : 'CodeInfo';
}

/** Names the page, and leads those who cannot see it to its start. */
function settle(title, isFirst, content) {
  name(title);
  const heading = content.querySelector('h1');
  if (!isFirst && heading !== null && !content.contains(document.activeElement)) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    announce(document.title);
  }
}

function mark(name) {
  const href = name === '' || name === 'c' ? '#/' : `#/${name}`;
  for (const one of document.querySelectorAll('#pages a')) {
    if (one.getAttribute('href') === href) {
      one.setAttribute('aria-current', 'page');
    } else {
      one.removeAttribute('aria-current');
    }
  }
}

const menu = document.getElementById('menu');

function foldMenu() {
  menu.setAttribute('aria-expanded', 'false');
  document.body.classList.remove('menu-open');
}

menu.addEventListener('click', () => {
  const isOpen = document.body.classList.toggle('menu-open');
  menu.setAttribute('aria-expanded', String(isOpen));
});
document.getElementById('help').addEventListener('click', showKeys);
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});

// What was typed without a `#` may name a view all the same.
if (location.pathname !== '/') {
  history.replaceState(null, '', `/#${location.pathname}${location.search}`);
}
onTokenNeeded(askToken);
// Without a session what needs the owner says so.
await openSession().catch(console.warn);
startPane();
// What was opened last is closed first: the menu lies above the source, which folds it when it is opened.
onEscape(() => {
  const isOpen = document.body.classList.contains('menu-open');
  foldMenu();
  if (isOpen && menu.checkVisibility()) {
    menu.focus();
  }
  return isOpen;
});
startPreview();
listen();
onRoute(show);
startSide();
