//! The only writer of an index: makes changes and commits them to disk.
//!
//! New records make a segment in memory, which readers see at once. A commit writes all of these as one segment, and
//! the deletions of others, then the manifest that names them. Changes since the last commit are lost when the
//! process is killed: the root records that its run did not end, and the next run repeats it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::{FileRecord, Root, RootId};
use tracing::warn;
use uuid::Uuid;

use crate::{
    IndexError, NewChunk,
    build::{self, file_id},
    deletions::{self, PlaceSet},
    folder::{self, FolderLock},
    manifest::{IndexManifest, SegmentEntry, segment_file_name},
    root_list::RootList,
    segment::{ChecksumScope, IndexSegment},
    snapshot::{CurrentSnapshot, LiveSegment, SavedDeletions, Snapshot},
    source::SegmentSource,
    table::RecordTable,
};

/// Minimum free bytes on the disk for writes.
const MIN_FREE: u64 = 64 << 20;
/// Maximum number of segments in memory before they are merged: a search reads each.
const MAX_IN_MEMORY: usize = 32;
/// Maximum number of small segments on disk before a commit merges them.
const MAX_SMALL: usize = 8;

/// The manifest of an index and the segments that it names.
pub(crate) struct IndexContents {
    pub(crate) manifest: IndexManifest,
    pub(crate) segments: Vec<LiveSegment>,
}

/// Makes changes. Commits when dropped.
#[derive(Debug)]
pub struct IndexWriter {
    folder: PathBuf,
    lock: FolderLock,
    current: CurrentSnapshot,
    manifest: IndexManifest,
    root_list: RootList,
    /// Number of chunks in memory at which a commit is made.
    seal_chunks: u32,
    /// True while a change is not on disk.
    is_changed: bool,
}

impl IndexWriter {
    pub(crate) fn new(
        folder: &Path,
        lock: FolderLock,
        contents: IndexContents,
        root_list: RootList,
        seal_chunks: usize,
    ) -> Self {
        let IndexContents { manifest, segments } = contents;
        let roots = manifest.roots.iter().map(|root| (root.id, root.clone())).collect();
        let roots = Arc::new(roots);
        let current = CurrentSnapshot::default();
        current.set(Snapshot { roots, segments });
        let seal_chunks = u32::try_from(seal_chunks).unwrap_or(u32::MAX);
        Self {
            folder: folder.to_owned(),
            lock,
            current,
            manifest,
            root_list,
            seal_chunks,
            is_changed: false,
        }
    }

    pub(crate) fn current(&self) -> &CurrentSnapshot {
        &self.current
    }

    pub(crate) fn root_list(&self) -> &RootList {
        &self.root_list
    }

    /// Writes chunks, replacing those with the same ids; of several with one id the last one counts.
    pub fn put_chunks(&mut self, chunks: Vec<NewChunk>) -> Result<(), IndexError> {
        self.check_room()?;
        let mut last: HashMap<Uuid, NewChunk> = HashMap::with_capacity(chunks.len());
        let order: Vec<Uuid> = chunks.iter().map(|chunk| chunk.id).collect();
        last.extend(chunks.into_iter().map(|chunk| (chunk.id, chunk)));
        let ids: HashSet<Uuid> = last.keys().copied().collect();
        let chunks: Vec<NewChunk> = order.iter().filter_map(|id| last.remove(id)).collect();
        self.add_segment(&chunks, &[], |snapshot| snapshot.remove_chunks(&ids))
    }

    /// Writes file records, replacing those of the same paths.
    pub fn put_files(&mut self, files: Vec<FileRecord>) -> Result<(), IndexError> {
        self.check_room()?;
        let last: HashMap<Uuid, FileRecord> =
            files.into_iter().map(|file| (file_id(file.root, &file.path), file)).collect();
        let ids: HashSet<Uuid> = last.keys().copied().collect();
        let files: Vec<FileRecord> = last.into_values().collect();
        self.add_segment(&[], &files, |snapshot| snapshot.remove_files(&ids))
    }

    /// Removes the chunks with these ids.
    pub fn remove_chunks(&mut self, ids: Vec<Uuid>) {
        let distinct = ids.into_iter().collect();
        self.change_snapshot(|snapshot| snapshot.remove_chunks(&distinct));
    }

    /// Removes the file records of a root with these paths.
    pub fn remove_files(&mut self, root: RootId, paths: &[String]) {
        let ids = paths.iter().map(|path| file_id(root, path)).collect();
        self.change_snapshot(|snapshot| snapshot.remove_files(&ids));
    }

    /// Writes a root, on disk with everything written before it once this returns.
    pub fn put_root(&mut self, root: Root) -> Result<(), IndexError> {
        self.change_snapshot(|snapshot| {
            Arc::make_mut(&mut snapshot.roots).insert(root.id, root);
        });
        self.commit()?;
        self.save_root_list();
        Ok(())
    }

