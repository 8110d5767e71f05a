//! Records of one kind in a segment, each with an id, a root and a body that is read on demand.

use std::{
    cmp::Ordering,
    io::{self, ErrorKind},
    ops::Range,
};

use codeinfo_core::RootId;
use uuid::Uuid;

use crate::source::{SegmentSource, decode_numbers};

/// Number of records for which one start of a body is kept; those between are summed, which takes less memory.
const STEP: usize = 32;
const ID: usize = size_of::<uuid::Bytes>();

/// Ids, roots and body lengths of the records of one kind.
#[derive(Debug, Default)]
pub(crate) struct RecordKeys {
    ids: Vec<Uuid>,
    /// Places of the records, in order of their ids.
    order: Vec<u32>,
    /// Runs of records of one root, each with its end; it starts at the end of the run before.
    runs: Vec<(RootId, u32)>,
    /// Length of each body.
    lengths: Vec<u32>,
}

impl RecordKeys {
    /// Adds a record after all others.
    pub(crate) fn push(&mut self, id: Uuid, root: RootId, body_length: u32) {
        self.ids.push(id);
        self.lengths.push(body_length);
        let end = self.len();
        match self.runs.last_mut() {
            Some((last_root, last)) if *last_root == root => *last = end,
            _ => self.runs.push((root, end)),
        }
    }

    /// Sorts the ids after the last record was added.
    pub(crate) fn sort(&mut self) {
        self.order = (0..self.len()).collect();
        let ids = &self.ids;
        self.order.sort_unstable_by_key(|place| ids.get(*place as usize));
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.ids.len()).unwrap_or(u32::MAX)
    }

    /// Encodes the keys: the number of runs, the runs, the ids, their order, and the lengths.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = (self.runs.len() as u64).to_le_bytes().to_vec();
        for (root, end) in &self.runs {
            bytes.extend(root.0.as_bytes());
            bytes.extend(end.to_le_bytes());
        }
        bytes.extend(self.ids.iter().flat_map(|id| *id.as_bytes()));
        bytes
            .extend(self.order.iter().chain(&self.lengths).flat_map(|number| number.to_le_bytes()));
        bytes
    }

    /// Decodes the result of [`RecordKeys::encode`]; `None` if it contradicts itself.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let runs = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let (runs, rest) = rest.split_at_checked(runs.checked_mul(ID + 4)?)?;
        let (runs, _) = runs.as_chunks::<{ ID + 4 }>();
        let runs: Vec<(RootId, u32)> = runs
            .iter()
            .filter_map(|run| {
                let (id, end) = run.split_first_chunk::<ID>()?;
                Some((RootId(Uuid::from_bytes(*id)), u32::from_le_bytes(end.try_into().ok()?)))
            })
            .collect();
        let count = rest.len() / (ID + 8);
        let (ids, rest) = rest.split_at_checked(count * ID)?;
        let (order, lengths) = rest.split_at_checked(count * 4)?;
        let (id_bytes, _) = ids.as_chunks();
        let ids = id_bytes.iter().map(|id| Uuid::from_bytes(*id)).collect();
        let order = decode_numbers(order, u32::from_le_bytes)?;
        let lengths = decode_numbers(lengths, u32::from_le_bytes)?;
        let keys = Self { ids, order, runs, lengths };
        let is_order = keys.order.len() == count
            && keys.order.is_sorted_by(|a, b| match (keys.id_at(*a), keys.id_at(*b)) {
                (Some(a), Some(b)) => a < b,
                _ => false,
            })
            && keys.order.iter().all(|place| *place < keys.len());
        let mut ends = keys.runs.iter().map(|(_, end)| *end);
        let is_whole = keys.lengths.len() == count
            && ends.clone().is_sorted_by(|a, b| a < b)
            && ends.next_back().unwrap_or(0) == keys.len();
        (is_order && is_whole).then_some(keys)
    }

    fn id_at(&self, place: u32) -> Option<Uuid> {
        self.ids.get(place as usize).copied()
    }
}

#[derive(Debug)]
pub(crate) struct RecordTable {
    keys: RecordKeys,
    /// Start of the body of the first of each [`STEP`] records, and the end of the last one.
    starts: Vec<u64>,
    source: SegmentSource,
}

impl RecordTable {
    /// Decodes keys whose bodies are in `range` of `source`; `None` if they contradict each other.
    pub(crate) fn decode(keys: &[u8], source: SegmentSource, range: Range<u64>) -> Option<Self> {
        let keys = RecordKeys::decode(keys)?;
        let mut starts = vec![range.start];
        let mut end = range.start;
        for lengths in keys.lengths.chunks(STEP) {
            end += sum_lengths(lengths);
            starts.push(end);
        }
        (end == range.end).then_some(Self { keys, starts, source })
    }

    /// Returns the number of records, including deleted ones.
    pub(crate) fn len(&self) -> u32 {
        self.keys.len()
    }

    pub(crate) fn id_at(&self, place: u32) -> Option<Uuid> {
        self.keys.id_at(place)
    }

    pub(crate) fn find_place(&self, id: Uuid) -> Option<u32> {
        let order = |place: &u32| self.id_at(*place).map_or(Ordering::Less, |other| other.cmp(&id));
        let at = self.keys.order.binary_search_by(order).ok()?;
        self.keys.order.get(at).copied()
    }

