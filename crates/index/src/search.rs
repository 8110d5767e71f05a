//! Reads of a snapshot: the nearest chunks by vector and by terms, chunks in order of id, and files.

use std::{
    cmp::Ordering,
    collections::HashSet,
    io::{self, ErrorKind},
    ops::Range,
};

use codeinfo_core::{ChunkRecord, FileRecord, RootId, TermVector, inverse_document_frequency};
use uuid::Uuid;

use crate::{
    IndexHit, IndexScope, MAX_PAGE, StoredChunk,
    build::file_id,
    codes::{self, QueryVector},
    records,
    segment::IndexSegment,
    signs::SignTables,
    snapshot::{LiveSegment, Snapshot},
};

/// Factor and margin by which more chunks than requested are compared by whole codes: upper bits are less precise.
const CANDIDATE_FACTOR: usize = 4;
const CANDIDATE_MARGIN: usize = 64;
/// Number of vectors that are compared at a time.
const BLOCK: usize = 4096;
/// Bytes of file records that are read at a time.
const FILES_BLOCK: u64 = 256 * 1024;
/// Share of the chunks, as its reciprocal, below which postings are sorted instead of added to sums for all chunks.
const SPARSE_FRACTION: usize = 64;
/// Number of chunks from which on signs are compared before codes.
const MIN_ROWS: u64 = if cfg!(test) { 5000 } else { 100_000 };
/// Number of chunks of which one is compared by its codes after the signs of all.
const ROWS_PER_CANDIDATE: usize = 64;
/// Distance of the chunks whose sums of signs are ordered to find how high those of candidates are.
const SAMPLE_STEP: usize = 64;
/// Number of scores that are skipped at a time.
const LANES: usize = 32;

impl Snapshot {
    /// Finds the `limit` chunks nearest to a vector by cosine similarity, best first. A vector of zeros finds nothing.
    pub fn nearest(
        &self,
        vector: &[f32],
        scope: IndexScope<'_>,
        limit: usize,
    ) -> io::Result<Vec<IndexHit>> {
        let max_hits = limit.min(MAX_PAGE);
        if max_hits == 0 || vector.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let unit = codes::normalize(vector);
        let query = QueryVector::from_unit(&unit);
        let mut near = TopChunks::new(
            self,
            CANDIDATE_FACTOR * max_hits + CANDIDATE_MARGIN,
            f32::MIN,
            scope.among,
        );
        let is_everything = scope.owner.is_none() && scope.among.is_none();
        let has_many = is_everything && MIN_ROWS <= self.count(None);
        match has_many.then(|| self.list_by_signs(&unit)).flatten() {
            Some(places) => {
                for at in places {
                    let mut similarity = [0.0];
                    let codes = &self.find_segment(at.segment)?.segment.codes;
                    codes.scan(&query, at.place as usize, &mut similarity);
                    near.offer(&similarity, at);
                }
            }
            None => self.offer_all(&query, scope, &mut near),
        }
        let mut best = TopChunks::new(self, max_hits, f32::MIN, None);
        for at in near.into_places() {
            let live = self.find_segment(at.segment)?;
            best.offer(&[live.segment.codes.similarity(&query, at.place as usize)], at);
        }
        self.read_hits(best)
    }

    /// Offers all chunks by the upper bits of their codes.
    fn offer_all(&self, query: &QueryVector, scope: IndexScope<'_>, near: &mut TopChunks<'_>) {
        let mut similarities = vec![0.0; BLOCK];
        for (segment, live) in self.segments.iter().enumerate() {
            for run in live.segment.chunks.root_ranges(scope.owner) {
                for first in run.clone().step_by(BLOCK) {
                    let block = BLOCK.min((run.end - first) as usize);
                    let scores = similarities.get_mut(..block).unwrap_or_default();
                    live.segment.codes.scan(query, first as usize, scores);
                    near.offer(scores, ChunkPlace { segment, place: first });
                }
            }
        }
    }

