//! The one writer: makes changes, and from time to time puts all of them on disk at once.
//!
//! New records make a segment in memory, which readers see at once. A commit writes all of those as one
//! segment, and lists of what was deleted of others, then the manifest that names them. What was written
//! since the last commit is lost when the process is killed: the root of a run that did not end says so,
//! and the next run writes it again.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::{FileRecord, Root, RootId, atomic};
use tracing::warn;
use uuid::Uuid;

use super::{
    super::{Chunk, StoreError},
    build::{self, file_id},
    deletions,
    held::Held,
    manifest::{Entry, Manifest, segment_file},
    roster::Roster,
    segment::{Compare, Segment},
    source::Source,
    state::{Current, Live, Saved, State},
    table::Table,
};

/// What must be free on the disk for chunks to be written.
const MIN_FREE: u64 = 64 << 20;
/// How many segments may be in memory before they are made one: a search looks at each.
const MAX_IN_MEMORY: usize = 32;
/// How many small segments may be on disk before a commit makes them one.
const MAX_SMALL: usize = 8;

/// Makes changes. Commits when dropped.
#[derive(Debug)]
pub(super) struct Writer {
    folder: PathBuf,
    held: Held,
    current: Current,
    manifest: Manifest,
    roster: Roster,
    /// After how many chunks in memory a commit is made.
    seal_chunks: u32,
    /// Whether anything is not on disk.
    is_changed: bool,
}

impl Writer {
    /// Takes over what was opened.
    pub(super) fn new(
        folder: &Path,
        held: Held,
        (manifest, segments): (Manifest, Vec<Live>),
        roster: Roster,
        seal_chunks: usize,
    ) -> Self {
        let roots = manifest.roots.iter().map(|root| (root.id, root.clone())).collect();
        let roots = Arc::new(roots);
        let current = Current::default();
        current.set(State { roots, segments });
        let seal_chunks = u32::try_from(seal_chunks).unwrap_or(u32::MAX);
        let folder = folder.to_owned();
        Self { folder, held, current, manifest, roster, seal_chunks, is_changed: false }
    }

    /// Returns what readers see.
    pub(super) fn current(&self) -> &Current {
        &self.current
    }

    pub(super) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Writes chunks, replacing those with the same ids.
    pub(super) fn put_chunks(&mut self, chunks: Vec<Chunk>) -> Result<(), StoreError> {
        self.check_room()?;
        let mut last: HashMap<Uuid, Chunk> = HashMap::with_capacity(chunks.len());
        let order: Vec<Uuid> = chunks.iter().map(|chunk| chunk.id).collect();
        last.extend(chunks.into_iter().map(|chunk| (chunk.id, chunk)));
        let ids: HashSet<Uuid> = last.keys().copied().collect();
        let chunks: Vec<Chunk> = order.iter().filter_map(|id| last.remove(id)).collect();
        self.add(&chunks, &[], |state| state.remove_chunks(&ids))
    }

    /// Writes records of files, replacing those of the same paths.
    pub(super) fn put_files(&mut self, files: Vec<FileRecord>) -> Result<(), StoreError> {
        self.check_room()?;
        let last: HashMap<Uuid, FileRecord> =
            files.into_iter().map(|file| (file_id(file.root, &file.path), file)).collect();
        let ids: HashSet<Uuid> = last.keys().copied().collect();
        let files: Vec<FileRecord> = last.into_values().collect();
        self.add(&[], &files, |state| state.remove_files(&ids))
    }

    /// Takes out chunks.
    pub(super) fn remove_chunks(&mut self, ids: Vec<Uuid>) {
        let ids = ids.into_iter().collect();
        self.change(|state| state.remove_chunks(&ids));
    }

    /// Takes out the records of files.
    pub(super) fn remove_files(&mut self, of: RootId, paths: &[String]) {
        let ids = paths.iter().map(|path| file_id(of, path)).collect();
        self.change(|state| state.remove_files(&ids));
    }

    /// Writes a root, on disk once this returns, as everything that was written before.
    pub(super) fn put_root(&mut self, root: Root) -> Result<(), StoreError> {
        self.change(|state| {
            Arc::make_mut(&mut state.roots).insert(root.id, root);
        });
        self.commit()?;
        self.list_roots();
        Ok(())
    }

    /// Takes out a root with all that belongs to it, on disk once this returns.
    pub(super) fn remove_root(&mut self, root: RootId) -> Result<(), StoreError> {
        self.change(|state| state.remove_root(root));
        self.commit()?;
        self.list_roots();
        Ok(())
    }

