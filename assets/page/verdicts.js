// Knows what the check of the citations came to, for the lines that are shown.

import { on } from './state.js';

const SENTENCES = {
  verified: 'Verified: these lines say what the answer cites them for.',
  moved: 'Moved: what the answer cites stands in these lines now.',
  changed: 'Changed: these lines are not as they were indexed.',
  missing: 'Missing: nothing here says what the answer cites it for.',
};

let citations = [];
on('evidence', (evidence) => {
  citations = evidence?.citations ?? [];
});

/**
 * Returns what became of the citation of a place.
 * @param {{path: string, relPath: string, first: number | null, last: number | null}} at
 * @returns {{state: string, sentence: string} | null} `null` where nothing cites these lines
 */
export function verdictOf(at) {
  const found = citations.find((one) => isOf(one, at));
  return found === undefined || !Object.hasOwn(SENTENCES, found.state)
    ? null
    : { state: found.state, sentence: SENTENCES[found.state] };
}

function isOf(one, { path, first, last }) {
  if (one.path !== path) {
    return false;
  }
  const ranges = [...(one.movedTo ?? []), ...(one.lines ?? [])].map(range);
  return first === null
    ? ranges.length === 0
    : ranges.some((lines) => lines.first === first && lines.last === last);
}

/** Reads lines, which are written as `12-40` or `12`, or as an object. */
function range(lines) {
  if (typeof lines === 'object') {
    return { first: lines.first, last: lines.last };
  }
  const [first, last = first] = String(lines).split('-').map(Number);
  return { first, last };
}