    /// Returns places in order of their ids, from the first id that is greater than `after`.
    pub(crate) fn places_after(&self, after: Option<Uuid>) -> impl Iterator<Item = (Uuid, u32)> {
        let is_before = |place: &u32| after.is_some() && self.id_at(*place) <= after;
        let from = self.keys.order.partition_point(is_before);
        self.keys.order.iter().skip(from).filter_map(|place| Some((self.id_at(*place)?, *place)))
    }

    pub(crate) fn root_at(&self, place: u32) -> Option<RootId> {
        let at = self.keys.runs.partition_point(|(_, end)| *end <= place);
        self.keys.runs.get(at).map(|(root, _)| *root)
    }

    /// Returns the places of the records of a root, or of all.
    pub(crate) fn root_ranges(&self, owner: Option<RootId>) -> impl Iterator<Item = Range<u32>> {
        let starts = std::iter::once(0).chain(self.keys.runs.iter().map(|(_, end)| *end));
        let runs = starts.zip(&self.keys.runs);
        runs.filter(move |(_, (root, _))| owner.is_none_or(|owner| owner == *root))
            .map(|(start, (_, end))| start..*end)
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = RootId> {
        self.keys.runs.iter().map(|(root, _)| *root)
    }

    pub(crate) fn body_length(&self, place: u32) -> u32 {
        self.keys.lengths.get(place as usize).copied().unwrap_or_default()
    }

    /// Passes consecutive bodies to `visit`, about `block` bytes at a time.
    pub(crate) fn for_each_block(
        &self,
        places: Range<u32>,
        block: u64,
        mut visit: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut at, end) = (self.body_start(places.start), self.body_start(places.end));
        while at < end {
            let next = end.min(at + block);
            visit(&self.source.read(at..next)?)?;
            at = next;
        }
        Ok(())
    }

    /// Passes each body of consecutive records to `visit`, reading about `block` bytes at a time.
    pub(crate) fn for_each_body(
        &self,
        places: Range<u32>,
        block: u64,
        mut visit: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut first = places.start;
        while first < places.end {
            let start = self.body_start(first);
            let is_near = |last: &u32| self.body_start(last + 1) <= start.saturating_add(block);
            let last = (first + 1..places.end).take_while(is_near).last().unwrap_or(first);
            let bytes = self.source.read(start..self.body_start(last + 1))?;
            let mut rest = bytes.as_slice();
            for place in first..=last {
                let length = self.body_start(place + 1).saturating_sub(self.body_start(place));
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let Some((body, after)) = rest.split_at_checked(length) else {
                    return Err(ErrorKind::UnexpectedEof.into());
                };
                visit(body)?;
                rest = after;
            }
            first = last + 1;
        }
        Ok(())
    }

    /// Returns the start of a record's body; for the place after the last one, the end of all bodies.
    fn body_start(&self, place: u32) -> u64 {
        let place = place as usize;
        let first = place - place % STEP;
        let start = self.starts.get(first / STEP).copied().unwrap_or_default();
        start + sum_lengths(self.keys.lengths.get(first..place).unwrap_or_default())
    }

    pub(crate) fn read_body(&self, place: u32) -> io::Result<Vec<u8>> {
        self.source.read(self.body_start(place)..self.body_start(place + 1))
    }
}

fn sum_lengths(lengths: &[u32]) -> u64 {
    lengths.iter().map(|length| u64::from(*length)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of three records of two roots, whose ids descend.
    fn keys() -> RecordKeys {
        let mut keys = RecordKeys::default();
        for (id, root) in [(9, 1), (8, 1), (7, 2)] {
            keys.push(Uuid::from_u128(id), RootId(Uuid::from_u128(root)), 2);
        }
        keys.sort();
        keys
    }

    fn is_table(keys: &RecordKeys, end: u64) -> bool {
        RecordTable::decode(
            &keys.encode(),
            SegmentSource::Memory(std::sync::Arc::default()),
            0..end,
        )
        .is_some()
    }

    #[test]
    fn bodies_are_handed_over_one_by_one_whatever_is_read_at_a_time() {
        let source = SegmentSource::Memory(std::sync::Arc::new(b"aabbcc".to_vec()));
        let table = RecordTable::decode(&keys().encode(), source, 0..6).unwrap();
        for block in [0, 1, 2, 3, 4, 5, 6, u64::MAX] {
            for (places, expected) in
                [(0..3, "aa bb cc "), (1..3, "bb cc "), (1..2, "bb "), (2..2, "")]
            {
                let mut seen = String::new();
                let took = table.for_each_body(places, block, |body| {
                    seen.extend([String::from_utf8_lossy(body).as_ref(), " "]);
                    Ok(())
                });
                assert!(took.is_ok() && seen == expected, "{block}: {seen}");
            }
        }
    }

    #[test]
    fn keys_that_contradict_themselves_are_no_table() {
        assert!(is_table(&keys(), 6) && !is_table(&keys(), 5));
        let spoil = |change: fn(&mut RecordKeys)| {
            let mut keys = keys();
            change(&mut keys);
            keys
        };
        let spoilt = [
            spoil(|keys| keys.order.swap(0, 1)),
            spoil(|keys| keys.order[2] = 1),
            spoil(|keys| keys.order[2] = 3),
            spoil(|keys| keys.runs[1].1 = 4),
            spoil(|keys| keys.runs[0].1 = 3),
            spoil(|keys| keys.runs.truncate(1)),
            spoil(|keys| keys.ids[0] = keys.ids[1]),
        ];
        for (number, keys) in spoilt.iter().enumerate() {
            assert!(!is_table(keys, 6), "{number}");
        }
    }
}