    /// Returns the places of about one in [`ROWS_PER_CANDIDATE`] chunks, those whose signs agree most with a vector;
    /// `None` without chunks, or where comparing all codes takes less time.
    fn list_by_signs(&self, vector: &[f32]) -> Option<Vec<ChunkPlace>> {
        let tables = SignTables::from_vector(vector);
        let rows = self.segments.iter().map(|live| live.segment.chunks.len() as usize);
        let mut sums = Vec::with_capacity(rows.sum());
        for live in &self.segments {
            live.segment.signs.append_sums(&tables, &mut sums).then_some(())?;
        }
        let mut sample: Vec<u16> = sums.iter().step_by(SAMPLE_STEP).copied().collect();
        let rank = (!sample.is_empty()).then_some(sample.len() / ROWS_PER_CANDIDATE)?;
        let (_, min_sum, _) = sample.select_nth_unstable_by(rank, |a, b| b.cmp(a));
        let min_sum = *min_sum;
        let mut places = Vec::new();
        let mut rest = sums.as_slice();
        for (segment, live) in self.segments.iter().enumerate() {
            let (sums, others) = rest.split_at_checked(live.segment.chunks.len() as usize)?;
            rest = others;
            for (lanes, first) in sums.chunks(LANES).zip((0..).step_by(LANES)) {
                // One branch for all lanes.
                if lanes.iter().filter(|sum| min_sum <= **sum).count() == 0 {
                    continue;
                }
                let near = lanes.iter().zip(first..).filter(|(sum, _)| min_sum <= **sum);
                places.extend(near.map(|(_, place)| ChunkPlace { segment, place }));
            }
        }
        Some(places)
    }

    /// Finds the `limit` chunks that share the most term weight, best first: the sum over shared terms of both weights
    /// times the term's inverse document frequency.
    pub fn lexical(
        &self,
        terms: &TermVector,
        scope: IndexScope<'_>,
        limit: usize,
    ) -> io::Result<Vec<IndexHit>> {
        let max_hits = limit.min(MAX_PAGE);
        if max_hits == 0 {
            return Ok(Vec::new());
        }
        let count = usize::try_from(self.count(None)).unwrap_or(usize::MAX);
        let deleted: Vec<Range<u32>> =
            self.segments.iter().map(|live| live.deleted_chunks.bounds()).collect();
        let weights: Vec<(u32, f32)> = terms
            .indices
            .iter()
            .zip(&terms.values)
            .map(|(term, weight)| {
                (
                    *term,
                    weight
                        * inverse_document_frequency(
                            self.count_chunks_with_term(*term, &deleted),
                            count,
                        ),
                )
            })
            .collect();
        let mut best = TopChunks::new(self, max_hits, f32::MIN_POSITIVE, scope.among);
        for (segment, live) in self.segments.iter().enumerate() {
            sum_segment(segment, live, &weights, scope.owner, &mut best);
        }
        self.read_hits(best)
    }

