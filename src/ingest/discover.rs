//! Finds the files of a root that are worth indexing, by path alone; what needs a look inside is
//! decided when a file is read.
//!
//! Ignore files above the root are deliberately not read: who asks for a folder wants it, even when
//! a repository around it ignores it, and the same folder gives the same files wherever it lies.
//! Links are left out: their targets are either inside, and found there, or none of the root's.

mod names;
mod vendored;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    scope::Scope,
    secret,
    skip::{Reason, Skipped},
};
use crate::domain::modified_ns;

/// The most files one root may have; keeps the list of them within a few hundred megabytes.
const MAX_FILES: usize = 1_000_000;
/// Ignore files of our own, for what is committed and yet not worth indexing.
const OWN_IGNORE_FILE: &str = ".codeinfoignore";

/// A file that may be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the Unix epoch.
    pub modified_ns: u64,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Discovered {
    /// In order of path.
    pub files: Vec<Found>,
    /// Files and folders that should have been looked at but could not be, and files too large.
    pub skipped: Vec<Skipped>,
}

/// Walks `root`, a canonical path. Blocks on the file system; ends early when `cancel` is
/// cancelled.
pub fn discover(
    root: &Path,
    max_file_bytes: u64,
    cancel: &CancellationToken,
) -> Result<Discovered, IngestError> {
    look(root, max_file_bytes, None, cancel)
}

/// Walks the part of `root` that `scope` covers, by the same rules as [`discover`].
pub fn discover_within(
    root: &Path,
    max_file_bytes: u64,
    scope: &Arc<Scope>,
    cancel: &CancellationToken,
) -> Result<Discovered, IngestError> {
    look(root, max_file_bytes, Some(scope), cancel)
}

fn look(
    root: &Path,
    max_file_bytes: u64,
    scope: Option<&Arc<Scope>>,
    cancel: &CancellationToken,
) -> Result<Discovered, IngestError> {
    // A run may have waited; the walk of a file would find every file of the root gone.
    if !root.is_dir() {
        return Err(IngestError::Path { path: root.to_owned(), fault: "is no longer a folder" });
    }
    let mut discovered = Discovered::default();
    for entry in walk(root, scope) {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        match entry {
            Ok(entry) => sort(root, &entry, max_file_bytes, &mut discovered),
            Err(error) => discovered.skipped.push(unreadable(root, &error)?),
        }
        if MAX_FILES < discovered.files.len() + discovered.skipped.len() {
            return Err(IngestError::TooManyFiles { path: root.to_owned(), limit: MAX_FILES });
        }
    }
    discovered.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(discovered)
}

/// Returns the folders whose files are looked at, the root first: all of them, or those that
/// `scope` covers. What cannot be read is left out.
pub(super) fn folders(root: &Path, scope: Option<&Arc<Scope>>) -> impl Iterator<Item = PathBuf> {
    let folders = walk(root, scope).filter_map(Result::ok);
    let folders = folders.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_dir()));
    let (root, scope) = (root.to_owned(), scope.cloned());
    folders.map(DirEntry::into_path).filter(move |folder| match &scope {
        None => true,
        Some(scope) => below(&root, folder).is_some_and(|path| scope.covers(&path)),
    })
}

/// Whether a file of this name says which files are left out.
pub(super) fn is_ignore_file(name: &str) -> bool {
    matches!(name, ".gitignore" | ".ignore" | OWN_IGNORE_FILE)
}

fn walk(root: &Path, scope: Option<&Arc<Scope>>) -> ignore::Walk {
    let (top, scope) = (root.to_owned(), scope.cloned());
    WalkBuilder::new(root)
        .hidden(true)
        .parents(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .add_custom_ignore_filename(OWN_IGNORE_FILE)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0
                || is_in_scope(&top, entry.path(), is_folder, scope.as_deref())
                    && (!is_folder || !vendored::is_vendored(entry.path()))
        })
        .build()
}

fn is_in_scope(root: &Path, path: &Path, is_folder: bool, scope: Option<&Scope>) -> bool {
    let Some(scope) = scope else { return true };
    // A name that is not UTF-8 is never part of a scope.
    below(root, path)
        .is_some_and(|path| scope.covers(&path) || is_folder && scope.leads_through(&path))
}

/// Puts one entry where it belongs: among the files, among the skipped, or nowhere.
fn sort(root: &Path, entry: &DirEntry, max_file_bytes: u64, into: &mut Discovered) {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return;
    }
    let Some(path) = below(root, entry.path()) else {
        let path = entry.path().to_string_lossy().into_owned();
        into.skipped.push(Skipped { path, reason: Reason::PathNotUtf8 });
        return;
    };
    let name = path.rsplit('/').next().unwrap_or(&path);
    if names::is_left_out(name) || secret::is_secret_path(&path) {
        return;
    }
    match entry.metadata() {
        Ok(metadata) if max_file_bytes < metadata.len() => {
            into.skipped.push(Skipped { path, reason: Reason::TooLarge });
        }
        Ok(metadata) => {
            // Files of time 0 are always read.
            let modified_ns = modified_ns(&metadata);
            into.files.push(Found { path, size: metadata.len(), modified_ns });
        }
        Err(_) => into.skipped.push(Skipped { path, reason: Reason::Unreadable }),
    }
}

/// Returns the path below the root with `/` between its parts, if it is UTF-8.
pub(super) fn below(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// Names what could not be read; fails when that is the root itself.
fn unreadable(root: &Path, error: &ignore::Error) -> Result<Skipped, IngestError> {
    match path_of(error) {
        Some(path) if path != root => {
            let path = below(root, &path).unwrap_or_else(|| path.to_string_lossy().into_owned());
            Ok(Skipped { path, reason: Reason::Unreadable })
        }
        _ => Err(IngestError::Path { path: root.to_owned(), fault: "cannot be read" }),
    }
}

/// The path an error is about, if it says.
fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    let mut error = error;
    loop {
        match error {
            ignore::Error::WithPath { path, .. } => return Some(path.clone()),
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
                error = err;
            }
            _ => return None,
        }
    }
}
