//! What each file of the engine held when nothing had been written for a while, so that damage is
//! noticed before the engine reads it.
//!
//! The list is written after the engine has put everything on disk. Before the next change it says
//! that the store is not at rest, on disk: from then on only files that never change are compared, so
//! that a process that was killed at any moment leaves nothing that looks like damage.
//!
//! Opening compares every file of a store at rest, else only those of sealed segments, and all
//! before the engine reads them: a kill never looks like damage, and a flipped length never
//! becomes memory. Holes of files are neither read nor counted.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use super::{
    super::{Collection, StoreError, atomic},
    shard,
};

/// The list, below the folder of the store: a checksum of its own in the first line, then JSON.
pub(super) const FILE: &str = "checksums";
/// Where a shard keeps its segments.
const SEGMENTS: &str = "segments";
/// How the name of a segment ends that the engine is about to remove.
const REMOVED: &str = ".deleted";
/// What is read of a file at a time, and what is left out where it is all zeros. The engine makes files
/// of 32 MiB that are mostly holes; those are neither read nor counted.
const READ: usize = 1 << 18;
const BLOCK: usize = 4096;
/// Threads that compare files.
const MAX_THREADS: usize = 4;

/// The list of an open store.
#[derive(Debug)]
pub(super) struct Checksums {
    folder: PathBuf,
    record: Record,
    state: State,
}

/// What was found when a list was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Whole,
    Missing,
    Damaged,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// Whether nothing was changed since all files were read.
    at_rest: bool,
    /// By the path below the folder of the store.
    files: BTreeMap<String, Print>,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Print {
    size: u64,
    sum: u32,
    /// Kept of files that never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Stamp>,
}

/// What the system says of a file, and says differently once it is written to or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    inode: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Which files are read to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    All,
    /// Those that may change, and those whose stamp is another one.
    Unstamped,
}

impl Print {
    fn holds_as(&self, other: Self) -> bool {
        (self.size, self.sum) == (other.size, other.sum)
    }
}

