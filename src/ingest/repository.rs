//! Finds out which repository a folder is a tree of, from the files of git and without running it, and lets the
//! trees of one repository change what they share one after the other.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex as SyncMutex, PoisonError},
};

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    pulse::{Pulse, Watchdog},
    revision,
};
use crate::{
    domain::{Revision, RootId},
    git::{GIT, Git},
};

/// Returns the repository that a tree is of, as [`crate::domain::Root::repository`] has it, and which commit it is
/// now, if it is one.
pub(super) async fn of_tree(
    (lookups, stopping): (&Watchdog, &CancellationToken),
    path: &Path,
    revision: Option<&Revision>,
) -> Result<(Option<RootId>, Option<Revision>), IngestError> {
    let place = revision.map_or(path, |revision| &revision.folder).to_owned();
    let (folder, revision) = (place.clone(), revision.cloned());
    let look = move |_: &Pulse| match revision {
        None => Ok((of(&folder), None)),
        Some(revision) => {
            let (now, git) = revision::current(&revision)?;
            Ok((Some(RootId::of(git.main())), Some(now)))
        }
    };
    lookups.run(&place, stopping, look).await?
}

/// Returns the id of the main worktree. A folder that only claims to be a worktree of another one is a repository
/// of its own, and a part of a worktree, which git may ignore, is in none.
fn of(folder: &Path) -> Option<RootId> {
    folder.join(GIT).symlink_metadata().ok()?;
    let git = Git::of(folder).ok().flatten();
    Some(RootId::of(git.as_ref().map_or(folder, Git::main)))
}

/// Whose turn it is to change what is kept under an owner. Clones share the turns.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    owners: Arc<SyncMutex<HashMap<RootId, Arc<Mutex<()>>>>>,
}

impl Turns {
    /// Waits for the turn of an owner.
    pub(super) async fn of(&self, owner: RootId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody waits for or has.
            owners.retain(|_, turn| 1 < Arc::strong_count(turn));
            Arc::clone(owners.entry(owner).or_default())
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    /// Makes the files of a repository with one linked worktree, as git leaves them.
    fn repository(base: &Path) -> (PathBuf, PathBuf) {
        let (main, linked) = (base.join("main"), base.join("linked"));
        let own = main.join(".git/worktrees/linked");
        for folder in [&own, &main.join("sub"), &linked.join("sub")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(linked.join(GIT), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", linked.join(GIT).display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        (main, linked)
    }

    #[test]
    fn worktrees_share_the_id_of_the_main_one_and_their_parts_do_not() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (main, linked) = repository(&base);
        assert_eq!(of(&main), Some(RootId::of(&main)));
        assert_eq!(of(&linked), Some(RootId::of(&main)));
        assert_eq!((of(&linked.join("sub")), of(&main.join("sub")), of(&base)), (None, None, None));
    }

    #[test]
    fn a_folder_that_only_claims_to_be_a_worktree_is_its_own() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (main, _) = repository(&base);
        let other = base.join("other");
        fs::create_dir(&other).unwrap();
        for claim in [
            format!("gitdir: {}/.git/worktrees/linked", main.display()),
            format!("gitdir: {}/.git", main.display()),
            "gitdir: /proc/self".to_owned(),
            "gitdir:".to_owned(),
            "x".repeat(100_000),
        ] {
            fs::write(other.join(GIT), claim).unwrap();
            assert_eq!(of(&other), Some(RootId::of(&other)));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_is_called_like_a_repository_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (_, linked) = repository(&base);
        let other = base.join("other");
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(linked.join(GIT), other.join(GIT)).unwrap();
        assert_eq!(of(&other), Some(RootId::of(&other)));
    }

    #[tokio::test]
    async fn turns_of_one_owner_come_one_after_the_other() {
        let turns = Turns::default();
        let [one, other] = [1, 2].map(|id| RootId(uuid::Uuid::from_u128(id)));
        let held = turns.of(one).await;
        drop(turns.of(other).await);
        let waiting = turns.of(one);
        tokio::pin!(waiting);
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(held);
        drop(waiting.await);
    }
}
