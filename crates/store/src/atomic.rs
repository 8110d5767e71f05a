//! The small files of a store, whose failures are those of the store.

use std::path::Path;

use codeinfo_core::atomic::{self, FileAccess};

use super::StoreError;
pub(super) use codeinfo_core::atomic::open_regular_file;

/// As [`atomic::replace`] does.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    failed(path, atomic::write_atomically(path, bytes, FileAccess::Owner))
}

/// As [`atomic::remove`] does.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    failed(path, atomic::remove_file(path))
}

/// As [`atomic::remove_folder`] does.
pub(super) fn remove_folder(path: &Path) -> Result<(), StoreError> {
    failed(path, atomic::remove_folder(path))
}

/// As [`atomic::read`] does.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    failed(path, atomic::read_if_exists(path, FileAccess::AsUsual))
}

fn failed<T>(path: &Path, outcome: std::io::Result<T>) -> Result<T, StoreError> {
    outcome.map_err(|source| StoreError::io(path, source))
}