impl Checksums {
    /// Reads the list of `folder`. One that is missing or damaged itself is empty: it proves nothing.
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        let (state, record) = match atomic::read(&folder.join(FILE)) {
            Ok(None) => (State::Missing, Record::default()),
            Ok(Some(bytes)) => decode(&bytes)
                .map_or((State::Damaged, Record::default()), |record| (State::Whole, record)),
            Err(StoreError::Io { source, .. }) if is_no_file(&source) => {
                (State::Damaged, Record::default())
            }
            Err(error) => return Err(error),
        };
        Ok(Self { folder: folder.to_owned(), record, state })
    }

    /// Returns what was found in place of the list.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Returns the files that are not what was written, by their paths below the folder of the store.
    pub(super) fn damaged(&mut self, compare: Compare) -> Result<Vec<String>, StoreError> {
        let is_read = |path: &str| compare == Compare::All || !self.is_stamped(path);
        let known = self.record.files.keys().map(String::as_str);
        let known: Vec<&str> = known.filter(|path| self.counts(path) && is_read(path)).collect();
        let found = prints(&self.folder, &known)?;
        let found: Vec<_> = known.into_iter().map(ToOwned::to_owned).zip(found).collect();
        let mut damaged = Vec::new();
        for (path, found) in found {
            let is_final = self.is_final(&path);
            match (self.record.files.get_mut(&path), found) {
                (Some(known), Some(found)) if known.holds_as(found) => {
                    // Another one in a store that was copied.
                    known.stamp = found.stamp.filter(|_| is_final);
                }
                _ => damaged.push(path),
            }
        }
        Ok(damaged)
    }

    /// Whether the system says of a file that never changes what it said when that was last read.
    fn is_stamped(&self, path: &str) -> bool {
        let known = self.record.files.get(path).filter(|_| self.is_final(path));
        let found = self.folder.join(path).symlink_metadata().ok();
        known.zip(found).is_some_and(|(known, found)| {
            known.stamp.is_some() && known.stamp == stamp(&found) && known.size == found.len()
        })
    }

    /// Whether a file must be as it was: all at rest, else what never changes of segments that are
    /// still there. Rebuilding removes segments.
    fn counts(&self, path: &str) -> bool {
        let is_there = || segment(path).is_some_and(|segment| self.folder.join(segment).is_dir());
        self.record.at_rest || self.is_final(path) && is_there()
    }

    /// Whether a file never changes again: it belongs to a sealed segment, and holds no marks of deleted
    /// points. Files that are not known here are taken for such that change.
    fn is_final(&self, path: &str) -> bool {
        let Some(segment) = segment(path) else { return false };
        if !self.record.files.contains_key(&format!("{segment}/id_tracker.mappings")) {
            return false;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        path.contains("/vector_index-")
            || name.starts_with("quantized.")
            || name.starts_with("page_")
            || matches!(
                name,
                "id_tracker.mappings"
                    | "matrix.dat"
                    | "mmap_field_index_config.json"
                    | "point_to_values.bin"
                    | "values_to_points.bin"
            )
    }

    /// Whether nothing was changed since all files were read.
    pub(super) fn is_at_rest(&self) -> bool {
        self.record.at_rest
    }

    /// Notes, on disk, that files are about to change.
    pub(super) fn disturb(&mut self) -> Result<(), StoreError> {
        if !self.record.at_rest {
            return Ok(());
        }
        self.record.at_rest = false;
        self.save().inspect_err(|_| self.record.at_rest = true)
    }

    /// Reads all files and notes what they hold. The engine must have put everything on disk and
    /// change nothing meanwhile.
    pub(super) fn rest(&mut self) -> Result<(), StoreError> {
        let paths = files(&self.folder)?;
        let reread: Vec<&str> =
            paths.iter().map(String::as_str).filter(|path| !self.is_known(path)).collect();
        let found = prints(&self.folder, &reread)?;
        let reread = reread.into_iter().zip(found).filter_map(|(path, print)| Some((path, print?)));
        let mut files: BTreeMap<String, Print> =
            reread.map(|(path, print)| (path.to_owned(), print)).collect();
        for path in &paths {
            if let Some(print) = self.record.files.get(path) {
                files.entry(path.clone()).or_insert(*print);
            }
        }
        self.record = Record { at_rest: true, files };
        for path in paths {
            let is_final = self.is_final(&path);
            if let Some(print) = self.record.files.get_mut(&path) {
                print.stamp.take_if(|_| !is_final);
            }
        }
        self.save().inspect_err(|_| self.record.at_rest = false)
    }

    /// Whether a file was read before and cannot have changed since.
    fn is_known(&self, path: &str) -> bool {
        self.record.files.contains_key(path) && self.is_final(path)
    }

    fn save(&self) -> Result<(), StoreError> {
        let body = serde_json::to_vec(&self.record)?;
        let mut bytes = format!("{:08x}\n", crc32fast::hash(&body)).into_bytes();
        bytes.extend(body);
        atomic::replace(&self.folder.join(FILE), &bytes)
    }
}

/// Returns the part of a path that names a segment, `chunks/segments/<id>`.
pub(super) fn segment(path: &str) -> Option<&str> {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    let end = ends.nth(2)?;
    path.get(..end)
}

fn decode(bytes: &[u8]) -> Option<Record> {
    let (sum, body) = bytes.split_at_checked(9)?;
    let is_whole = sum == format!("{:08x}\n", crc32fast::hash(body)).as_bytes();
    if is_whole { serde_json::from_slice(body).ok() } else { None }
}

/// Returns the path of each file of each segment.
pub(super) fn files(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut files = Vec::new();
    for collection in Collection::ALL {
        let below = format!("{}/{SEGMENTS}", shard::folder_name(collection));
        if !folder.join(&below).is_dir() {
            continue;
        }
        let list = |found: &mut Vec<String>| collect(folder, &below, found);
        list(&mut files).map_err(|source| StoreError::io(&folder.join(&below), source))?;
    }
    Ok(files)
}

