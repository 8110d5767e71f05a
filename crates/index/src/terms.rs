//! Inverted lists of a segment: for each term the chunks that have it, with weights.
//!
//! A list is the number of its chunks, then the distance of each from the one before, both as variable-length
//! numbers, then the weights. Lists stay encoded in memory and are decoded by each search.

use std::{collections::BTreeMap, ops::Range};

use crate::source::decode_numbers;

const WEIGHT: usize = size_of::<f32>();

/// The bits that only numbers of several bytes have, of eight bytes.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// A chunk that has a term: its place in the segment, and the weight.
pub(crate) type Posting = (u32, f32);

/// The lists of one segment.
#[derive(Debug, Default)]
pub(crate) struct TermLists {
    /// Term ids, ascending.
    ids: Vec<u32>,
    /// End of the list of each term.
    ends: Vec<u64>,
    lists: Vec<u8>,
}

impl TermLists {
    pub(crate) fn from_chunks<'a>(
        chunks: impl IntoIterator<Item = (u32, &'a [u32], &'a [f32])>,
    ) -> Self {
        let mut all: Vec<(u32, Posting)> = Vec::new();
        for (place, terms, weights) in chunks {
            all.extend(terms.iter().zip(weights).map(|(term, weight)| (*term, (place, *weight))));
        }
        all.sort_unstable_by_key(|(term, (place, _))| (*term, *place));
        let mut built = Self::default();
        for postings_of_term in all.chunk_by(|a, b| a.0 == b.0) {
            let postings: Vec<Posting> =
                postings_of_term.iter().map(|(_, posting)| *posting).collect();
            built.push_list(postings_of_term.first().map_or(0, |(term, _)| *term), &postings);
        }
        built
    }

    /// Merges lists of segments. `place` returns the new place of a chunk, ascending, or `None` for deleted ones.
    pub(crate) fn merge(
        sources: &[&Self],
        mut place: impl FnMut(usize, u32) -> Option<u32>,
    ) -> Self {
        let mut of_terms: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, source) in sources.iter().enumerate() {
            for (at, term) in source.ids.iter().enumerate() {
                of_terms.entry(*term).or_default().push((number, at));
            }
        }
        let (mut built, mut postings) = (Self::default(), Vec::new());
        for (term, lists) in of_terms {
            postings.clear();
            for (number, at) in lists {
                let Some(source) = sources.get(number) else { continue };
                let moved = source
                    .postings_at(at)
                    .filter_map(|(from, weight)| Some((place(number, from)?, weight)));
                postings.extend(moved);
            }
            if !postings.is_empty() {
                built.push_list(term, &postings);
            }
        }
        built
    }

    /// Decodes the result of [`TermLists::encode`]; `None` if it contradicts itself.
    pub(crate) fn decode(directory: &[u8], lists: Vec<u8>) -> Option<Self> {
        let (ids, ends) = directory.split_at_checked(directory.len() / 12 * 4)?;
        let (ids, ends) =
            (decode_numbers(ids, u32::from_le_bytes)?, decode_numbers(ends, u64::from_le_bytes)?);
        let is_ascending = ids.is_sorted_by(|a, b| a < b) && ends.is_sorted();
        let is_whole = ends.last().copied().unwrap_or_default() == lists.len() as u64;
        (is_ascending && is_whole && ids.len() == ends.len()).then_some(Self { ids, ends, lists })
    }

    pub(crate) fn encode(&self) -> (Vec<u8>, &[u8]) {
        let ids = self.ids.iter().flat_map(|id| id.to_le_bytes());
        (ids.chain(self.ends.iter().flat_map(|end| end.to_le_bytes())).collect(), &self.lists)
    }

    /// Returns the chunks that have a term, in order.
    pub(crate) fn postings(&self, term: u32) -> Option<TermPostings<'_>> {
        self.ids.binary_search(&term).ok().map(|at| self.postings_at(at))
    }

    fn push_list(&mut self, term: u32, postings: &[Posting]) {
        write_varint(&mut self.lists, u32::try_from(postings.len()).unwrap_or(u32::MAX));
        let mut before = 0;
        for (place, _) in postings {
            write_varint(&mut self.lists, place - before);
            before = *place;
        }
        self.lists.extend(postings.iter().flat_map(|(_, weight)| weight.to_le_bytes()));
        self.ids.push(term);
        self.ends.push(self.lists.len() as u64);
    }

    fn postings_at(&self, at: usize) -> TermPostings<'_> {
        let range = self.list_range(at).unwrap_or_default();
        let mut steps = self.lists.get(range).unwrap_or_default();
        let left = read_varint(&mut steps).unwrap_or_default() as usize;
        let middle = steps.len().saturating_sub(left * WEIGHT);
        let (steps, weights) = steps.split_at_checked(middle).unwrap_or_default();
        TermPostings { left, steps, weights, place: 0 }
    }

    fn list_range(&self, at: usize) -> Option<Range<usize>> {
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        Some(usize::try_from(start).ok()?..usize::try_from(*self.ends.get(at)?).ok()?)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct TermPostings<'a> {
    left: usize,
    steps: &'a [u8],
    weights: &'a [u8],
    place: u32,
}

