//! Finds and reads the toolkit files of repositories and users, which are bounded in size.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use codeinfo_core::hash::sha256_hex;
use codeinfo_worktree::beneath::{RootDir, read_to_limit};

/// Toolkit file of a repository, relative to the folder of `.git`.
pub const REPOSITORY_FILE: &str = ".codeinfo/toolkits.json";
/// Maximum bytes of a file. A toolkit takes a few hundred bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// Toolkit file of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryToolkitFile {
    /// Canonical path of the folder that contains `.git`.
    pub root: PathBuf,
    pub file: PathBuf,
    pub text: Vec<u8>,
}

impl RepositoryToolkitFile {
    /// Returns the SHA-256 of the content as 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        sha256_hex(&self.text)
    }
}

/// Returns the toolkit file of the repository that contains `folder`: the nearest folder upwards with `.git`.
/// Returns `None` without a repository or file. Fails, with the path, if the file cannot be read.
pub fn find_repository(
    folder: &Path,
) -> Result<Option<RepositoryToolkitFile>, (PathBuf, io::Error)> {
    // A missing folder is in no repository.
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

/// The user's file may be a link, because people keep such files elsewhere.
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
    // The file may have grown since it was opened.
    if text.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(Some(text)) }
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn too_large() -> io::Error {
    io::Error::other(format!("it is larger than {} KiB", MAX_BYTES / 1024))
}
