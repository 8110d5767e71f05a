//! Which tree a client means that stands in a folder: the one around it, or while that is not indexed, the nearest
//! one of its repository.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    time::Duration,
};

use codeinfo_core::{Host, Root};
use codeinfo_worktree::git::{GIT, GitRepository};
use tracing::{debug, info};

use super::{Ingest, IngestRequest, pulse::IoHeartbeat, repository};

/// Of so many trees of a repository the nearest is looked for.
const MAX_TREES: usize = 50;
/// So long a question waits for a worktree that joins its repository, which takes a tenth of a second.
const JOINING: Duration = Duration::from_millis(700);

/// The tree that a client means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTree {
    /// The tree, which is indexed.
    pub tree: Root,
    /// The worktree around the folder, where it is not indexed: `tree` is another one of its repository.
    pub worktree: Option<PathBuf>,
}

impl ClientTree {
    /// Says that another tree answers, if one does. `shown` is the path of the worktree as clients see it.
    pub fn build_notice(&self, shown: &str) -> Option<String> {
        self.worktree.as_ref()?;
        Some(format!(
            "`{shown}` is not indexed; `{}`, the nearest indexed tree of its repository, answers for it",
            self.tree.name
        ))
    }
}

impl Ingest {
    /// Returns the tree that a client means by standing in `folder`, a path of this machine. `None` where no tree
    /// of a repository around it is indexed.
    pub async fn find_client_tree(&self, folder: &Path) -> Option<ClientTree> {
        let roots = self.shared.deps.store.roots().await.ok()?;
        if roots.is_empty() || !folder.is_absolute() {
            return None;
        }
        let place = folder.to_owned();
        let deps = &self.shared.deps;
        let host = deps.store.host();
        let look =
            move |pulse: &IoHeartbeat| find_tree_around(&place, &roots, host.as_ref(), pulse);
        deps.lookups.run_blocking(folder, deps.tasks.stop_token(), look).await.ok()?
    }

    /// Returns the same after the worktree has joined its repository, if that is not indexed, and worktrees join by
    /// themselves here. Waits for that only a moment.
    pub async fn find_or_join_client_tree(&self, folder: &Path) -> Option<ClientTree> {
        let standing = self.find_client_tree(folder).await?;
        let Some(worktree) = standing.worktree.clone().filter(|_| self.joins) else {
            return Some(standing);
        };
        let request = IngestRequest { path: worktree, ..IngestRequest::default() };
        match self.start_run(request).await {
            Ok(run) => {
                info!(run.id = %run, "a worktree joins its repository");
                let mut status = self.watch_run(run).ok()?;
                let ended = status.wait_for(|status| status.state.is_final());
                drop(tokio::time::timeout(JOINING, ended).await);
                self.find_client_tree(folder).await
            }
            Err(error) => {
                debug!(%error, "a worktree cannot join its repository");
                Some(standing)
            }
        }
    }
}

/// Finds the tree around a folder. Blocks on the file system.
fn find_tree_around(
    folder: &Path,
    roots: &[Root],
    host: Option<&Host>,
    pulse: &IoHeartbeat,
) -> Option<ClientTree> {
    let folder = folder.canonicalize().ok()?;
    for around in folder.ancestors() {
        pulse.beat();
        let own = roots.iter().find(|root| root.local_folder() == Some(around));
        let is_there = own.is_some_and(|root| root.last_ingest_at.is_some());
        if let Some(own) = own.filter(|_| is_there) {
            return Some(ClientTree { tree: own.clone(), worktree: None });
        }
        // A worktree that is not indexed, or not to the end.
        let has_git = around.join(GIT).symlink_metadata().is_ok();
        if let Some(git) = has_git.then(|| GitRepository::open(around).ok().flatten()).flatten()
            && let Some(tree) = find_nearest_tree(&git, roots, host, pulse)
        {
            return Some(ClientTree { tree: tree.clone(), worktree: Some(around.to_owned()) });
        }
        if let Some(own) = own {
            return Some(ClientTree { tree: own.clone(), worktree: None });
        }
    }
    None
}

/// Returns the tree of a repository that is most like one of it: of the same commit, else the main one, else the one
/// that was indexed last. Of what other hosts have, a tree from the same remote counts.
fn find_nearest_tree<'a>(
    git: &GitRepository,
    roots: &'a [Root],
    host: Option<&Host>,
    pulse: &IoHeartbeat,
) -> Option<&'a Root> {
    let owner = repository::looked_up(git, roots, host);
    let is_tree = |root: &&Root| root.chunk_owner() == owner && root.last_ingest_at.is_some();
    let head = git.head_commit();
    let is_at_head = |root: &Root| {
        pulse.beat();
        let commit = match &root.revision {
            Some(revision) => Some(revision.commit.clone()),
            None => {
                root.local_folder().and_then(|path| GitRepository::open(path).ok()??.head_commit())
            }
        };
        commit.is_some() && commit == head
    };
    let mut trees: Vec<&Root> = roots.iter().filter(is_tree).take(MAX_TREES).collect();
    trees.sort_by_cached_key(|root| {
        Reverse((
            is_at_head(root),
            root.local_folder() == Some(git.main_worktree()),
            root.last_ingest_at,
        ))
    });
    trees.into_iter().find(|root| {
        pulse.beat();
        is_still(root, git, |own| repository::looked_up(own, roots, host) == owner)
    })
}

/// Whether a tree of a repository is one still: where it was, there may be another repository now.
fn is_still(tree: &Root, git: &GitRepository, is_same: impl Fn(&GitRepository) -> bool) -> bool {
    if tree.host.is_some() {
        // Of what another host has nothing is known here.
        return true;
    }
    let at = |folder: &Path| GitRepository::open(folder).ok().flatten().filter(&is_same);
    let Some(revision) = &tree.revision else { return at(&tree.path).is_some() };
    let own = if revision.store == git.common_folder() {
        Some(git.clone())
    } else {
        at(&revision.folder)
    };
    own.is_some_and(|own| own.resolve_commit(&revision.commit).is_ok())
}
