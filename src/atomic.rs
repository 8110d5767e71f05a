//! Replaces small files as a whole: a reader, or a crash, sees the old content or the new.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Those that the process leaves new files to.
    AsUsual,
    /// Its user alone.
    Owner,
}

/// Writes `bytes` to `path` through a temporary neighbour, on disk before this returns.
pub(crate) fn replace(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    // Whatever an earlier process left of it.
    absent_is_fine(match temporary.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&temporary),
        Ok(_) => fs::remove_file(&temporary),
        Err(error) => Err(error),
    })?;
    let mut file = options(readers).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent() {
        // A rename is durable once its folder is; only Unix lets a folder be synced.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Counts what is not there as removed.
pub(crate) fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn options(readers: Readers) -> OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let (Readers::AsUsual | Readers::Owner) = readers;
    options
}