impl TermPostings<'_> {
    /// Skips chunks before `start`, as many as can be skipped eight at a time.
    pub(crate) fn skip_before(mut self, start: u32) -> Self {
        while let Some((steps, rest)) = self.steps.split_first_chunk::<8>()
            && u64::from_le_bytes(*steps) & HIGH_BITS == 0
            && let place = self.place.wrapping_add(steps.iter().map(|step| u32::from(*step)).sum())
            && place < start
            && let Some((_, weights)) = self.weights.split_at_checked(8 * WEIGHT)
        {
            self = Self { left: self.left.saturating_sub(8), steps: rest, weights, place };
        }
        self
    }

    /// Adds the weights, times `factor`, to the sums of the chunks from `start` on.
    pub(crate) fn add_weights(self, factor: f32, start: u32, sums: &mut [f32]) {
        let Self { mut steps, weights, mut place, .. } = self.skip_before(start);
        let (weights, _) = weights.as_chunks();
        for weight in weights {
            let Some(step) = read_varint(&mut steps) else { return };
            place = place.wrapping_add(step);
            let at = place.wrapping_sub(start) as usize;
            if let Some(sum) = sums.get_mut(at) {
                *sum += factor * f32::from_le_bytes(*weight);
            } else if start <= place {
                return;
            }
        }
    }
}

impl Iterator for TermPostings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let (weight, weights) = self.weights.split_first_chunk()?;
        self.place = self.place.wrapping_add(read_varint(&mut self.steps)?);
        self.weights = weights;
        self.left = self.left.saturating_sub(1);
        Some((self.place, f32::from_le_bytes(*weight)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for TermPostings<'_> {}

/// Writes a number in as many bytes as it needs, seven bits in each (LEB128).
#[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
fn write_varint(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number that [`write_varint`] wrote and advances `bytes`.
#[inline]
fn read_varint(bytes: &mut &[u8]) -> Option<u32> {
    // Most have one byte.
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        *bytes = rest;
        return Some(u32::from(*first));
    }
    read_long_varint(bytes)
}

fn read_long_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_postings(terms: &TermLists, term: u32) -> Vec<Posting> {
        terms.postings(term).into_iter().flatten().collect()
    }

    fn sample() -> TermLists {
        TermLists::from_chunks([
            (0, &[7, 9][..], &[1.0, 2.0][..]),
            (1, &[9], &[3.0]),
            (300, &[7], &[4.0]),
        ])
    }

    #[test]
    fn each_term_lists_its_chunks_with_their_weights() {
        let terms = sample();
        assert_eq!(list_postings(&terms, 7), [(0, 1.0), (300, 4.0)]);
        assert_eq!(list_postings(&terms, 9), [(0, 2.0), (1, 3.0)]);
        assert_eq!(terms.postings(9).unwrap().len(), 2);
        assert!(terms.postings(8).is_none());
    }

    #[test]
    fn sums_of_a_part_are_those_of_the_whole() {
        let places: Vec<u32> = (0..90).chain([700, 701, 900, 1200]).chain(1300..1340).collect();
        let terms =
            TermLists::from_chunks(places.iter().map(|place| (*place, &[7][..], &[2.0][..])));
        let mut whole = vec![0.0; 1400];
        terms.postings(7).unwrap().add_weights(0.5, 0, &mut whole);
        for start in [0, 1, 7, 8, 9, 64, 89, 90, 695, 702, 1305, 1399] {
            for end in [start, start + 1, start + 20, 1400].map(|end| end.min(1400)) {
                let mut part = vec![0.0; end - start];
                let first = u32::try_from(start).unwrap();
                terms.postings(7).unwrap().add_weights(0.5, first, &mut part);
                assert_eq!(part, whole[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn lists_come_back_from_their_bytes_and_others_are_none() {
        let terms = sample();
        let (directory, lists) = terms.encode();
        let back = TermLists::decode(&directory, lists.to_vec()).unwrap();
        assert_eq!(list_postings(&back, 7), list_postings(&terms, 7));
        assert!(TermLists::decode(&directory, lists[1..].to_vec()).is_none());
        assert!(TermLists::decode(&directory[1..], lists.to_vec()).is_none());
        let descending = [&directory[4..8], &directory[..4], &directory[8..]].concat();
        assert!(TermLists::decode(&descending, lists.to_vec()).is_none());
    }

    #[test]
    fn merged_lists_follow_one_another_without_what_is_left_out() {
        let (one, two) = (sample(), sample());
        let place = |source: usize, from: u32| match (source, from) {
            (0, 300) => None,
            (0, from) => Some(from),
            (_, from) => Some(from + 2),
        };
        let merged = TermLists::merge(&[&one, &two], place);
        assert_eq!(list_postings(&merged, 7), [(0, 1.0), (2, 1.0), (302, 4.0)]);
        assert_eq!(list_postings(&merged, 9), [(0, 2.0), (1, 3.0), (2, 2.0), (3, 3.0)]);
        assert!(TermLists::merge(&[&one], |_, _| None).ids.is_empty());
    }

    #[test]
    fn numbers_come_back_in_few_bytes() {
        for (number, length) in
            [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u32::MAX, 5)]
        {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, number);
            assert_eq!(bytes.len(), length);
            let mut rest = bytes.as_slice();
            assert_eq!((read_varint(&mut rest), rest), (Some(number), &[][..]));
            assert_eq!(read_varint(&mut &bytes[..length - 1]), None);
        }
        assert_eq!(read_varint(&mut &[0x80; 9][..]), None);
    }
}