    /// Reads at most `limit` chunks of an owner, or of all, in order of id, starting after `after`.
    pub fn chunks(
        &self,
        owner: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> io::Result<Vec<StoredChunk>> {
        let max_chunks = limit.min(MAX_PAGE);
        let mut all: Vec<(Uuid, ChunkPlace)> = Vec::new();
        for (segment, live) in self.segments.iter().enumerate() {
            let table = &live.segment.chunks;
            let is_candidate = |place: u32| {
                !live.deleted_chunks.contains(place)
                    && owner.is_none_or(|owner| table.root_at(place) == Some(owner))
            };
            let places = table
                .places_after(after)
                .filter(|(_, place)| is_candidate(*place))
                .take(max_chunks);
            all.extend(places.map(|(id, place)| (id, ChunkPlace { segment, place })));
        }
        all.sort_unstable_by_key(|(id, _)| *id);
        all.truncate(max_chunks);
        all.into_iter()
            .map(|(id, at)| Ok(StoredChunk { id, record: self.read_record(at)? }))
            .collect()
    }

    /// Reads the chunks with these ids, as many as exist.
    pub fn chunks_by_id(&self, ids: &[Uuid]) -> io::Result<Vec<StoredChunk>> {
        let found = ids.iter().flat_map(|id| {
            self.segments.iter().enumerate().filter_map(move |(segment, live)| {
                let place = live.segment.chunks.find_place(*id)?;
                (!live.deleted_chunks.contains(place))
                    .then_some((*id, ChunkPlace { segment, place }))
            })
        });
        found.map(|(id, at)| Ok(StoredChunk { id, record: self.read_record(at)? })).collect()
    }

    /// Returns the records of all files of a root.
    pub fn files(&self, root: RootId) -> io::Result<Vec<FileRecord>> {
        let mut files = Vec::new();
        for live in &self.segments {
            for range in live.file_ranges(root) {
                live.segment.files.for_each_body(range, FILES_BLOCK, |body| {
                    files.push(records::decode_file(root, body).ok_or(ErrorKind::InvalidData)?);
                    Ok(())
                })?;
            }
        }
        Ok(files)
    }

    /// Returns the records of those of `paths` that are files of a root.
    pub fn files_at(&self, root: RootId, paths: &[String]) -> io::Result<Vec<FileRecord>> {
        let ids = paths.iter().map(|path| file_id(root, path));
        let found = ids.flat_map(|id| {
            self.segments.iter().filter_map(move |live| {
                let place = live.segment.files.find_place(id)?;
                (!live.deleted_files.contains(place)).then_some((live, place))
            })
        });
        found.map(|(live, place)| read_file_record(live, root, place)).collect()
    }

    fn count_chunks_with_term(&self, term: u32, deleted: &[Range<u32>]) -> usize {
        let count = |(live, deleted): (&LiveSegment, &Range<u32>)| {
            let Some(list) = live.segment.terms.postings(term) else { return 0 };
            let all = list.len();
            let near =
                list.skip_before(deleted.start).take_while(|(place, _)| *place < deleted.end);
            all - near.filter(|(place, _)| live.deleted_chunks.contains(*place)).count()
        };
        self.segments.iter().zip(deleted).map(count).sum()
    }

    fn read_hits(&self, mut best: TopChunks<'_>) -> io::Result<Vec<IndexHit>> {
        best.keep_best();
        best.all.sort_unstable_by(|a, b| self.compare_scores(a, b));
        let read_hit = |ScoredPlace { score, at }| {
            let id = self.chunk_id(at).ok_or(ErrorKind::InvalidData)?;
            Ok(IndexHit { id, score, record: self.read_record(at)? })
        };
        best.all.into_iter().map(read_hit).collect()
    }

    /// Orders chunks by score, best first, and those of equal score by their ids.
    fn compare_scores(&self, one: &ScoredPlace, other: &ScoredPlace) -> Ordering {
        let by_id = || self.chunk_id(one.at).cmp(&self.chunk_id(other.at));
        other.score.total_cmp(&one.score).then_with(by_id)
    }

    fn chunk_id(&self, at: ChunkPlace) -> Option<Uuid> {
        self.segments.get(at.segment)?.segment.chunks.id_at(at.place)
    }

    fn is_deleted(&self, at: ChunkPlace) -> bool {
        self.segments.get(at.segment).is_none_or(|live| live.deleted_chunks.contains(at.place))
    }

    fn read_record(&self, at: ChunkPlace) -> io::Result<ChunkRecord> {
        let table = &self.find_segment(at.segment)?.segment.chunks;
        let root = table.root_at(at.place).ok_or(ErrorKind::InvalidData)?;
        records::decode_chunk(root, &table.read_body(at.place)?)
            .ok_or_else(|| ErrorKind::InvalidData.into())
    }

    fn find_segment(&self, segment: usize) -> io::Result<&LiveSegment> {
        self.segments.get(segment).ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

/// Offers the chunks of a segment with the sums of their weights of terms.
fn sum_segment(
    segment: usize,
    live: &LiveSegment,
    weights: &[(u32, f32)],
    owner: Option<RootId>,
    best: &mut TopChunks<'_>,
) {
    let IndexSegment { chunks, terms, .. } = &*live.segment;
    let runs: Vec<Range<u32>> = chunks.root_ranges(owner).collect();
    let (Some(Range { start, .. }), Some(Range { end, .. })) = (runs.first(), runs.last()) else {
        return;
    };
    let lists = weights.iter().filter_map(|(term, weight)| Some((terms.postings(*term)?, *weight)));
    let lists: Vec<_> = lists.collect();
    let length = (end - start) as usize;
    if lists.iter().map(|(list, _)| list.len()).sum::<usize>() < length / SPARSE_FRACTION {
        let weighted = lists.into_iter().flat_map(|(list, factor)| {
            let within = list.take_while(|(place, _)| place < end);
            within.map(move |(place, weight)| (place, factor * weight))
        });
        let mut sums: Vec<(u32, f32)> = weighted.collect();
        // Stable, so that each sum is that of the other branch.
        sums.sort_by_key(|(place, _)| *place);
        for same in sums.chunk_by(|a, b| a.0 == b.0) {
            let Some((place, _)) = same.first() else { continue };
            if owner.is_none_or(|owner| chunks.root_at(*place) == Some(owner)) {
                let sum = same.iter().fold(0.0, |sum, (_, weight)| sum + weight);
                best.offer(&[sum], ChunkPlace { segment, place: *place });
            }
        }
        return;
    }
    let mut sums = vec![0.0_f32; length];
    for (list, factor) in lists {
        list.add_weights(factor, *start, &mut sums);
    }
    for run in &runs {
        let within = (run.start - start) as usize..(run.end - start) as usize;
        let found = sums.get(within).unwrap_or_default();
        best.offer(found, ChunkPlace { segment, place: run.start });
    }
}

fn read_file_record(live: &LiveSegment, root: RootId, place: u32) -> io::Result<FileRecord> {
    let body = live.segment.files.read_body(place)?;
    records::decode_file(root, &body).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Position of a chunk: the number of the segment in the snapshot, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChunkPlace {
    segment: usize,
    place: u32,
}

#[derive(Debug, Clone, Copy)]
struct ScoredPlace {
    score: f32,
    at: ChunkPlace,
}

/// Collects the best of the offered chunks; of tied ones those with the lowest ids.
struct TopChunks<'a> {
    snapshot: &'a Snapshot,
    limit: usize,
    /// Ids of the chunks that may be found; all if `None`.
    among: Option<&'a HashSet<Uuid>>,
    /// Candidates, up to twice the limit.
    all: Vec<ScoredPlace>,
    min_score: f32,
}

impl<'a> TopChunks<'a> {
    fn new(
        snapshot: &'a Snapshot,
        limit: usize,
        min_score: f32,
        among: Option<&'a HashSet<Uuid>>,
    ) -> Self {
        Self { snapshot, limit, among, all: Vec::with_capacity(2 * limit), min_score }
    }

    fn is_candidate(&self, at: ChunkPlace) -> bool {
        let is_among = |among: &HashSet<Uuid>| {
            self.snapshot.chunk_id(at).is_some_and(|id| among.contains(&id))
        };
        !self.snapshot.is_deleted(at) && self.among.is_none_or(is_among)
    }

    /// Offers consecutive chunks, from `first` on, with these scores.
    fn offer(&mut self, scores: &[f32], first: ChunkPlace) {
        for (scores, lanes) in scores.chunks(LANES).zip((first.place..).step_by(LANES)) {
            // One branch for all lanes.
            if scores.iter().filter(|score| self.min_score <= **score).count() == 0 {
                continue;
            }
            for (score, place) in scores.iter().zip(lanes..) {
                let at = ChunkPlace { place, ..first };
                if self.min_score <= *score && self.is_candidate(at) {
                    self.all.push(ScoredPlace { score: *score, at });
                    if self.all.len() == 2 * self.limit {
                        self.keep_best();
                    }
                }
            }
        }
    }

    fn keep_best(&mut self) {
        if self.limit < self.all.len() {
            let order = |a: &ScoredPlace, b: &ScoredPlace| self.snapshot.compare_scores(a, b);
            let (_, last, _) = self.all.select_nth_unstable_by(self.limit - 1, order);
            self.min_score = last.score;
            self.all.truncate(self.limit);
        }
    }

    /// Returns the best, in no fixed order.
    fn into_places(mut self) -> impl Iterator<Item = ChunkPlace> {
        self.keep_best();
        self.all.into_iter().map(|scored| scored.at)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{
        NewChunk,
        test_support::{chunk, id, open},
    };

    fn root(number: u32) -> RootId {
        RootId(id(number % 3))
    }

    /// Returns a chunk of a run of one root. Term 0 is in all chunks, and term n in about one of n squared.
    fn random_chunk(number: u32, state: &mut u64) -> NewChunk {
        let mut random = || {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u16::try_from(*state >> 48).unwrap()
        };
        let has_term =
            |term: &u32| random().is_multiple_of(u16::try_from(term * term + 1).unwrap());
        let indices: Vec<u32> = (0..40).filter(has_term).collect();
        let values = indices.iter().map(|_| f32::from(random() % 4000) / 1000.0).collect();
        let mut new = chunk(number);
        new.record.root = root(number / 150);
        new.vectors.sparse = TermVector { indices, values };
        new
    }

    #[test]
    fn what_is_near_is_among_those_whose_signs_agree_most() {
        let folder = tempfile::TempDir::new().unwrap();
        let (mut writer, mut state) = (open(&folder.path().join("store")), 7);
        for first in [0, 2000, 4000] {
            let chunks = (first..first + 2000).map(|number| {
                let mut new = random_chunk(number, &mut state);
                let turn = f32::from(u16::try_from(number).unwrap());
                new.vectors.dense = vec![turn.sin(), turn.cos()];
                new
            });
            writer.put_chunks(chunks.collect()).unwrap();
        }
        let snapshot = writer.current().get();
        let vector = [0.6, -0.8];
        let Some(places) = snapshot.list_by_signs(&vector) else { return };
        let listed: Vec<Uuid> = places.iter().map(|at| snapshot.chunk_id(*at).unwrap()).collect();
        assert!(listed.len() < 3000, "{}", listed.len());
        // Chunks that are named one by one are compared by their codes alone.
        let all = (0..6000).map(|number| chunk(number).id).collect();
        let by_codes = IndexScope { owner: None, among: Some(&all) };
        let hits = snapshot.nearest(&vector, by_codes, 50).unwrap();
        assert!(hits.len() == 50 && hits.iter().all(|hit| listed.contains(&hit.id)));
        assert_eq!(snapshot.nearest(&vector, IndexScope::default(), 50).unwrap(), hits);
        assert!(Snapshot::default().list_by_signs(&vector).is_none());
    }

    #[test]
    fn shared_terms_find_what_a_comparison_with_every_chunk_finds() {
        let folder = tempfile::TempDir::new().unwrap();
        let (mut writer, mut state) = (open(&folder.path().join("store")), 7);
        let mut all = HashMap::new();
        for first in [0, 2000, 4000] {
            let chunks: Vec<NewChunk> =
                (first..first + 2000).map(|number| random_chunk(number, &mut state)).collect();
            all.extend(chunks.iter().map(|new| (new.id, new.clone())));
            writer.put_chunks(chunks).unwrap();
        }
        let deleted: Vec<Uuid> = (0..6000).step_by(7).map(id).collect();
        all.retain(|id, _| !deleted.contains(id));
        writer.remove_chunks(deleted);
        let snapshot = writer.current().get();
        let frequency = |term: &u32| {
            let has_term = |new: &&NewChunk| new.vectors.sparse.indices.contains(term);
            inverse_document_frequency(all.values().filter(has_term).count(), all.len())
        };
        for (terms, limit) in [
            (vec![0], 50),
            (vec![37, 39], 50),
            (vec![38], 1),
            (vec![99], 9),
            (vec![0, 1, 2, 5, 38], 70),
            ((0..40).collect(), 400),
        ] {
            let query = TermVector { values: vec![0.5; terms.len()], indices: terms };
            let factors: Vec<f32> =
                query.indices.iter().map(|term| 0.5 * frequency(term)).collect();
            for owner in [None, Some(root(0)), Some(root(2))] {
                let in_scope = |new: &&NewChunk| owner.is_none_or(|owner| new.record.root == owner);
                let score = |new: &NewChunk| {
                    let TermVector { indices, values } = &new.vectors.sparse;
                    let own: HashMap<&u32, &f32> = indices.iter().zip(values).collect();
                    let shared = query.indices.iter().zip(&factors);
                    let weights =
                        shared.filter_map(|(term, factor)| Some(factor * *own.get(term)?));
                    (weights.fold(0.0, |sum: f32, weight| sum + weight), new.id)
                };
                let mut expected: Vec<(f32, Uuid)> =
                    all.values().filter(in_scope).map(score).collect();
                expected.retain(|(score, _)| 0.0 < *score);
                expected.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
                expected.truncate(limit);
                let hits = snapshot.lexical(&query, IndexScope { owner, among: None }, limit);
                let found: Vec<(f32, Uuid)> =
                    hits.unwrap().into_iter().map(|hit| (hit.score, hit.id)).collect();
                assert_eq!(found, expected, "{query:?} {owner:?}");
            }
        }
    }
}
