// The right column: the files of the last search, and the source that is open beside the page.

import { get } from './api.js';
import { fileList } from './files.js';
import { fill, h, PLACES, renew } from './h.js';
import { onEscape } from './keys.js';
import { problem, waiting } from './notice.js';
import { beside, go, onRoute, place, rangesOf, shownUses } from './router.js';
import { scroll, scrolled } from './scroll.js';
import { closeUses, Source } from './source.js';
import { on } from './state.js';

const NARROW = matchMedia('(max-width: 1199px)');

/** Fills the right column, and follows the address. */
export function startPane() {
  const pane = document.getElementById('evidence');
  const files = h('section', { id: 'files', 'aria-labelledby': 'files-title', hidden: true });
  const section = h('section', { id: 'source', 'aria-label': 'Source', hidden: true });
  fill(pane, files, section);
  let before = null;
  let top = 0;
  let isFirst = true;
  const close = () => {
    if (section.hidden) {
      return false;
    }
    go(beside(null));
    before?.isConnected ? before.focus({ preventScroll: true }) : document.getElementById('main').focus();
    return true;
  };
  const source = new Source(section, { close });
  const fold = () => {
    pane.hidden = files.hidden && section.hidden;
    document.body.classList.toggle('with-source', !section.hidden);
    document.body.classList.toggle('with-evidence', !pane.hidden);
  };
  onEscape(close);
  onEscape(closeUses);
  // Also where a link was written for another state of the address.
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest(PLACES) : null;
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (link?.hasAttribute('href') && isPlain) {
      event.preventDefault();
      const { path, first, last, ranges } = link.dataset;
      go(beside({
        path, first: Number(first) || null, last: Number(last ?? first) || null, ranges: rangesOf(ranges ?? ''),
        repository: null,
        // What is opened from elsewhere is about something else.
      }, link.closest('#source, #source-alone') === null ? null : shownUses()));
      // The file may be open already, and have been written since.
      source.check();
    }
  });
  onRoute(({ name }) => {
    const at = name === 'source' ? null : place();
    const isNew = section.hidden;
    if (isNew && at !== null) {
      top = scrolled();
    }
    section.hidden = at === null;
    fold();
    if (at === null) {
      // Where the source covered the page, nothing else was scrolled.
      if (!isNew && NARROW.matches) {
        scroll(top);
      }
      source.end();
      source.at = null;
    } else {
      if (isNew) {
        before = document.activeElement;
      }
      source.open(at);
      // Where the source covers the page, the focus goes with it.
      if (isNew && !isFirst && NARROW.matches) {
        section.tabIndex = -1;
        section.focus();
      }
    }
    isFirst = false;
  });
  const [list, linked] = [h('div'), h('div')];
  let drawn = null;
  fill(files, h('h2', { id: 'files-title' }, 'What the last search found'), list, linked);
  on('evidence', (evidence) => {
    const cited = new Set((evidence?.citations ?? []).map((one) => one.path));
    const listed = evidence?.files ?? [];
    files.hidden = listed.length === 0;
    if (listed.length > 0) {
      if (drawn?.turn !== evidence.turn) {
        drawn = evidence.turn && connections(evidence.turn);
        fill(linked, drawn?.element);
      }
      renew(list, [listed, [...cited]], () => fileList(listed, { cited }));
      drawn?.update(JSON.stringify([listed, [...cited]]));
      if (evidence.isAsked) {
        files.scrollIntoView({ block: 'nearest' });
      }
    }
    fold();
  });
}

/** How the files of an answer call and import each other, drawn when it is opened, and when there are others. */
function connections(turn) {
  const box = h('div');
  let [wanted, shown] = ['', null];
  const draw = async () => {
    if (!details.open || shown === wanted) {
      return;
    }
    const mine = wanted;
    shown = mine;
    if (!box.hasChildNodes()) {
      fill(box, waiting('Drawing'));
    }
    try {
      const [{ drawing }, map] = await Promise.all([
        import('./graph.js'), get(`/map?turn=${encodeURIComponent(turn)}`),
      ]);
      if (shown === mine) {
        fill(box, drawing(map));
      }
    } catch (error) {
      if (shown === mine) {
        shown = null;
        fill(box, problem(error, draw));
      }
    }
  };
  const details = h('details', { class: 'connections', ontoggle: draw },
    h('summary', null, 'How these files are connected'), box);
  return {
    turn,
    element: details,
    update: (known) => {
      wanted = known;
      draw();
    },
  };
}
