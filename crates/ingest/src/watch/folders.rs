//! Identities of watched folders, and the folders to watch.

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

/// Identity that distinguishes a folder from a later one at the same path, or a commit from the
/// next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderIdentity(u64, u64);

/// Returns the identity of the folder or commit of each root.
///
/// The outer `None` means unknown, the inner `None` missing. `looks` must serve only this purpose,
/// so that a place held by other work is not reported as unknown.
pub(super) async fn load_identities(
    looks: &IoWatchdog,
    stopping: &CancellationToken,
    roots: &[Root],
) -> Vec<Option<Option<FolderIdentity>>> {
    // A held place was hanging before. Roots may share a folder, so all are checked before the
    // first look-up.
    let held: Vec<bool> = roots.iter().map(|root| looks.is_held(root_folder(root))).collect();
    // Look-ups run at the same time, so that the total wait is that of one that hangs.
    let looking = roots.iter().zip(held).map(async |(root, is_held)| {
        if is_held { None } else { load_identity(looks, stopping, root).await.ok() }
    });
    join_all(looking).await
}

/// Returns the folder of a root, or of the repository of a commit.
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
        // A later folder has a later creation time.
        Some(FolderIdentity(
            metadata.created().map_or(0, codeinfo_core::nanoseconds_since_epoch),
            0,
        ))
    }
}

/// Returns the folders to watch in a root, or in its part in scope.
///
/// Where the system can watch whole trees cheaply, that is the root itself. Unreadable folders are
/// omitted.
pub(super) fn list_watched_folders(way: WalkContext<'_>) -> Result<Vec<PathBuf>, IngestError> {
    let root = way.place;
    if !cfg!(target_os = "linux") {
        return Ok(if way.scope.is_none() { vec![root.to_owned()] } else { Vec::new() });
    }
    let found = discover::walk_root(&discover::open_folder(root)?, way, WalkMode::Folders)?;
    let mut folders: Vec<PathBuf> = found.folders.iter().map(|path| root.join(path)).collect();
    // Hidden, but contains the file of ignore patterns.
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
