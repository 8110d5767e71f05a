//! Finds the indexed tree that encloses a client's folder, or the nearest one of its repository.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    time::Duration,
};

use codeinfo_core::{Host, Root};
use codeinfo_worktree::git::{GIT, GitRepository};
use tracing::{debug, info};

use super::{Ingest, IngestRequest, io_watchdog::IoHeartbeat, repository};

/// Maximum number of trees of a repository that are compared.
const MAX_TREES: usize = 50;
/// Maximum wait until a worktree has joined its repository; it usually takes a tenth of a second.
const JOIN_TIMEOUT: Duration = Duration::from_millis(700);

/// The tree that answers for a client's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTree {
    /// An indexed tree.
    pub tree: Root,
    /// Worktree around the folder if not indexed; `tree` is then another tree of its repository.
    pub worktree: Option<PathBuf>,
}

impl ClientTree {
    /// Returns a notice if another tree answers; `shown` is the worktree's path as clients see it.
    pub fn build_notice(&self, shown: &str) -> Option<String> {
        self.worktree.as_ref()?;
        Some(format!(
            "`{shown}` is not indexed; `{}`, the nearest indexed tree of its repository, answers for it",
            self.tree.name
        ))
    }
}

impl Ingest {
    /// Returns the tree for `folder`, a path of this machine; `None` if no enclosing repository has
    /// an indexed tree.
    pub async fn find_client_tree(&self, folder: &Path) -> Option<ClientTree> {
        let roots = self.shared.deps.store.roots().await.ok()?;
        if roots.is_empty() || !folder.is_absolute() {
            return None;
        }
        let client_folder = folder.to_owned();
        let deps = &self.shared.deps;
        let host = deps.store.host();
        let find = move |pulse: &IoHeartbeat| {
            find_tree_around(&client_folder, &roots, host.as_ref(), pulse)
        };
        deps.lookups.run_blocking(folder, deps.tasks.stop_token(), find).await.ok()?
    }

    /// Returns the tree for `folder` after indexing its worktree, if that is missing and joining is
    /// enabled. Waits at most `JOIN_TIMEOUT` for the run.
    pub async fn find_or_join_client_tree(&self, folder: &Path) -> Option<ClientTree> {
        let client_tree = self.find_client_tree(folder).await?;
        let Some(worktree) = client_tree.worktree.clone().filter(|_| self.joins) else {
            return Some(client_tree);
        };
        let request = IngestRequest { path: worktree, ..IngestRequest::default() };
        match self.start_run(request).await {
            Ok(run) => {
                info!(run.id = %run, "a worktree joins its repository");
                let mut status = self.watch_run(run).ok()?;
                let ended = status.wait_for(|status| status.state.is_final());
                drop(tokio::time::timeout(JOIN_TIMEOUT, ended).await);
                self.find_client_tree(folder).await
            }
            Err(error) => {
                debug!(%error, "a worktree cannot join its repository");
                Some(client_tree)
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
    let canonical = folder.canonicalize().ok()?;
    for around in canonical.ancestors() {
        pulse.beat();
        let own = roots.iter().find(|root| root.local_folder() == Some(around));
        let is_there = own.is_some_and(|root| root.last_ingest_at.is_some());
        if let Some(own) = own.filter(|_| is_there) {
            return Some(ClientTree { tree: own.clone(), worktree: None });
        }
        // The worktree is not indexed, or not completely.
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

/// Returns the indexed tree that resembles a repository most: one of the same commit, else the main
/// worktree, else the tree indexed last. Trees of other hosts count if their remote is the same.
fn find_nearest_tree<'a>(
    git: &GitRepository,
    roots: &'a [Root],
    host: Option<&Host>,
    pulse: &IoHeartbeat,
) -> Option<&'a Root> {
    let owner = repository::find_repository_id(git, roots, host);
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
        is_still(root, git, |own| repository::find_repository_id(own, roots, host) == owner)
    })
}

/// Returns true if a tree still belongs to the repository; its folder may now contain another one.
fn is_still(tree: &Root, git: &GitRepository, is_same: impl Fn(&GitRepository) -> bool) -> bool {
    if tree.host.is_some() {
        // The files of other hosts cannot be checked.
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
