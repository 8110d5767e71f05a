//! Snapshots for readers: the roots, the segments, and the deletions of each.
//!
//! A snapshot never changes: a write replaces it, so that readers never wait and see writes whole.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use codeinfo_core::{Root, RootId};
use uuid::Uuid;

use crate::{StorageSize, deletions::PlaceSet, segment::IndexSegment, table::RecordTable};

/// A segment and its deletions since it was written.
#[derive(Debug, Clone)]
pub(crate) struct LiveSegment {
    pub(crate) segment: Arc<IndexSegment>,
    /// Number of its file; `None` while it is only in memory.
    pub(crate) number: Option<u64>,
    pub(crate) deleted_chunks: Arc<PlaceSet>,
    pub(crate) deleted_files: Arc<PlaceSet>,
    /// The deletions that are on disk.
    pub(crate) saved: Option<SavedDeletions>,
}

/// Saved deletions of a segment. They only grow, so that their number identifies them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SavedDeletions {
    /// Number of the file.
    pub(crate) number: u64,
    /// Number of deleted chunks and files.
    pub(crate) counts: (u32, u32),
}

impl LiveSegment {
    pub(crate) fn new(segment: IndexSegment, number: Option<u64>) -> Self {
        let (deleted_chunks, deleted_files) = (Arc::default(), Arc::default());
        Self { segment: Arc::new(segment), number, deleted_chunks, deleted_files, saved: None }
    }

    /// Returns the segment with the deletions that file `number` has.
    pub(crate) fn with_saved_deletions(
        self,
        number: u64,
        chunks: PlaceSet,
        files: PlaceSet,
    ) -> Self {
        let saved = Some(SavedDeletions { number, counts: (chunks.len(), files.len()) });
        let (deleted_chunks, deleted_files) = (Arc::new(chunks), Arc::new(files));
        Self { deleted_chunks, deleted_files, saved, ..self }
    }

    pub(crate) fn chunk_count(&self) -> u32 {
        self.segment.chunks.len() - self.deleted_chunks.len()
    }

    /// Returns the number of remaining file records.
    pub(crate) fn file_count(&self) -> u32 {
        self.segment.files.len() - self.deleted_files.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunk_count() == 0 && self.file_count() == 0
    }

    /// Returns the places of the remaining chunks of a root, or of all.
    pub(crate) fn chunk_ranges(&self, owner: Option<RootId>) -> impl Iterator<Item = Range<u32>> {
        self.segment
            .chunks
            .root_ranges(owner)
            .flat_map(|run| self.deleted_chunks.ranges_without(run))
    }

    pub(crate) fn file_ranges(&self, root: RootId) -> impl Iterator<Item = Range<u32>> {
        self.segment
            .files
            .root_ranges(Some(root))
            .flat_map(|run| self.deleted_files.ranges_without(run))
    }
}

/// The records of an index at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(crate) roots: Arc<BTreeMap<RootId, Root>>,
    pub(crate) segments: Vec<LiveSegment>,
}

impl Snapshot {
    /// Returns every root, ordered by id.
    pub fn roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.values()
    }

    /// Counts the chunks of an owner, or of all.
    pub fn count(&self, owner: Option<RootId>) -> u64 {
        if owner.is_none() {
            return self.segments.iter().map(|live| u64::from(live.chunk_count())).sum();
        }
        let ranges = self.segments.iter().flat_map(|live| live.chunk_ranges(owner));
        ranges.map(|range| u64::from(range.end - range.start)).sum()
    }

    /// Returns the disk space of a root: its share of each segment by chunks, with deleted ones not yet merged away.
    pub fn size(&self, root: RootId) -> StorageSize {
        let mut size = StorageSize::default();
        for LiveSegment { segment, .. } in &self.segments {
            let length = |ranges: &mut dyn Iterator<Item = Range<u32>>| -> u64 {
                ranges.map(|range| u64::from(range.end - range.start)).sum()
            };
            // A segment without chunks has records of files.
            let has_chunks = segment.chunks.len() > 0;
            let table = if has_chunks { &segment.chunks } else { &segment.files };
            let own = length(&mut table.root_ranges(Some(root)));
            let all = u128::from(table.len());
            let weighted = u128::from(segment.byte_len()) * u128::from(own);
            let share = weighted.checked_div(all).and_then(|share| u64::try_from(share).ok());
            size.bytes += share.unwrap_or_default();
            size.is_estimate |= own > 0 && u128::from(own) < all;
        }
        size
    }

    pub(crate) fn remove_chunks(&mut self, ids: &HashSet<Uuid>) {
        for LiveSegment { segment, deleted_chunks, .. } in &mut self.segments {
            delete_places(&segment.chunks, deleted_chunks, ids);
        }
    }

    pub(crate) fn remove_files(&mut self, ids: &HashSet<Uuid>) {
        for LiveSegment { segment, deleted_files, .. } in &mut self.segments {
            delete_places(&segment.files, deleted_files, ids);
        }
    }

    /// Removes a root with its file records, and its chunks unless `keeps_chunks`.
    pub(crate) fn remove_root(&mut self, root: RootId, keeps_chunks: bool) {
        for LiveSegment { segment, deleted_chunks, deleted_files, .. } in &mut self.segments {
            if !keeps_chunks {
                delete_root_places(&segment.chunks, deleted_chunks, root);
            }
            delete_root_places(&segment.files, deleted_files, root);
        }
        Arc::make_mut(&mut self.roots).remove(&root);
    }
}

fn delete_root_places(from: &RecordTable, deleted: &mut Arc<PlaceSet>, root: RootId) {
    for place in from.root_ranges(Some(root)).flatten() {
        Arc::make_mut(deleted).insert(place);
    }
}

fn delete_places(from: &RecordTable, deleted: &mut Arc<PlaceSet>, ids: &HashSet<Uuid>) {
    let found: Vec<u32> = ids.iter().filter_map(|id| from.find_place(*id)).collect();
    if found.iter().any(|place| !deleted.contains(*place)) {
        let deleted = Arc::make_mut(deleted);
        for place in found {
            deleted.insert(place);
        }
    }
}

/// The current snapshot. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentSnapshot(Arc<RwLock<Arc<Snapshot>>>);

impl CurrentSnapshot {
    pub(crate) fn get(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, state: Snapshot) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }
}