fn collect(folder: &Path, below: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        // The engine gives no other names.
        let Some(name) = name.to_str() else { continue };
        let path = format!("{below}/{name}");
        if !entry.file_type()?.is_dir() {
            files.push(path);
        } else if !name.ends_with(REMOVED) {
            collect(folder, &path, files)?;
        }
    }
    Ok(())
}

/// Reads files side by side; `None` stands for one that is not there, or is no file.
fn prints(folder: &Path, paths: &[&str]) -> Result<Vec<Option<Print>>, StoreError> {
    let (next, prints) = (AtomicUsize::new(0), Mutex::new(vec![None; paths.len()]));
    let work = || -> Result<(), StoreError> {
        let mut buffer = vec![0; READ];
        while let Some((at, path)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            paths.get(at).map(|path| (at, path))
        } {
            let path = folder.join(path);
            let print =
                print(&path, &mut buffer).map_err(|source| StoreError::io(&path, source))?;
            if let Some(place) = prints.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *place = print;
            }
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        // Where the system gives no thread, this one does the work.
        let helpers: Vec<_> = (1..threads).filter_map(start).collect();
        let own = work();
        let ended =
            helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|_| Err(panicked())));
        ended.fold(own, Result::and)
    })?;
    Ok(prints.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn panicked() -> StoreError {
    StoreError::Engine { action: "compare its files", reason: "a thread panicked".to_owned() }
}

fn print(path: &Path, buffer: &mut [u8]) -> io::Result<Option<Print>> {
    let mut file = match atomic::open(path, File::options().read(true)) {
        Ok(file) => file,
        Err(error) if is_no_file(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    let (size, mut hasher, mut at) = (found.len(), Hasher::new(), 0);
    while let Some(data) = next_data(&file, at, size)? {
        // Whole blocks, wherever the file system begins what it keeps.
        let start = data.start - data.start % BLOCK as u64;
        let end = data.end.next_multiple_of(BLOCK as u64).min(size);
        file.seek(SeekFrom::Start(start))?;
        blocks((&mut file).take(end - start), start, buffer, &mut hasher)?;
        at = end;
    }
    Ok(Some(Print { size, sum: hasher.finalize(), stamp: stamp(&found) }))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "as elsewhere")]
fn stamp(found: &Metadata) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let modified = (found.mtime(), found.mtime_nsec());
    let changed = (found.ctime(), found.ctime_nsec());
    Some(Stamp { inode: found.ino(), modified, changed })
}

#[cfg(not(unix))]
fn stamp(_: &Metadata) -> Option<Stamp> {
    None
}

fn is_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, NotADirectory, NotFound};
    matches!(error.kind(), InvalidData | NotADirectory | NotFound)
}

/// Adds the blocks that are not all zeros, each with its place.
fn blocks(
    mut data: impl Read,
    mut at: u64,
    buffer: &mut [u8],
    hasher: &mut Hasher,
) -> io::Result<()> {
    loop {
        let mut length = 0;
        while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match data.read(rest) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        for block in buffer.get(..length).unwrap_or_default().chunks(BLOCK) {
            if Some(block) != [0; BLOCK].get(..block.len()) {
                hasher.update(&at.to_le_bytes());
                hasher.update(block);
            }
            at += block.len() as u64;
        }
        if length < buffer.len() {
            return Ok(());
        }
    }
}

/// Returns where a file that is `size` long has content at `from` or after; the rest are holes.
#[cfg(target_os = "linux")]
fn next_data(file: &File, from: u64, size: u64) -> io::Result<Option<Range<u64>>> {
    use rustix::{
        fs::{SeekFrom, seek},
        io::Errno,
    };
    if size <= from {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // Not every file system knows.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some(from..size)),
        Err(error) => return Err(error.into()),
    };
    let end = seek(file, SeekFrom::Hole(start))?;
    Ok((start < size).then(|| start..end.min(size)))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn next_data(_: &File, from: u64, size: u64) -> io::Result<Option<Range<u64>>> {
    Ok((from < size).then_some(from..size))
}