    /// Removes a root with its file records, and its chunks unless `keeps_chunks`, on disk once this returns.
    pub fn remove_root(&mut self, root: RootId, keeps_chunks: bool) -> Result<(), IndexError> {
        self.change_snapshot(|snapshot| snapshot.remove_root(root, keeps_chunks));
        self.commit()?;
        self.save_root_list();
        Ok(())
    }

    pub(crate) fn save_root_list(&self) {
        let roots: Vec<Root> = self.current.get().roots.values().cloned().collect();
        if let Err(error) = self.root_list.update(&roots) {
            warn!(%error, "the list of roots could not be written");
        }
    }

    pub(crate) fn change_snapshot(&mut self, change: impl FnOnce(&mut Snapshot)) {
        let mut snapshot = Snapshot::clone(&self.current.get());
        change(&mut snapshot);
        self.current.set(snapshot);
        self.is_changed = true;
    }

    /// Adds a segment of records after `replace` removed those that they replace.
    fn add_segment(
        &mut self,
        chunks: &[NewChunk],
        files: &[FileRecord],
        replace: impl FnOnce(&mut Snapshot),
    ) -> Result<(), IndexError> {
        if chunks.is_empty() && files.is_empty() {
            return Ok(());
        }
        let dimensions = self.manifest.dimensions;
        let added =
            self.build_in_memory(|bytes| build::write_segment(bytes, dimensions, chunks, files))?;
        self.change_snapshot(|snapshot| {
            replace(snapshot);
            snapshot.segments.push(added);
        });
        let snapshot = self.current.get();
        let in_memory = || snapshot.segments.iter().filter(|live| live.segment.is_in_memory());
        if in_memory().map(LiveSegment::chunk_count).sum::<u32>() >= self.seal_chunks {
            return self.commit();
        }
        if in_memory().count() <= MAX_IN_MEMORY {
            return Ok(());
        }
        let sources: Vec<LiveSegment> = in_memory().cloned().collect();
        let merged =
            self.build_in_memory(|bytes| build::merge_segments(bytes, dimensions, &sources))?;
        self.change_snapshot(|snapshot| {
            snapshot.segments.retain(|live| !live.segment.is_in_memory());
            snapshot.segments.push(merged);
        });
        Ok(())
    }

