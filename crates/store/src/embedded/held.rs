//! Holds the folder of a store against a second opener.

use std::{
    fs::{File, Metadata, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::super::{StoreError, atomic};

/// Locked as long as the store is open.
pub(super) const FILE: &str = "lock";

/// The right to use a folder, held until dropped.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    file: File,
}

impl Held {
    /// Takes the right to use `folder`. Fails with [`StoreError::Held`] when another store is open on it.
    pub(super) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let failed = |source: io::Error| StoreError::io(&path, source);
        let file = atomic::open_regular_file(&path, &mut options).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Held {
                path: folder.to_owned(),
                holder: "another opener of this folder".to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Fails when another file, or none, is in its place: its folder was removed, and whatever is there now
    /// belongs to somebody else.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let held = self.file.metadata().map_err(|source| StoreError::io(&self.path, source))?;
        if self.path.metadata().is_ok_and(|found| is_same(&held, &found)) {
            return Ok(());
        }
        let folder = self.path.with_file_name("");
        let reason = format!(
            "`{}` was removed or replaced while it was in use; restart to make it again",
            folder.display()
        );
        Err(StoreError::Engine { action: "use the index", reason })
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// A file that was made later has a later time.
#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok()
}
