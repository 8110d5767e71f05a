//! Small files of a store: replaced so that a reader, or a crash, sees the old content or the new, and
//! opened only where they are files, so that nothing in their place is waited for or read without end.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::Path,
};

use super::StoreError;
use crate::atomic::{self, Readers, absent_is_fine};

/// The most that is read of a file: many times what the largest list of ours takes.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Writes `bytes` to `path` through a temporary neighbour, on disk before this returns.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    atomic::replace(path, bytes, Readers::AsUsual).map_err(|source| StoreError::io(path, source))
}

/// Removes a file; one that is not there counts as removed.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    absent_is_fine(fs::remove_file(path)).map_err(|source| StoreError::io(path, source))
}

/// Removes a folder with all it holds; one that is not there counts as removed.
pub(super) fn remove_folder(path: &Path) -> Result<(), StoreError> {
    absent_is_fine(fs::remove_dir_all(path)).map_err(|source| StoreError::io(path, source))
}

/// Reads a file, `None` when it is not there. Fails where something else is in its place, and where it is
/// larger than [`MAX_BYTES`].
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match read_file(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::io(path, source)),
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, File::options().read(true))?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is larger than {} MiB; move it away", MAX_BYTES >> 20),
        ));
    }
    Ok(bytes)
}

/// Opens a file. Fails with [`io::ErrorKind::InvalidData`], without waiting, where a link, a pipe, a device or
/// a folder is in its place.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let no_file = || {
        let reason = "it is not a regular file; move it away";
        io::Error::new(io::ErrorKind::InvalidData, reason)
    };
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        // Links, folders and sockets fail in ways of their own.
        Err(_) if path.symlink_metadata().is_ok_and(|found| !found.is_file()) => {
            return Err(no_file());
        }
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}
