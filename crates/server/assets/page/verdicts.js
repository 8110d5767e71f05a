// Knows what the check of the citations came to, for the lines that are shown.

import { on } from './state.js';

const SENTENCES = {
  confirmed: 'Confirmed: the words of the answer fit these lines.',
  unconfirmed: 'Unconfirmed: nothing shows that these lines support the answer.',
  wrong: 'Wrong: these lines do not contain what the answer says.',
};

/** Those of all answers that are shown, the latest first. */
let citations = [];
on('citations', (all) => {
  citations = all;
});

/**
 * Returns what became of the citation of a place.
 * @param {import('./router.js').Place} at
 * @returns {{state: string, sentence: string} | null} `null` where nothing cites these lines
 */
export function verdictOf(at) {
  const found = citations.find((one) => isOf(one, at));
  return found === undefined || !Object.hasOwn(SENTENCES, found.state)
    ? null
    : { state: found.state, sentence: SENTENCES[found.state] };
}

function isOf(one, { path, first, ranges }) {
  if (one.path !== path) {
    return false;
  }
  // Where it moved, it is shown there; lines that were cited together were judged together.
  const cited = (one.movedTo?.length > 0 ? one.movedTo : one.lines ?? []).map(range);
  return first === null
    ? cited.length === 0
    : cited.length === ranges.length
      && cited.every((lines, at) => lines.first === ranges[at].first && lines.last === ranges[at].last);
}

/** Reads lines, which are written as `12-40` or `12`, or as an object. */
function range(lines) {
  if (typeof lines === 'object') {
    return { first: lines.first, last: lines.last };
  }
  const [first, last = first] = String(lines).split('-').map(Number);
  return { first, last };
}
