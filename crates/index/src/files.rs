//! Small files of the index, read and replaced as a whole.

use std::path::Path;

use codeinfo_core::atomic::{self, FileAccess};

use crate::IndexError;
pub(crate) use codeinfo_core::atomic::open_regular_file as open_file;

/// Replaces a file; see [`atomic::write_atomically`].
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
    with_path(path, atomic::write_atomically(path, bytes, FileAccess::Owner))
}

/// Removes a file; see [`atomic::remove_file`].
pub(crate) fn remove_file(path: &Path) -> Result<(), IndexError> {
    with_path(path, atomic::remove_file(path))
}

/// Removes a folder; see [`atomic::remove_folder`].
pub(crate) fn remove_folder(path: &Path) -> Result<(), IndexError> {
    with_path(path, atomic::remove_folder(path))
}

/// Reads a file; see [`atomic::read_if_exists`].
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, IndexError> {
    with_path(path, atomic::read_if_exists(path, FileAccess::AsUsual))
}

fn with_path<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, IndexError> {
    outcome.map_err(|source| IndexError::io(path, source))
}
