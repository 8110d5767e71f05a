//! Reads of a state: the nearest chunks by vector and by terms, chunks in order of id, and files.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    io::{self, ErrorKind},
};

use uuid::Uuid;

use super::{
    body,
    build::file_id,
    codes::{self, Rounded},
    state::{Live, State},
};
use crate::{
    domain::{ChunkRecord, FileRecord, RootId, Sparse, inverse_document_frequency},
    store::{MAX_PAGE, Scored, Stored},
};

/// How many more vectors than asked for are compared by their numbers, as codes are rounded: half as many,
/// and so many.
const MARGIN: usize = 16;
/// How many vectors are compared at a time.
const BLOCK: usize = 4096;

impl State {
    /// Finds the chunks nearest to a vector; see [`crate::store::VectorStore::nearest`].
    pub(super) fn nearest(
        &self,
        to: &[f32],
        of: Option<RootId>,
        limit: usize,
    ) -> io::Result<Vec<Scored>> {
        let limit = limit.min(MAX_PAGE);
        if limit == 0 || to.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let to = codes::unit(to);
        let rounded = Rounded::of(&to);
        let mut best = Best::of(limit + limit / 2 + MARGIN);
        let mut similarities = vec![0.0; BLOCK];
        for (number, live) in self.segments.iter().enumerate() {
            for run in live.segment.chunks.places(of) {
                for first in (run.start as usize..run.end as usize).step_by(BLOCK) {
                    let block = BLOCK.min(run.end as usize - first);
                    let similarities = similarities.get_mut(..block).unwrap_or_default();
                    live.segment.codes.compare(&rounded, first, similarities);
                    best.offer_all(similarities, |place, _| at(live, number, first + place));
                }
            }
        }
        let to = codes::rounded(&to);
        let mut exact = Best::of(limit);
        for Hit { at, id, .. } in best.heap {
            let live = self.live(at.segment)?;
            let score = codes::similarity(&to, &live.segment.vectors(at.place..at.place + 1)?);
            exact.offer(score, || Some((at, id)));
        }
        self.scored(exact)
    }

    /// Finds the chunks that share the most term weight; see [`crate::store::VectorStore::lexical`].
    pub(super) fn lexical(
        &self,
        terms: &Sparse,
        of: Option<RootId>,
        limit: usize,
    ) -> io::Result<Vec<Scored>> {
        let limit = limit.min(MAX_PAGE);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let count = usize::try_from(self.count(None)).unwrap_or(usize::MAX);
        let weights: Vec<(u32, f32)> = terms
            .indices
            .iter()
            .zip(&terms.values)
            .map(|(term, weight)| {
                (*term, weight * inverse_document_frequency(self.holders(*term), count))
            })
            .collect();
        let mut best = Best::of(limit);
        for (number, live) in self.segments.iter().enumerate() {
            let mut sums = vec![0.0_f32; live.segment.chunks.len() as usize];
            for (term, weight) in &weights {
                for (place, of_chunk) in live.segment.terms.of_term(*term).into_iter().flatten() {
                    if let Some(sum) = sums.get_mut(place as usize) {
                        *sum += weight * of_chunk;
                    }
                }
            }
            for run in live.segment.chunks.places(of) {
                let places = run.start as usize..run.end as usize;
                let found = sums.get(places.clone()).unwrap_or_default();
                let shares_some = |sum: f32, place| (0.0 < sum).then(|| at(live, number, place))?;
                best.offer_all(found, |at_run, sum| shares_some(sum, places.start + at_run));
            }
        }
        self.scored(best)
    }

    /// Reads chunks in order of id; see [`crate::store::VectorStore::chunks`].
    pub(super) fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> io::Result<Vec<Stored>> {
        let limit = limit.min(MAX_PAGE);
        let mut all: Vec<(Uuid, At)> = Vec::new();
        for (segment, live) in self.segments.iter().enumerate() {
            let table = &live.segment.chunks;
            let is_wanted = |place: u32| {
                !live.deleted_chunks.contains(place)
                    && of.is_none_or(|of| table.root(place) == Some(of))
            };
            let places = table.after(after).filter(|(_, place)| is_wanted(*place)).take(limit);
            all.extend(places.map(|(id, place)| (id, At { segment, place })));
        }
        all.sort_unstable_by_key(|(id, _)| *id);
        all.truncate(limit);
        all.into_iter().map(|(id, at)| Ok(Stored { id, record: self.record(at)? })).collect()
    }

