//! Folders as the system knows them.

use std::path::{Path, PathBuf};

use codeinfo_core::Root;
use codeinfo_worktree::git::GitRepository;
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::{
    discover::{self, WalkContext, WalkMode},
    error::IngestError,
    pulse::{IoHeartbeat, IoWatchdog},
};

/// What distinguishes a folder from another one that has its path later, and a commit from the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderIdentity(u64, u64);

/// Returns of each root which folder is at its path, or which commit it is, if there is one; `None` for those of which
/// that cannot be known. `looks` is for this alone: what somebody else is busy with at a folder, it answers.
pub(super) async fn load_identities(
    looks: &IoWatchdog,
    stopping: &CancellationToken,
    roots: &[Root],
) -> Vec<Option<Option<FolderIdentity>>> {
    // It hung when it was last looked at. Roots may share a folder, so all are asked before the first look.
    let held: Vec<bool> = roots.iter().map(|root| looks.is_held(root_folder(root))).collect();
    // At once, so that the others wait no longer than for one that hangs.
    let looking = roots.iter().zip(held).map(async |(root, is_held)| {
        if is_held { None } else { load_identity(looks, stopping, root).await.ok() }
    });
    join_all(looking).await
}

/// Returns where a root, or the repository of a commit, lies.
fn root_folder(root: &Root) -> &Path {
    root.revision.as_ref().map_or(&root.path, |revision| &revision.folder)
}

async fn load_identity(
    looks: &IoWatchdog,
    stopping: &CancellationToken,
    root: &Root,
) -> Result<Option<FolderIdentity>, IngestError> {
    let (own, revision) = (root.path.clone(), root.revision.clone());
    let look = move |_: &IoHeartbeat| match revision {
        None => read_folder_identity(&own),
        Some(revision) => {
            let git = GitRepository::open(&revision.folder).ok().flatten()?;
            Some(FolderIdentity(git.reference_fingerprint(&revision.name)?, 0))
        }
    };
    looks.run_blocking(root_folder(root), stopping, look).await
}

fn read_folder_identity(path: &Path) -> Option<FolderIdentity> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(FolderIdentity(metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        // A folder that was made later has a later time.
        Some(FolderIdentity(
            metadata.created().map_or(0, codeinfo_core::nanoseconds_since_epoch),
            0,
        ))
    }
}

/// Returns the folders to watch in a root, or in the part of it in scope: those whose files are looked
/// at, where the system does not watch whole trees cheaply. What cannot be read is left out.
pub(super) fn to_watch(way: WalkContext<'_>) -> Result<Vec<PathBuf>, IngestError> {
    let root = way.place;
    if !cfg!(target_os = "linux") {
        return Ok(if way.scope.is_none() { vec![root.to_owned()] } else { Vec::new() });
    }
    let found = discover::walk_root(&discover::open_folder(root)?, way, WalkMode::Folders)?;
    let mut folders: Vec<PathBuf> = found.folders.iter().map(|path| root.join(path)).collect();
    // Hidden, and yet it says what is left out.
    let excludes = root.join(".git/info");
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if way.scope.is_none() && is_folder(&root.join(".git")) && is_folder(&excludes) {
        folders.push(excludes);
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;
    use codeinfo_core::{IndexedCommit, task::Tasks};

    #[tokio::test]
    async fn a_repository_that_hangs_keeps_nobody_waiting_and_roots_of_one_folder_wait_for_each_other()
     {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap().join("app");
        std::fs::create_dir_all(folder.join(".git/refs/heads")).unwrap();
        std::fs::write(folder.join(".git/refs/heads/main"), "1".repeat(40)).unwrap();
        let revision = |name: &str| IndexedCommit {
            folder: folder.clone(),
            name: name.to_owned(),
            store: folder.join(".git"),
            commit: String::new(),
        };
        let of = |name: &str| Root {
            revision: Some(revision(name)),
            ..Root::from_folder(base.path().join(format!("app@{name}")))
        };
        let roots = [Root::from_folder(folder.clone()), of("main"), of("gone")];
        let looks = IoWatchdog::with_timeout(Tasks::default(), Duration::from_secs(2));
        let stopping = CancellationToken::new();
        let found = load_identities(&looks, &stopping, &roots).await;
        let known: Vec<_> = found.iter().map(|found| found.map(|found| found.is_some())).collect();
        assert_eq!(known, [Some(true), Some(true), Some(false)]);

        let (answer, asked) = mpsc::channel::<()>();
        let hung = looks.run_blocking(&folder, &stopping, move |_| asked.recv().is_err()).await;
        assert!(matches!(hung, Err(IngestError::Stalled { .. })), "{hung:?}");
        let begun = std::time::Instant::now();
        assert_eq!(load_identities(&looks, &stopping, &roots).await, [None, None, None]);
        assert!(begun.elapsed() < Duration::from_secs(2));
        drop(answer);
    }
}
