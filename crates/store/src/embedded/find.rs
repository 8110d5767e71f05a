//! Reads of a state: the nearest chunks by vector and by terms, chunks in order of id, and files.

use std::{
    cmp::Ordering,
    collections::HashSet,
    io::{self, ErrorKind},
};

use codeinfo_core::{ChunkRecord, FileRecord, RootId, TermVector, inverse_document_frequency};
use uuid::Uuid;

use super::{
    body,
    build::file_id,
    codes::{self, Rounded},
    state::{Live, State},
};
use crate::{MAX_PAGE, Scored, Stored};

/// How many more chunks than asked for are compared by whole codes, as half of a code says less: so many times
/// as many, and so many.
const NEAR: usize = 4;
const MARGIN: usize = 64;
/// How many vectors are compared at a time.
const BLOCK: usize = 4096;
/// How many bytes of records of files are read at a time.
const FILES_BLOCK: u64 = 256 * 1024;
/// How many scores are passed over at a time.
const LANES: usize = 32;

/// Which chunks are looked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Of<'a> {
    /// Those kept under one root.
    pub(super) root: Option<RootId>,
    /// Those with these ids.
    pub(super) among: Option<&'a HashSet<Uuid>>,
}

impl State {
    /// Finds the chunks nearest to a vector; see [`crate::VectorStore::nearest`].
    pub(super) fn nearest(&self, to: &[f32], of: Of<'_>, limit: usize) -> io::Result<Vec<Scored>> {
        let limit = limit.min(MAX_PAGE);
        if limit == 0 || to.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let to = Rounded::of(&codes::unit(to));
        let mut near = Best::of(self, NEAR * limit + MARGIN, f32::MIN, of.among);
        let mut similarities = vec![0.0; BLOCK];
        for (segment, live) in self.segments.iter().enumerate() {
            for run in live.segment.chunks.places(of.root) {
                for first in run.clone().step_by(BLOCK) {
                    let block = BLOCK.min((run.end - first) as usize);
                    let similarities = similarities.get_mut(..block).unwrap_or_default();
                    live.segment.codes.scan(&to, first as usize, similarities);
                    near.offer(similarities, At { segment, place: first });
                }
            }
        }
        let mut best = Best::of(self, limit, f32::MIN, None);
        for at in near.all() {
            let live = self.live(at.segment)?;
            best.offer(&[live.segment.codes.similarity(&to, at.place as usize)], at);
        }
        self.scored(best)
    }

    /// Finds the chunks that share the most term weight; see [`crate::VectorStore::lexical`].
    pub(super) fn lexical(
        &self,
        terms: &TermVector,
        of: Of<'_>,
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
        let mut best = Best::of(self, limit, f32::MIN_POSITIVE, of.among);
        for (segment, live) in self.segments.iter().enumerate() {
            let mut sums = vec![0.0_f32; live.segment.chunks.len() as usize];
            for (term, weight) in &weights {
                live.segment.terms.add(*term, *weight, &mut sums);
            }
            for run in live.segment.chunks.places(of.root) {
                let found = sums.get(run.start as usize..run.end as usize).unwrap_or_default();
                best.offer(found, At { segment, place: run.start });
            }
        }
        self.scored(best)
    }

    /// Reads chunks in order of id; see [`crate::VectorStore::chunks`].
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
        let mut files = Vec::new();
        for live in &self.segments {
            for range in live.file_ranges(of) {
                live.segment.files.each(range, FILES_BLOCK, |body| {
                    files.push(body::file(of, body).ok_or(ErrorKind::InvalidData)?);
                    Ok(())
                })?;
            }
        }
        Ok(files)
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

    fn scored(&self, mut best: Best<'_>) -> io::Result<Vec<Scored>> {
        best.cut();
        best.all.sort_unstable_by(|a, b| self.order(*a, *b));
        let scored = |(score, at): (f32, At)| {
            let id = self.id(at).ok_or(ErrorKind::InvalidData)?;
            Ok(Scored { id, score, record: self.record(at)?, also: Vec::new() })
        };
        best.all.into_iter().map(scored).collect()
    }

    /// Orders chunks by score, best first, and those of equal score by their ids.
    fn order(&self, (score, at): (f32, At), (other, at_other): (f32, At)) -> Ordering {
        other.total_cmp(&score).then_with(|| self.id(at).cmp(&self.id(at_other)))
    }

    fn id(&self, at: At) -> Option<Uuid> {
        self.segments.get(at.segment)?.segment.chunks.id(at.place)
    }

    fn is_deleted(&self, at: At) -> bool {
        self.segments.get(at.segment).is_none_or(|live| live.deleted_chunks.contains(at.place))
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

/// Where a chunk is: the number of the segment in the state, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    segment: usize,
    place: u32,
}

/// The best of the chunks that were offered; of tied ones those with the lowest ids.
struct Best<'a> {
    state: &'a State,
    limit: usize,
    /// The chunks that are looked for; all if `None`.
    among: Option<&'a HashSet<Uuid>>,
    /// All that may be among them, so that most offers cost nothing more.
    all: Vec<(f32, At)>,
    /// The least score that may be among them.
    least: f32,
}

impl<'a> Best<'a> {
    /// Returns room for so many, none of which has less than `least`.
    fn of(state: &'a State, limit: usize, least: f32, among: Option<&'a HashSet<Uuid>>) -> Self {
        Self { state, limit, among, all: Vec::with_capacity(2 * limit), least }
    }

    fn is_wanted(&self, at: At) -> bool {
        let is_among =
            |among: &HashSet<Uuid>| self.state.id(at).is_some_and(|id| among.contains(&id));
        !self.state.is_deleted(at) && self.among.is_none_or(is_among)
    }

    /// Keeps what is among the best of chunks with these scores, which follow one another.
    fn offer(&mut self, scores: &[f32], first: At) {
        for (scores, lanes) in scores.chunks(LANES).zip((first.place..).step_by(LANES)) {
            // Without a branch for each.
            if scores.iter().filter(|score| self.least <= **score).count() == 0 {
                continue;
            }
            for (score, place) in scores.iter().zip(lanes..) {
                let at = At { place, ..first };
                if self.least <= *score && self.is_wanted(at) {
                    self.all.push((*score, at));
                    if self.all.len() == 2 * self.limit {
                        self.cut();
                    }
                }
            }
        }
    }

    /// Leaves the best.
    fn cut(&mut self) {
        if self.limit < self.all.len() {
            let order = |a: &(f32, At), b: &(f32, At)| self.state.order(*a, *b);
            let (_, (least, _), _) = self.all.select_nth_unstable_by(self.limit - 1, order);
            self.least = *least;
            self.all.truncate(self.limit);
        }
    }

    /// Returns the best, in no fixed order.
    fn all(mut self) -> impl Iterator<Item = At> {
        self.cut();
        self.all.into_iter().map(|(_, at)| at)
    }
}