    /// Reads the chunks with these ids.
    pub(super) fn chunks_with(&self, ids: &[Uuid]) -> io::Result<Vec<Stored>> {
        let found = ids.iter().flat_map(|id| {
            self.segments.iter().enumerate().filter_map(move |(segment, live)| {
                let place = live.segment.chunks.find(*id)?;
                (!live.deleted_chunks.contains(place)).then_some((*id, At { segment, place }))
            })
        });
        found.map(|(id, at)| Ok(Stored { id, record: self.record(at)? })).collect()
    }

    /// Returns the records of all files of a root.
    pub(super) fn files(&self, of: RootId) -> io::Result<Vec<FileRecord>> {
        let live = self
            .segments
            .iter()
            .flat_map(|live| live.file_ranges(of).flatten().map(move |place| (live, place)));
        live.map(|(live, place)| file(live, of, place)).collect()
    }

    /// Returns the records of some files of a root.
    pub(super) fn files_at(&self, root: RootId, paths: &[String]) -> io::Result<Vec<FileRecord>> {
        let ids = paths.iter().map(|path| file_id(root, path));
        let found = ids.flat_map(|id| {
            self.segments.iter().filter_map(move |live| {
                let place = live.segment.files.find(id)?;
                (!live.deleted_files.contains(place)).then_some((live, place))
            })
        });
        found.map(|(live, place)| file(live, root, place)).collect()
    }

    /// Returns how many chunks have a term.
    fn holders(&self, term: u32) -> usize {
        let of = |live: &Live| {
            let Some(list) = live.segment.terms.of_term(term) else { return 0 };
            if live.deleted_chunks.len() == 0 {
                return list.len();
            }
            list.filter(|(place, _)| !live.deleted_chunks.contains(*place)).count()
        };
        self.segments.iter().map(of).sum()
    }

    fn scored(&self, best: Best) -> io::Result<Vec<Scored>> {
        let mut hits = best.heap.into_vec();
        hits.sort_unstable();
        let scored = |Hit { score, id, at }| Ok(Scored { id, score, record: self.record(at)? });
        hits.into_iter().map(scored).collect()
    }

    fn record(&self, at: At) -> io::Result<ChunkRecord> {
        let table = &self.live(at.segment)?.segment.chunks;
        let root = table.root(at.place).ok_or(ErrorKind::InvalidData)?;
        body::chunk(root, &table.body(at.place)?).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    fn live(&self, segment: usize) -> io::Result<&Live> {
        self.segments.get(segment).ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

fn file(live: &Live, root: RootId, place: u32) -> io::Result<FileRecord> {
    let body = live.segment.files.body(place)?;
    body::file(root, &body).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Returns where a chunk is, unless it was deleted.
fn at(live: &Live, segment: usize, place: usize) -> Option<(At, Uuid)> {
    let place = u32::try_from(place).ok().filter(|place| !live.deleted_chunks.contains(*place))?;
    Some((At { segment, place }, live.segment.chunks.id(place)?))
}

/// Where a chunk is: the number of the segment in the state, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    segment: usize,
    place: u32,
}

/// A chunk and its score. The better one is the lesser: so the worst one is on top of a heap.
#[derive(Debug, Clone, Copy)]
struct Hit {
    score: f32,
    id: Uuid,
    at: At,
}

impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Hit {}

/// The best of the hits that were offered; of tied ones those with the lowest ids.
struct Best {
    limit: usize,
    heap: BinaryHeap<Hit>,
}

impl Best {
    fn of(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit + 1) }
    }

    /// Keeps those hits of a row of scores that are among the best. Where one is, is asked only then.
    fn offer_all(&mut self, scores: &[f32], at: impl Fn(usize, f32) -> Option<(At, Uuid)>) {
        let worst = |of: &Self| {
            let worst = of.heap.peek().filter(|_| of.heap.len() == of.limit);
            worst.map_or(f32::NEG_INFINITY, |worst| worst.score)
        };
        let mut least = worst(self);
        for (place, score) in scores.iter().enumerate() {
            if least <= *score {
                self.offer(*score, || at(place, *score));
                least = worst(self);
            }
        }
    }

    /// Keeps a hit if it is among the best. Where it is, is asked only then.
    #[inline]
    fn offer(&mut self, score: f32, at: impl FnOnce() -> Option<(At, Uuid)>) {
        let is_full = self.heap.len() == self.limit;
        let is_worse = |worst: &Hit| score < worst.score || score.is_nan();
        if is_full && self.heap.peek().is_some_and(is_worse) {
            return;
        }
        let Some((at, id)) = at() else { return };
        self.heap.push(Hit { score, id, at });
        if is_full {
            self.heap.pop();
        }
    }
}
