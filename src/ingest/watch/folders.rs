//! Folders as the system knows them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    ingest::{discover, scope::Scope},
    task::Tasks,
};

/// What tells a folder from another one that has its path later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// Returns which folder is at a path, if there is one.
pub(super) async fn identity(tasks: &Tasks, path: PathBuf) -> Option<Identity> {
    tasks.spawn_blocking(move || look(&path)).await.ok().flatten()
}

fn look(path: &Path) -> Option<Identity> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(Identity(metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        drop(metadata);
        Some(Identity(0, 0))
    }
}

/// Returns the folders to watch in a root, or in the part of it that `scope` covers: those whose
/// files are looked at, where the system does not watch whole trees cheaply.
pub(super) fn to_watch(root: &Path, scope: Option<&Arc<Scope>>) -> Vec<PathBuf> {
    if !cfg!(target_os = "linux") {
        return if scope.is_none() { vec![root.to_owned()] } else { Vec::new() };
    }
    let mut folders: Vec<PathBuf> = discover::folders(root, scope).collect();
    // Hidden, and yet it says what is left out.
    let excludes = root.join(".git/info");
    if scope.is_none() && excludes.is_dir() {
        folders.push(excludes);
    }
    folders
}