    /// Takes out a root with the records of its files, on disk once this returns.
    pub(super) fn remove_tree(&mut self, root: RootId) -> Result<(), StoreError> {
        self.change(|state| state.remove_tree(root));
        self.commit()?;
        self.list_roots();
        Ok(())
    }

    /// Brings the list of roots up to date that is kept apart.
    pub(super) fn list_roots(&self) {
        let roots: Vec<Root> = self.current.get().roots.values().cloned().collect();
        if let Err(error) = self.roster.follow(&roots) {
            warn!(%error, "the list of roots could not be written");
        }
    }

    /// Makes a change of what is there.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut State)) {
        let mut state = State::clone(&self.current.get());
        change(&mut state);
        self.current.set(state);
        self.is_changed = true;
    }

    /// Adds records in the place of others.
    fn add(
        &mut self,
        chunks: &[Chunk],
        files: &[FileRecord],
        replace: impl FnOnce(&mut State),
    ) -> Result<(), StoreError> {
        if chunks.is_empty() && files.is_empty() {
            return Ok(());
        }
        let dimensions = self.manifest.dimensions;
        let mut bytes = Vec::new();
        let written = build::write(&mut bytes, dimensions, chunks, files);
        let source = Source::Memory(Arc::new(bytes));
        let made = written.and_then(|()| Segment::open(source, dimensions, Compare::Memory));
        let made = made.map_err(|source| StoreError::io(&self.folder, source))?;
        self.change(|state| {
            replace(state);
            state.segments.push(Live::of(made, None));
        });
        let state = self.current.get();
        let in_memory = || state.segments.iter().filter(|live| live.segment.is_in_memory());
        if self.seal_chunks <= in_memory().map(Live::chunks).sum() {
            return self.commit();
        }
        if in_memory().count() <= MAX_IN_MEMORY {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let sources: Vec<Live> = in_memory().cloned().collect();
        let written = build::merge(&mut bytes, dimensions, &sources);
        let source = Source::Memory(Arc::new(bytes));
        let made = written.and_then(|()| Segment::open(source, dimensions, Compare::Memory));
        let made = made.map_err(|source| StoreError::io(&self.folder, source))?;
        self.change(|state| {
            state.segments.retain(|live| !live.segment.is_in_memory());
            state.segments.push(Live::of(made, None));
        });
        Ok(())
    }

    /// Puts everything that was written on disk.
    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        if !self.is_changed {
            return Ok(());
        }
        let mut state = State::clone(&self.current.get());
        let sources = self.sealed_together(&state);
        if !sources.is_empty() {
            let number = self.number()?;
            let made = merged(&self.folder, self.manifest.dimensions, &sources, number)?;
            replace(&mut state, &sources, made);
        }
        state.segments.retain(|live| !live.is_empty());
        // Should the rest fail, the next try does not write the segment once more.
        self.current.set(state.clone());
        self.save(state)
    }

    /// Chooses what a commit writes as one segment: what is in memory, and small segments once there are
    /// many.
    fn sealed_together(&self, state: &State) -> Vec<Live> {
        let is_small = |live: &&Live| live.chunks() < self.seal_chunks / 2;
        let small = state.segments.iter().filter(is_small).count();
        let is_chosen =
            |live: &&Live| live.segment.is_in_memory() || (MAX_SMALL < small && is_small(live));
        state.segments.iter().filter(is_chosen).cloned().collect()
    }

    /// Replaces segments that were merged, on disk once this returns, as everything that was written
    /// before: what replaces a chunk goes to the disk with its deletion. What was deleted of them meanwhile
    /// is deleted of the new one. If a commit has merged one of them meanwhile, all stay as they are.
    pub(super) fn finish_merge(
        &mut self,
        sources: &[Live],
        mut made: Option<Live>,
    ) -> Result<(), StoreError> {
        let mut state = State::clone(&self.current.get());
        let is_there = |source: &Live| {
            state.segments.iter().any(|live| Arc::ptr_eq(&live.segment, &source.segment))
        };
        if !sources.iter().all(is_there) {
            if let Some(number) = made.and_then(|made| made.number) {
                drop(fs::remove_file(self.folder.join(segment_file(number))));
            }
            return Ok(());
        }
        if let Some(made) = &mut made {
            follow(made, sources, &state);
        }
        replace(&mut state, sources, made);
        self.change(|current| *current = state);
        self.commit()
    }

    /// Sets a number for a new segment aside. Fails when the folder is no longer the one that was opened.
    pub(super) fn number(&mut self) -> Result<u64, StoreError> {
        self.check()?;
        Ok(self.manifest.number())
    }

    /// Returns where the store is, and how long its vectors are.
    pub(super) fn place(&self) -> (PathBuf, usize) {
        (self.folder.clone(), self.manifest.dimensions)
    }

    /// Writes the manifest of a state that is in files, makes it the current one, and removes files that it
    /// does not name any more.
    fn save(&mut self, mut state: State) -> Result<(), StoreError> {
        self.check()?;
        let mut next = self.manifest.clone();
        next.roots = state.roots.values().cloned().collect();
        next.segments = Vec::with_capacity(state.segments.len());
        for live in &mut state.segments {
            let Some(number) = live.number else { continue };
            let now = (live.deleted_chunks.len(), live.deleted_files.len());
            if live.saved.map_or((0, 0), |saved| saved.counts) != now {
                let number = next.number();
                deletions::write(&self.folder, number, live)?;
                live.saved = Some(Saved { number, counts: now });
            }
            let tables = [&live.segment.chunks, &live.segment.files];
            let roots: BTreeSet<RootId> = tables.into_iter().flat_map(Table::roots).collect();
            let deleted = live.saved.map(|saved| saved.number);
            next.segments.push(Entry { number, deleted, roots: roots.into_iter().collect() });
        }
        next.write(&self.folder)?;
        let former = std::mem::replace(&mut self.manifest, next);
        self.is_changed = false;
        self.current.set(state);
        let kept: BTreeSet<String> = self.manifest.segments.iter().flat_map(Entry::files).collect();
        for file in former.segments.iter().flat_map(Entry::files) {
            if !kept.contains(&file) {
                // One that stays is removed by the next start.
                drop(fs::remove_file(self.folder.join(file)));
            }
        }
        Ok(())
    }

    /// Fails when the folder is no longer the one that was opened.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.held.check()
    }

    /// Fails when the disk is nearly full.
    pub(super) fn check_room(&self) -> Result<(), StoreError> {
        let path = &self.folder;
        let free = free_bytes(path).map_err(|source| StoreError::io(path, source))?;
        if free < MIN_FREE {
            return Err(StoreError::Full { path: path.clone(), wanted: MIN_FREE });
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.commit() {
            warn!(%error, "the store was closed without its last changes; the next run makes them again");
        }
    }
}

