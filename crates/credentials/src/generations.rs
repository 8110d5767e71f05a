//! Remembers the highest number of each file of the vault that is replaced as a whole, in a file of its own, so
//! that one that is put back from a backup is noticed.
//!
//! The memory is written after the file: a crash leaves it behind, and never ahead. Who may write these files may
//! read the owner's key, so the numbers are not authenticated.

use std::path::{Path, PathBuf};

use codeinfo_core::{
    atomic::{self, FileAccess},
    error::format_error_chain,
};

use super::{CredentialError, FOLDER, private_folder};

const GENERATIONS: &str = "generations";

/// Returns the highest number that is remembered of `name`; 0 without one.
pub(super) fn read_highest(data_dir: &Path, name: &str) -> Result<u64, CredentialError> {
    let folder = data_dir.join(FOLDER).join(GENERATIONS);
    if !atomic::real_folder(&folder).map_err(|error| CredentialError::for_file(&folder, error))? {
        return Ok(0);
    }
    let path = folder.join(name);
    let bytes = atomic::read_if_exists(&path, FileAccess::Owner);
    let Some(bytes) = bytes.map_err(|error| CredentialError::for_file(&path, error))? else {
        return Ok(0);
    };
    let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or(CredentialError::Damaged { path, reason: "it holds no number; remove it" })
}

/// Refuses the file at `path` where a higher number than its own is remembered of `name`. Remembers its own where
/// that is higher: it was written before there was a memory, or just before a crash.
pub(super) fn check_generation(
    data_dir: &Path,
    name: &str,
    path: PathBuf,
    number: u64,
) -> Result<(), CredentialError> {
    let highest = read_highest(data_dir, name)?;
    if number < highest {
        return Err(CredentialError::PutBack { path, number, highest });
    }
    if number > highest {
        remember_generation(data_dir, name, number);
    }
    Ok(())
}

/// Remembers the number of a file that has been written. A failure only delays that: the file counts.
pub(super) fn remember_generation(data_dir: &Path, name: &str, number: u64) {
    let written = private_folder(data_dir, FOLDER)
        .and_then(|vault| private_folder(&vault, GENERATIONS))
        .and_then(|folder| {
            let path = folder.join(name);
            let written =
                atomic::write_atomically(&path, number.to_string().as_bytes(), FileAccess::Owner);
            written.map_err(|error| CredentialError::for_file(&path, error))
        });
    if let Err(error) = written {
        tracing::warn!(error = %format_error_chain(&error), number, "the number of a file of the vault is not remembered");
    }
}
