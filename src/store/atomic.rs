//! Replaces small files so that a reader, or a crash, sees the old content or the new, never a mix.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use super::StoreError;

/// Writes `bytes` to `path` through a temporary neighbour, on disk before this returns.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write(path, bytes).map_err(|source| StoreError::io(path, source))
}

/// Removes a file; one that is not there counts as removed.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    absent_is_fine(fs::remove_file(path)).map_err(|source| StoreError::io(path, source))
}

/// Removes a folder with all it holds; one that is not there counts as removed.
pub(super) fn remove_folder(path: &Path) -> Result<(), StoreError> {
    absent_is_fine(fs::remove_dir_all(path)).map_err(|source| StoreError::io(path, source))
}

/// Reads a file, `None` when it is not there.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::io(path, source)),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent() {
        // A rename is durable once its folder is; only Unix lets a folder be synced.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
