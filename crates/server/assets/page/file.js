// A file on its own: where a citation leads that is opened in a tab of its own.

import { fill, h } from './h.js';
import { empty } from './notice.js';
import { place } from './router.js';
import { Source } from './source.js';

/**
 * @param {HTMLElement} content
 * @param {import('./router.js').Route} route
 * @param {AbortSignal} signal
 */
export async function view(content, route, signal) {
  const section = h('section', { id: 'source-alone', 'aria-label': 'Source' });
  const source = new Source(section, { signal });
  const open = () => {
    const at = place();
    if (at === null) {
      fill(section, empty('No file is named.', h('a', { href: '#/search' }, 'Search for one')));
    } else {
      source.open(at);
    }
    return at === null ? 'Source' : at.path.split('/').at(-1);
  };
  fill(content, h('h1', { class: 'unseen' }, 'Source'), section);
  const title = open();
  signal.addEventListener('abort', () => source.end());
  return { title, update: open };
}
