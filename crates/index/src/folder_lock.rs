//! Locks the folder of an index against a second opener.

use std::{
    fs::{File, Metadata, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::{IndexError, files};

/// Name of the file that is locked while the index is open.
pub(crate) const FILE: &str = "lock";

/// The right to use a folder, held until dropped.
#[derive(Debug)]
pub(crate) struct FolderLock {
    path: PathBuf,
    file: File,
}

impl FolderLock {
    /// Locks `folder`. Fails with [`IndexError::Locked`] if it is locked.
    pub(crate) fn acquire(folder: &Path) -> Result<Self, IndexError> {
        let path = folder.join(FILE);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let failed = |source: io::Error| IndexError::io(&path, source);
        let file = files::open_file(&path, &mut options).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, file }),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked { path: folder.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Fails if the lock file was removed or replaced: the folder was removed, and a new one belongs to another
    /// opener.
    pub(crate) fn check_folder(&self) -> Result<(), IndexError> {
        let held = self.file.metadata().map_err(|source| IndexError::io(&self.path, source))?;
        if self.path.metadata().is_ok_and(|found| is_same_file(&held, &found)) {
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
