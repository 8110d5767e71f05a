//! Sets of deleted records of a segment, and the file that keeps them.
//!
//! The file has a checksum, the number of bytes for chunks, then the places of chunks and of files as bits.

use crate::{IndexError, folder, manifest::deletions_file_name, source::decode_numbers};
use std::{
    io::{self, ErrorKind},
    ops::Range,
    path::Path,
};

/// Writes the deletions of a segment, on disk once this returns.
pub(crate) fn write_deletions(
    folder: &Path,
    number: u64,
    chunks: &PlaceSet,
    files: &PlaceSet,
) -> Result<(), IndexError> {
    let (chunks, files) = (chunks.encode(), files.encode());
    let body = [&(chunks.len() as u64).to_le_bytes()[..], &chunks, &files].concat();
    let bytes = [&crc32fast::hash(&body).to_le_bytes()[..], &body].concat();
    folder::replace_file(&folder.join(deletions_file_name(number)), &bytes)
}

/// Reads the deleted chunks and files of a segment that has `chunk_count` and `file_count` of them.
pub(crate) fn read_deletions(
    folder: &Path,
    number: u64,
    chunk_count: u32,
    file_count: u32,
) -> io::Result<(PlaceSet, PlaceSet)> {
    let bytes = match folder::read_file(&folder.join(deletions_file_name(number))) {
        Ok(bytes) => bytes.ok_or(ErrorKind::NotFound)?,
        Err(IndexError::Io { source, .. }) => return Err(source),
        Err(error) => return Err(io::Error::other(error)),
    };
    Ok(decode_deletions(&bytes, chunk_count, file_count).ok_or(ErrorKind::InvalidData)?)
}

fn decode_deletions(bytes: &[u8], chunks: u32, files: u32) -> Option<(PlaceSet, PlaceSet)> {
    let (checksum, body) = bytes.split_first_chunk()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (length, rest) = body.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (chunk_bytes, file_bytes) = rest.split_at_checked(length)?;
    Some((PlaceSet::decode(chunk_bytes, chunks)?, PlaceSet::decode(file_bytes, files)?))
}

const WORD: u32 = u64::BITS;

/// A set of places, as bits: its size grows with the largest place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlaceSet {
    words: Vec<u64>,
    count: u32,
}

impl PlaceSet {
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    pub(crate) fn contains(&self, place: u32) -> bool {
        self.words.get((place / WORD) as usize).is_some_and(|word| word >> (place % WORD) & 1 == 1)
    }

    /// Returns a range that contains all places, empty if there are none.
    pub(crate) fn bounds(&self) -> Range<u32> {
        let has_places = |word: &u64| *word != 0;
        let first = self.words.iter().position(has_places).unwrap_or(self.words.len());
        let end = self.words.iter().rposition(has_places).map_or(first, |last| last + 1);
        let [first, end] = [first, end].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
        first.saturating_mul(WORD)..end.saturating_mul(WORD)
    }

    /// Adds a place and returns whether it is new.
    pub(crate) fn insert(&mut self, place: u32) -> bool {
        let at = (place / WORD) as usize;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let is_new = !self.contains(place);
        if let Some(word) = self.words.get_mut(at) {
            *word |= 1 << (place % WORD);
        }
        self.count += u32::from(is_new);
        is_new
    }

    pub(crate) fn ranges_without(&self, range: Range<u32>) -> impl Iterator<Item = Range<u32>> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if self.count == 0 {
                let all = at..range.end;
                at = range.end;
                return (!all.is_empty()).then_some(all);
            }
            let start = (at..range.end).find(|place| !self.contains(*place))?;
            let end = (start..range.end).find(|place| self.contains(*place));
            at = end.unwrap_or(range.end);
            Some(start..at)
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Decodes the result of [`PlaceSet::encode`]; `None` if it has places from `end` on.
    pub(crate) fn decode(bytes: &[u8], end: u32) -> Option<Self> {
        let words = decode_numbers(bytes, u64::from_le_bytes)?;
        let count = words.iter().map(|word| word.count_ones()).sum();
        let decoded = Self { words, count };
        let last = decoded.words.len() as u64 * u64::from(WORD);
        let mut beyond = u64::from(end)..last;
        let is_within =
            beyond.all(|place| u32::try_from(place).is_ok_and(|place| !decoded.contains(place)));
        is_within.then_some(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::PlaceSet;

    #[test]
    fn places_are_counted_once_and_the_others_come_as_ranges() {
        let mut places = PlaceSet::default();
        assert!(places.ranges_without(3..9).eq(std::iter::once(3..9)));
        assert!([0, 4, 5, 64, 200].into_iter().all(|place| places.insert(place)));
        assert!(!places.insert(64) && places.len() == 5);
        assert_eq!(places.ranges_without(0..70).collect::<Vec<_>>(), [1..4, 6..64, 65..70]);
        assert_eq!(places.ranges_without(4..6).count() + places.ranges_without(7..7).count(), 0);
        assert_eq!(places.bounds(), 0..256);
        assert!(PlaceSet::default().bounds().is_empty());
        assert_eq!(PlaceSet::decode(&places.encode(), 201), Some(places.clone()));
        assert_eq!(PlaceSet::decode(&places.encode(), 200), None);
        assert_eq!(PlaceSet::decode(&[1], 200), None);
    }
}