    fn build_in_memory(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> Result<LiveSegment, IndexError> {
        let build = || {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            let source = SegmentSource::Memory(Arc::new(bytes));
            IndexSegment::open(source, self.manifest.dimensions, ChecksumScope::Memory)
        };
        let segment = build().map_err(|source| IndexError::io(&self.folder, source))?;
        Ok(LiveSegment::new(segment, None))
    }

    /// Writes all changes to disk.
    pub fn commit(&mut self) -> Result<(), IndexError> {
        if !self.is_changed {
            return Ok(());
        }
        let mut snapshot = Snapshot::clone(&self.current.get());
        let sources = self.choose_sealed(&snapshot);
        if !sources.is_empty() {
            let number = self.take_number()?;
            let merged = write_merged(&self.folder, self.manifest.dimensions, &sources, number)?;
            replace_segments(&mut snapshot, &sources, merged);
        }
        snapshot.segments.retain(|live| !live.is_empty());
        // If the rest fails, the next try need not write the segment again.
        self.current.set(snapshot.clone());
        self.save_manifest(snapshot)
    }

    /// Chooses the segments that a commit writes as one: those in memory, and small ones if there are many.
    fn choose_sealed(&self, snapshot: &Snapshot) -> Vec<LiveSegment> {
        let is_small = |live: &&LiveSegment| live.chunk_count() < self.seal_chunks / 2;
        let small = snapshot.segments.iter().filter(is_small).count();
        let is_chosen = |live: &&LiveSegment| {
            live.segment.is_in_memory() || (small > MAX_SMALL && is_small(live))
        };
        snapshot.segments.iter().filter(is_chosen).cloned().collect()
    }

    /// Replaces merged segments, on disk with everything before once this returns, so that a chunk's replacement is
    /// saved with its deletion. Applies deletions since the merge began. Does nothing if a commit merged a source.
    pub(crate) fn finish_merge(
        &mut self,
        sources: &[LiveSegment],
        mut merged: Option<LiveSegment>,
    ) -> Result<(), IndexError> {
        let mut snapshot = Snapshot::clone(&self.current.get());
        let is_current = |source: &LiveSegment| {
            snapshot.segments.iter().any(|live| Arc::ptr_eq(&live.segment, &source.segment))
        };
        if !sources.iter().all(is_current) {
            if let Some(number) = merged.and_then(|merged| merged.number) {
                drop(fs::remove_file(self.folder.join(segment_file_name(number))));
            }
            return Ok(());
        }
        if let Some(merged) = &mut merged {
            copy_deletions(merged, sources, &snapshot);
        }
        replace_segments(&mut snapshot, sources, merged);
        self.change_snapshot(|current| *current = snapshot);
        self.commit()
    }

    /// Returns an unused number for a new segment. Fails if the folder was replaced.
    pub(crate) fn take_number(&mut self) -> Result<u64, IndexError> {
        self.check_folder()?;
        Ok(self.manifest.take_number())
    }

    pub(crate) fn folder_and_dimensions(&self) -> (PathBuf, usize) {
        (self.folder.clone(), self.manifest.dimensions)
    }

    /// Writes the manifest of a snapshot in files, makes it current, and removes files that it no longer names.
    fn save_manifest(&mut self, mut snapshot: Snapshot) -> Result<(), IndexError> {
        self.check_folder()?;
        let mut next = self.manifest.clone();
        next.roots = snapshot.roots.values().cloned().collect();
        next.segments = Vec::with_capacity(snapshot.segments.len());
        for live in &mut snapshot.segments {
            let Some(number) = live.number else { continue };
            let counts = (live.deleted_chunks.len(), live.deleted_files.len());
            if live.saved.map_or((0, 0), |saved| saved.counts) != counts {
                let number = next.take_number();
                let (chunks, files) = (&live.deleted_chunks, &live.deleted_files);
                deletions::write_deletions(&self.folder, number, chunks, files)?;
                live.saved = Some(SavedDeletions { number, counts });
            }
            let tables = [&live.segment.chunks, &live.segment.files];
            let roots: BTreeSet<RootId> = tables.into_iter().flat_map(RecordTable::roots).collect();
            let deleted = live.saved.map(|saved| saved.number);
            next.segments.push(SegmentEntry {
                number,
                deleted,
                roots: roots.into_iter().collect(),
            });
        }
        next.write(&self.folder)?;
        let former = std::mem::replace(&mut self.manifest, next);
        self.is_changed = false;
        self.current.set(snapshot);
        let kept: BTreeSet<String> =
            self.manifest.segments.iter().flat_map(SegmentEntry::file_names).collect();
        for file in former.segments.iter().flat_map(SegmentEntry::file_names) {
            if !kept.contains(&file) {
                // The next start removes a file that remains.
                drop(fs::remove_file(self.folder.join(file)));
            }
        }
        Ok(())
    }

    pub(crate) fn check_folder(&self) -> Result<(), IndexError> {
        self.lock.check_folder()
    }

    /// Fails if the disk is nearly full.
    pub(crate) fn check_room(&self) -> Result<(), IndexError> {
        let path = &self.folder;
        let free = free_bytes(path).map_err(|source| IndexError::io(path, source))?;
        if free < MIN_FREE {
            return Err(IndexError::Full { path: path.clone(), wanted: MIN_FREE });
        }
        Ok(())
    }
}

impl Drop for IndexWriter {
    fn drop(&mut self) {
        if let Err(error) = self.commit() {
            warn!(%error, "the store was closed without its last changes; the next run makes them again");
        }
    }
}

/// Writes the remaining records of some segments as one file and opens it; `None` if there are none.
pub(crate) fn write_merged(
    folder: &Path,
    dimensions: usize,
    sources: &[LiveSegment],
    number: u64,
) -> Result<Option<LiveSegment>, IndexError> {
    if sources.iter().all(LiveSegment::is_empty) {
        return Ok(None);
    }
    let path = folder.join(segment_file_name(number));
    let write = || {
        let mut options = File::options();
        let mut file =
            folder::open_regular_file(&path, options.read(true).write(true).create_new(true))?;
        build::merge_segments(BufWriter::new(&mut file), dimensions, sources)?;
        file.sync_all()?;
        IndexSegment::open(SegmentSource::open(&path)?, dimensions, ChecksumScope::Memory)
    };
    let merged = write().map_err(|source| {
        drop(fs::remove_file(&path));
        IndexError::io(&path, source)
    });
    Ok(Some(LiveSegment::new(merged?, Some(number))))
}

fn replace_segments(snapshot: &mut Snapshot, sources: &[LiveSegment], merged: Option<LiveSegment>) {
    let is_source = |live: &LiveSegment| {
        sources.iter().any(|source| Arc::ptr_eq(&source.segment, &live.segment))
    };
    snapshot.segments.retain(|live| !is_source(live));
    snapshot.segments.extend(merged);
}

/// Applies deletions of the sources since the merge began to the merged segment.
fn copy_deletions(merged: &mut LiveSegment, sources: &[LiveSegment], snapshot: &Snapshot) {
    let places = build::map_places(sources);
    for (source, [chunks, files]) in sources.iter().zip(places) {
        let is_source = |live: &&LiveSegment| Arc::ptr_eq(&source.segment, &live.segment);
        let Some(current) = snapshot.segments.iter().find(is_source) else { continue };
        copy_moved_places(&current.deleted_chunks, chunks, &mut merged.deleted_chunks);
        copy_moved_places(&current.deleted_files, files, &mut merged.deleted_files);
    }
}

/// Copies places of `from` to their new places, which are listed by the former ones.
fn copy_moved_places(from: &PlaceSet, new_places: Vec<Option<u32>>, to: &mut Arc<PlaceSet>) {
    for (former, new) in (0..).zip(new_places) {
        if let Some(new) = new.filter(|_| from.contains(former)) {
            Arc::make_mut(to).insert(new);
        }
    }
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn free_bytes(_: &Path) -> io::Result<u64> {
    Ok(u64::MAX)
}
