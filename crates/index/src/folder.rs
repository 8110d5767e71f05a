//! The folder of an index: its lock, its small files, and the quarantine for damaged files next to it.

use std::{
    fs::{self, File, Metadata, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use codeinfo_core::atomic::{self, FileAccess};
use tracing::warn;

use crate::IndexError;
pub(crate) use codeinfo_core::atomic::open_regular_file;

/// Name of the file that is locked while the index is open.
pub(crate) const LOCK_FILE: &str = "lock";
/// Maximum number of folders of damaged files that are kept.
const MAX_QUARANTINES: usize = 2;

/// The right to use a folder, held until dropped.
#[derive(Debug)]
pub(crate) struct FolderLock {
    path: PathBuf,
    file: File,
}

impl FolderLock {
    /// Locks `folder`. Fails with [`IndexError::Locked`] if it is locked.
    pub(crate) fn acquire(folder: &Path) -> Result<Self, IndexError> {
        let path = folder.join(LOCK_FILE);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let failed = |source: io::Error| IndexError::io(&path, source);
        let file = open_regular_file(&path, &mut options).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, file }),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked { path: folder.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Fails if the lock file was removed or replaced: a new folder then belongs to another opener.
    pub(crate) fn check_folder(&self) -> Result<(), IndexError> {
        let locked = self.file.metadata().map_err(|source| IndexError::io(&self.path, source))?;
        if self.path.metadata().is_ok_and(|present| is_same_file(&locked, &present)) {
            return Ok(());
        }
        Err(IndexError::Replaced { path: self.path.with_file_name("") })
    }
}

#[cfg(unix)]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Compares creation times: a file that was made later has a later one.
#[cfg(not(unix))]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok()
}

pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
    with_path(path, atomic::write_atomically(path, bytes, FileAccess::Owner))
}

pub(crate) fn remove_file(path: &Path) -> Result<(), IndexError> {
    with_path(path, atomic::remove_file(path))
}

pub(crate) fn remove_folder(path: &Path) -> Result<(), IndexError> {
    with_path(path, atomic::remove_folder(path))
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, IndexError> {
    with_path(path, atomic::read_if_exists(path, FileAccess::AsUsual))
}

fn with_path<T>(path: &Path, outcome: io::Result<T>) -> Result<T, IndexError> {
    outcome.map_err(|source| IndexError::io(path, source))
}

pub(crate) fn quarantine_folder(folder: &Path, reason: &str) -> Result<(), IndexError> {
    let quarantine = next_quarantine_path(folder)?;
    with_path(folder, fs::rename(folder, &quarantine))?;
    report_quarantine(folder, &quarantine, reason)
}

/// Moves a file next to the folder of the index to quarantine.
pub(crate) fn quarantine_sibling(
    folder: &Path,
    name: &str,
    reason: &str,
) -> Result<(), IndexError> {
    let (from, quarantine) = (folder.with_file_name(name), next_quarantine_path(folder)?);
    with_path(&quarantine, fs::create_dir_all(&quarantine))?;
    with_path(&from, fs::rename(&from, quarantine.join(name)))?;
    report_quarantine(folder, &quarantine, reason)
}

/// Moves files of `folder` to quarantine; missing ones are skipped.
pub(crate) fn quarantine_files(
    folder: &Path,
    names: &[String],
    reason: &str,
) -> Result<(), IndexError> {
    let quarantine = next_quarantine_path(folder)?;
    for name in names {
        let from = folder.join(name);
        match from.symlink_metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(IndexError::io(&from, source)),
        }
        with_path(&quarantine, fs::create_dir_all(&quarantine))?;
        with_path(&from, fs::rename(&from, quarantine.join(name)))?;
    }
    report_quarantine(folder, &quarantine, reason)
}

/// Returns a path next to the folder of the index that sorts after all earlier ones, even if the clock was set back.
fn next_quarantine_path(folder: &Path) -> Result<PathBuf, IndexError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let next = list_quarantines(folder)?
        .last()
        .map_or(now, |(newest, _)| now.max(newest.saturating_add(1)));
    Ok(folder.with_file_name(format!("{}{next}", quarantine_prefix(folder))))
}

/// Lists the quarantines of a folder with their times, oldest first.
fn list_quarantines(folder: &Path) -> Result<Vec<(u64, PathBuf)>, IndexError> {
    let parent = folder.parent().unwrap_or(folder);
    let prefix = quarantine_prefix(folder);
    let parse_time = |path: &Path| -> Option<u64> {
        path.file_name()?.to_str()?.strip_prefix(&prefix)?.parse().ok()
    };
    let mut quarantines: Vec<(u64, PathBuf)> = with_path(parent, fs::read_dir(parent))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter_map(|path| Some((parse_time(&path)?, path)))
        .collect();
    quarantines.sort_unstable();
    Ok(quarantines)
}

fn quarantine_prefix(folder: &Path) -> String {
    format!("{}.damaged-", folder.file_name().unwrap_or_default().to_string_lossy())
}

/// Logs the damage and removes the oldest quarantines.
fn report_quarantine(folder: &Path, quarantine: &Path, reason: &str) -> Result<(), IndexError> {
    warn!(
        reason,
        moved_to = %quarantine.display(),
        kept = MAX_QUARANTINES,
        "the index is damaged and is repaired from the repositories; what was moved away can be deleted"
    );
    let quarantines = list_quarantines(folder)?;
    let superfluous = quarantines.len().saturating_sub(MAX_QUARANTINES);
    quarantines.iter().take(superfluous).try_for_each(|(_, path)| remove_folder(path))
}
