//! What readers see: the roots, the segments, and what was deleted of each.
//!
//! A state never changes. A write makes another one and puts it in its place, so that readers never wait
//! and see each write whole.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use codeinfo_core::{Root, RootId};
use uuid::Uuid;

use super::{places::Places, segment::Segment, table::Table};
use crate::Size;

/// A segment, and what was deleted of it since it was written.
#[derive(Debug, Clone)]
pub(super) struct Live {
    pub(super) segment: Arc<Segment>,
    /// Names its file; `None` while it is only in memory.
    pub(super) number: Option<u64>,
    pub(super) deleted_chunks: Arc<Places>,
    pub(super) deleted_files: Arc<Places>,
    /// The list of them that is on disk.
    pub(super) saved: Option<Saved>,
}

/// A list of what was deleted of a segment. It only grows, so that its size says what it holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saved {
    /// Names its file.
    pub(super) number: u64,
    /// How many chunks and files it has.
    pub(super) counts: (u32, u32),
}

impl Live {
    /// Takes a segment of which nothing was deleted.
    pub(super) fn of(segment: Segment, number: Option<u64>) -> Self {
        let (deleted_chunks, deleted_files) = (Arc::default(), Arc::default());
        Self { segment: Arc::new(segment), number, deleted_chunks, deleted_files, saved: None }
    }

    /// Returns how many chunks are left.
    pub(super) fn chunks(&self) -> u32 {
        self.segment.chunks.len() - self.deleted_chunks.len()
    }

    /// Returns how many records of files are left.
    pub(super) fn files(&self) -> u32 {
        self.segment.files.len() - self.deleted_files.len()
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.chunks() == 0 && self.files() == 0
    }

    /// Returns where the chunks of a root are, or all, without deleted ones.
    pub(super) fn chunk_ranges(&self, of: Option<RootId>) -> impl Iterator<Item = Range<u32>> {
        self.segment.chunks.places(of).flat_map(|run| self.deleted_chunks.others(run))
    }

    /// Returns where the records of the files of a root are, without deleted ones.
    pub(super) fn file_ranges(&self, of: RootId) -> impl Iterator<Item = Range<u32>> {
        self.segment.files.places(Some(of)).flat_map(|run| self.deleted_files.others(run))
    }

    fn remove_chunks_of(&mut self, root: RootId) {
        remove_all(&self.segment.chunks, &mut self.deleted_chunks, root);
    }

    fn remove_files_of(&mut self, root: RootId) {
        remove_all(&self.segment.files, &mut self.deleted_files, root);
    }
}

fn remove_all(from: &Table, deleted: &mut Arc<Places>, of: RootId) {
    for place in from.places(Some(of)).flatten() {
        Arc::make_mut(deleted).insert(place);
    }
}

/// Everything there is at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) roots: Arc<BTreeMap<RootId, Root>>,
    pub(super) segments: Vec<Live>,
}

impl State {
    /// Counts the chunks of a root, or all.
    pub(super) fn count(&self, of: Option<RootId>) -> u64 {
        if of.is_none() {
            return self.segments.iter().map(|live| u64::from(live.chunks())).sum();
        }
        let ranges = self.segments.iter().flat_map(|live| live.chunk_ranges(of));
        ranges.map(|range| u64::from(range.end - range.start)).sum()
    }

    /// Returns how much room a root takes: its part of each segment, as it has chunks there. What was deleted
    /// takes room until it is merged away.
    pub(super) fn size(&self, of: RootId) -> Size {
        let mut size = Size::default();
        for Live { segment, .. } in &self.segments {
            let length = |ranges: &mut dyn Iterator<Item = Range<u32>>| -> u64 {
                ranges.map(|range| u64::from(range.end - range.start)).sum()
            };
            // A segment without chunks has records of files.
            let has_chunks = segment.chunks.len() > 0;
            let table = if has_chunks { &segment.chunks } else { &segment.files };
            let own = length(&mut table.places(Some(of)));
            let all = u128::from(table.len());
            let part = u128::from(segment.bytes()) * u128::from(own);
            let part = part.checked_div(all).and_then(|part| u64::try_from(part).ok());
            size.bytes += part.unwrap_or_default();
            size.is_estimate |= 0 < own && u128::from(own) < all;
        }
        size
    }

    /// Takes out the chunks with these ids.
    pub(super) fn remove_chunks(&mut self, ids: &HashSet<Uuid>) {
        for Live { segment, deleted_chunks, .. } in &mut self.segments {
            remove(&segment.chunks, deleted_chunks, ids);
        }
    }

    /// Takes out the records of files with these ids.
    pub(super) fn remove_files(&mut self, ids: &HashSet<Uuid>) {
        for Live { segment, deleted_files, .. } in &mut self.segments {
            remove(&segment.files, deleted_files, ids);
        }
    }

    /// Takes out a root with all that belongs to it.
    pub(super) fn remove_root(&mut self, root: RootId) {
        self.segments.iter_mut().for_each(|live| live.remove_chunks_of(root));
        self.remove_tree(root);
    }

    /// Takes out a root with the records of its files.
    pub(super) fn remove_tree(&mut self, root: RootId) {
        self.segments.iter_mut().for_each(|live| live.remove_files_of(root));
        Arc::make_mut(&mut self.roots).remove(&root);
    }
}

fn remove(from: &Table, deleted: &mut Arc<Places>, ids: &HashSet<Uuid>) {
    let found: Vec<u32> = ids.iter().filter_map(|id| from.find(*id)).collect();
    if found.iter().any(|place| !deleted.contains(*place)) {
        let deleted = Arc::make_mut(deleted);
        for place in found {
            deleted.insert(place);
        }
    }
}

/// The state that counts now. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Current(Arc<RwLock<Arc<State>>>);

impl Current {
    /// Returns the state of this moment.
    pub(super) fn get(&self) -> Arc<State> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another state in its place.
    pub(super) fn set(&self, state: State) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }
}
