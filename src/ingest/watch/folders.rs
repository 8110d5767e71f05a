//! Folders as the system knows them.

use std::path::{Path, PathBuf};

use crate::{
    domain::Root,
    git::Git,
    ingest::{
        discover::{self, Wanted, Way},
        error::IngestError,
        pipeline::Deps,
        pulse::Pulse,
    },
};

/// What distinguishes a folder from another one that has its path later, and a commit from the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// Returns which folder is at the path of a root, or which commit it is, if there is one; fails when that cannot be
/// known.
pub(super) async fn identity(deps: &Deps, root: &Root) -> Result<Option<Identity>, IngestError> {
    let place = root.revision.as_ref().map_or(&root.path, |revision| &revision.folder);
    let (own, revision) = (root.path.clone(), root.revision.clone());
    let look = move |_: &Pulse| match revision {
        None => stat(&own),
        Some(revision) => {
            let git = Git::of(&revision.folder).ok().flatten()?;
            Some(Identity(git.state(&revision.name)?, 0))
        }
    };
    deps.lookups.run(place, deps.tasks.stopping(), look).await
}

fn stat(path: &Path) -> Option<Identity> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(Identity(metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        // A folder that was made later has a later time.
        Some(Identity(metadata.created().map_or(0, crate::domain::nanoseconds), 0))
    }
}

/// Returns the folders to watch in a root, or in the part of it in scope: those whose files are looked
/// at, where the system does not watch whole trees cheaply. What cannot be read is left out.
pub(super) fn to_watch(way: Way<'_>) -> Result<Vec<PathBuf>, IngestError> {
    let root = way.place;
    if !cfg!(target_os = "linux") {
        return Ok(if way.scope.is_none() { vec![root.to_owned()] } else { Vec::new() });
    }
    let found = discover::within(&discover::open(root)?, way, Wanted::Folders)?;
    let mut folders: Vec<PathBuf> = found.folders.iter().map(|path| root.join(path)).collect();
    // Hidden, and yet it says what is left out.
    let excludes = root.join(".git/info");
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if way.scope.is_none() && is_folder(&root.join(".git")) && is_folder(&excludes) {
        folders.push(excludes);
    }
    Ok(folders)
}
