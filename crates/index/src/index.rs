//! The public face of the index: opens a folder, changes it and returns snapshots for reading.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
};

use crate::{
    IndexError, OnMismatch,
    merger::SegmentMerger,
    open,
    root_list::RootList,
    segment::ChecksumScope,
    snapshot::{CurrentSnapshot, Snapshot},
    writer::IndexWriter,
};

/// Options for opening an index.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// Id of the embedding model.
    pub model: String,
    /// Length of vectors.
    pub dimensions: usize,
    /// Reaction to an index of another model or layout.
    pub on_mismatch: OnMismatch,
    /// True to move damaged files away for runs to repair; false to refuse damage.
    pub repairs: bool,
    /// True to compare every byte with its checksum; false for parts that are read into memory only.
    pub checks_all: bool,
    /// Number of chunks in memory at which they are written to disk.
    pub seal_chunks: usize,
}

/// An open index. Dropping it commits, which blocks for some tenths of a second. Reads use a [`Snapshot`] and never
/// wait. Changes are made one after the other. All functions block.
#[derive(Debug)]
pub struct Index {
    current: CurrentSnapshot,
    writer: Arc<Mutex<IndexWriter>>,
    merger: SegmentMerger,
    root_list: RootList,
}

impl Index {
    /// Opens the index in `folder`, creating it if needed.
    pub fn open(folder: &Path, options: &IndexOptions) -> Result<Self, IndexError> {
        let writer = open::open_index(folder, options)?;
        let (current, root_list) = (writer.current().clone(), writer.root_list().clone());
        let writer = Arc::new(Mutex::new(writer));
        let merger = SegmentMerger::new(Arc::clone(&writer));
        Ok(Self { current, writer, merger, root_list })
    }

    /// Reads the id and the vector length of the model that filled the index in `folder`, if there is one.
    pub fn read_model(folder: &Path) -> Result<Option<(String, usize)>, IndexError> {
        open::read_model(folder)
    }

    /// Returns the present records, for reading.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.get()
    }

    /// Changes the index, after changes that began before.
    pub fn write<T>(&self, change: impl FnOnce(&mut IndexWriter) -> T) -> T {
        change(&mut self.lock_writer())
    }

    /// Fails if the folder was replaced or the disk is nearly full. Never waits; a write in progress fails by itself.
    pub fn check_writes(&self) -> Result<(), IndexError> {
        let writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        writer.check_folder()?;
        writer.check_room()
    }

    /// Describes the damage found when the index was opened, and the roots that are not yet repaired.
    pub fn damage(&self) -> Option<String> {
        self.root_list.describe_damage()
    }

    /// Merges segments on a thread of its own, if that is worthwhile.
    pub fn start_merging(&self) {
        self.merger.start_if_useful(&self.lock_writer());
    }

    /// Waits until no segments are being merged.
    pub fn wait_for_merging(&self) {
        self.merger.wait();
    }

    // A panic leaves the snapshot of before.
    fn lock_writer(&self) -> MutexGuard<'_, IndexWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexOptions {
    pub(crate) fn checksum_scope(&self) -> ChecksumScope {
        if self.checks_all { ChecksumScope::All } else { ChecksumScope::Memory }
    }
}
