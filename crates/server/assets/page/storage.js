// Keeps small things in the browser; where it refuses that, for as long as the page is open.

const memory = new Map();

/**
 * @param {'localStorage' | 'sessionStorage'} where
 * @param {string} key
 * @returns {string | null} what was kept
 */
export function kept(where, key) {
  try {
    return window[where].getItem(key);
  } catch {
    return memory.get(key) ?? null;
  }
}

/**
 * Keeps a value; `null` forgets it.
 * @param {'localStorage' | 'sessionStorage'} where
 * @param {string} key
 * @param {string | null} value
 */
export function keep(where, key, value) {
  try {
    if (value === null) {
      window[where].removeItem(key);
    } else {
      window[where].setItem(key, value);
    }
  } catch {
    memory.set(key, value);
  }
}
