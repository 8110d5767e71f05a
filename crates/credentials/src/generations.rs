//! Records the highest generation of each replaced file separately, to detect files restored from a backup.
//!
//! The record is written after the file, so after a crash it may be behind but never ahead. The generations are
//! not authenticated, because an account that may write these files may also read the owner's key.

use std::path::{Path, PathBuf};

use codeinfo_core::{
    atomic::{self},
    error::format_error_chain,
};

use super::{CredentialError, FOLDER, private_folder, read_private_file, replace_private_file};

const GENERATIONS: &str = "generations";

/// Returns the highest recorded generation of `name`, or 0 without a record.
pub(super) fn read_highest(data_dir: &Path, name: &str) -> Result<u64, CredentialError> {
    let folder = data_dir.join(FOLDER).join(GENERATIONS);
    if !atomic::folder_exists(&folder).map_err(|error| CredentialError::for_file(&folder, error))? {
        return Ok(0);
    }
    let path = folder.join(name);
    let Some(bytes) = read_private_file(&path)? else { return Ok(0) };
    let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or(CredentialError::Damaged { path, reason: "it holds no number; remove it" })
}

/// Fails if the recorded generation of `name` is above `number`, that of the file at `path`. Records a higher
/// `number`: the file was written before generations were recorded, or just before a crash.
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

/// Records the generation of a written file. A failure is only logged, because the file is valid without it.
pub(super) fn remember_generation(data_dir: &Path, name: &str, number: u64) {
    let written = private_folder(data_dir, FOLDER)
        .and_then(|vault| private_folder(&vault, GENERATIONS))
        .and_then(|folder| replace_private_file(&folder.join(name), number.to_string().as_bytes()));
    if let Err(error) = written {
        tracing::warn!(error = %format_error_chain(&error), number, "the number of a file of the vault is not remembered");
    }
}