/// Writes what is left of some segments as one file and opens it; `None` if nothing is left.
pub(super) fn merged(
    folder: &Path,
    dimensions: usize,
    sources: &[Live],
    number: u64,
) -> Result<Option<Live>, StoreError> {
    if sources.iter().all(Live::is_empty) {
        return Ok(None);
    }
    let path = folder.join(segment_file(number));
    let write = || {
        let mut options = File::options();
        let mut file =
            atomic::open_regular_file(&path, options.read(true).write(true).create_new(true))?;
        build::merge(BufWriter::new(&mut file), dimensions, sources)?;
        file.sync_all()?;
        Segment::open(Source::open(&path)?, dimensions, Compare::Memory)
    };
    let made = write().map_err(|source| {
        drop(fs::remove_file(&path));
        StoreError::io(&path, source)
    });
    Ok(Some(Live::of(made?, Some(number))))
}

/// Puts a segment in the place of those that it was made of.
fn replace(state: &mut State, sources: &[Live], made: Option<Live>) {
    let is_source =
        |live: &Live| sources.iter().any(|source| Arc::ptr_eq(&source.segment, &live.segment));
    state.segments.retain(|live| !is_source(live));
    state.segments.extend(made);
}

/// Deletes of a segment what was deleted of those that it was made of since.
fn follow(made: &mut Live, sources: &[Live], state: &State) {
    let places = build::places(sources);
    for (source, [chunks, files]) in sources.iter().zip(places) {
        let is_now = |live: &&Live| Arc::ptr_eq(&source.segment, &live.segment);
        let Some(now) = state.segments.iter().find(is_now) else { continue };
        for (from, to) in (0..).zip(chunks) {
            if let Some(to) = to.filter(|_| now.deleted_chunks.contains(from)) {
                Arc::make_mut(&mut made.deleted_chunks).insert(to);
            }
        }
        for (from, to) in (0..).zip(files) {
            if let Some(to) = to.filter(|_| now.deleted_files.contains(from)) {
                Arc::make_mut(&mut made.deleted_files).insert(to);
            }
        }
    }
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn free_bytes(_: &Path) -> std::io::Result<u64> {
    Ok(u64::MAX)
}
