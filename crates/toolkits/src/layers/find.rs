//! Finds the files of toolkits and reads them within bounds: a repository's without following links, the user's
//! wherever it leads.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use codeinfo_core::hash::sha256_hex;
use codeinfo_worktree::beneath::{RootDir, read_to_limit};

/// Where a repository has its toolkits, beside `.git`.
pub const REPOSITORY_FILE: &str = ".codeinfo/toolkits.json";
/// Larger files are refused. A toolkit takes a few hundred bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// A repository's file of toolkits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryToolkitFile {
    /// The folder that holds `.git`, without links.
    pub root: PathBuf,
    pub file: PathBuf,
    pub text: Vec<u8>,
}

impl RepositoryToolkitFile {
    /// Returns the SHA-256 of the content, in 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        sha256_hex(&self.text)
    }
}

/// Returns the toolkits' file of the repository that `folder` is in: the innermost folder upwards that has
/// `.git`. None where there is no repository, or no such file in it. Fails, with the path, where something is in
/// its place that cannot be read.
pub fn find_repository(
    folder: &Path,
) -> Result<Option<RepositoryToolkitFile>, (PathBuf, io::Error)> {
    // A folder that is not there is in no repository.
    let Ok(folder) = fs::canonicalize(folder) else { return Ok(None) };
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let Some(root) = folder.ancestors().find(has_git) else { return Ok(None) };
    let file = root.join(REPOSITORY_FILE);
    match read_beneath(root, Path::new(REPOSITORY_FILE)) {
        Ok(text) => {
            Ok(text.map(|text| RepositoryToolkitFile { root: root.to_owned(), file, text }))
        }
        Err(error) => Err((file, error)),
    }
}

/// Returns the content of the user's file, which may be a link: people keep such files elsewhere. None when it is
/// not there.
pub(super) fn read_user_file(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let whole = match fs::canonicalize(file) {
        Ok(whole) => whole,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    match (whole.parent(), whole.file_name()) {
        (Some(folder), Some(name)) => read_beneath(folder, Path::new(name)),
        _ => Err(io::Error::other("it is no regular file")),
    }
}

fn read_beneath(root: &Path, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match RootDir::open(root)?.open_file(path) {
        Ok((file, facts)) if facts.size <= MAX_BYTES => file,
        Ok(_) => return Err(too_large()),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = read_to_limit(file, MAX_BYTES + 1, || ())?;
    // It may have grown since it was opened.
    if text.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(Some(text)) }
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn too_large() -> io::Error {
    io::Error::other(format!("it is larger than {} KiB", MAX_BYTES / 1024))
}
