//! Copies an index in a data folder that cannot be written, so that it can be searched.

use std::{
    fs::{self, File},
    io::{
        self,
        ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem},
    },
    path::Path,
};

use codeinfo_core::atomic;
use tempfile::TempDir;

/// Parts of the data folder that form the index.
const PARTS: [&str; 3] = ["store", "roots.json", "scip"];

/// Copies the index of an existing data folder that cannot be written; returns `None` for any other
/// one.
///
/// The copy is a data folder for this account only, in the folder for temporary files, and is
/// removed when dropped.
pub fn copy_unwritable_index(data_dir: &Path) -> io::Result<Option<TempDir>> {
    let lock = data_dir.join("lock");
    let opened =
        atomic::open_regular_file(&lock, File::options().write(true).create(true).truncate(false));
    let is_unwritable =
        opened.is_err_and(|error| matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem));
    if !is_unwritable || !data_dir.try_exists()? {
        return Ok(None);
    }
    let copy = TempDir::with_prefix("codeinfo-")?;
    for part in PARTS {
        copy_tree(&data_dir.join(part), &copy.path().join(part))?;
    }
    Ok(Some(copy))
}

/// Copies a file or folder, if it exists. Skips links.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let kind = match from.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if kind.is_file() {
        // `fs::copy` would preserve the missing write permission.
        let mut file = atomic::open_regular_file(from, File::options().read(true))?;
        io::copy(&mut file, &mut File::create_new(to)?)?;
    } else if kind.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_tree(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}
