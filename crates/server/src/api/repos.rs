//! The repositories that are indexed, as tools show them.

use std::path::Path;

use codeinfo_core::{Root, RootId, plain_name};
use codeinfo_ingest::{Added, IngestError};
use codeinfo_search::SearchError;
use codeinfo_worktree::root_link::find_root;

use super::Services;
use crate::replies::{Adds, Repo, Repos};

/// Most characters of a path in a notice.
const MAX_PATH: usize = 300;

impl Services {
    /// Returns the repository that a name, an id or a path means.
    pub(super) async fn root(&self, named: &str) -> Result<Root, SearchError> {
        let roots = self.search.roots().await?;
        Ok(find_root(&self.path_map, &roots, named).await?)
    }

    /// Returns the tree that a client means by standing in a folder, as it sees that, and what it should know if
    /// another one answers for it.
    pub(super) async fn standing(&self, folder: Option<&Path>) -> (Option<RootId>, Option<String>) {
        let Some(folder) = folder else { return (None, None) };
        let Some(standing) = self.ingest.joined(&self.path_map.meant(folder)).await else {
            return (None, None);
        };
        let worktree = standing.worktree.as_deref().unwrap_or(Path::new(""));
        let shown = plain_name(&self.path_map.shown(worktree).display().to_string(), MAX_PATH);
        (Some(standing.tree.id), standing.notice(&shown.replace('`', "'")))
    }
}

/// Lists what is indexed, ordered by name.
pub(super) async fn repos(services: &Services) -> Result<Repos, IngestError> {
    let roots: Vec<Root> =
        services.ingest.roots().await?.into_iter().map(|status| status.root).collect();
    let first = |root: &Root| {
        let mut trees = roots.iter().filter(|other| other.owner() == root.owner());
        trees.clone().find(|other| other.id == other.owner()).or_else(|| trees.next())
    };
    let tree_of = |root: &Root| {
        let first = first(root).filter(|first| first.id != root.id)?;
        Some(first.name.clone())
    };
    let gone = services.search.find_gone(&roots).await;
    let listed = |root: &Root| Repo {
        tree_of: tree_of(root),
        folder_gone: gone.contains(&root.id),
        ..repo(root.clone(), services)
    };
    let repos: Vec<Repo> = roots.iter().map(listed).collect();
    let locked_model_id = (!repos.is_empty()).then(|| services.embedder.model().id());
    Ok(Repos { repos, locked_model_id })
}

/// Lists the same, with what each tree adds to the others of its repository.
pub(super) async fn repos_compared(services: &Services) -> Result<Repos, IngestError> {
    let mut repos = repos(services).await?;
    let known = services.ingest.roots().await?.into_iter().map(|status| status.root).collect();
    let known: Vec<Root> = known;
    let added = services.ingest.additions(&known).await?;
    for repo in &mut repos.repos {
        let of_tree = |Added { files, chunks }: &Added| Adds { files: *files, chunks: *chunks };
        repo.adds = added.get(&repo.id).map(of_tree);
    }
    Ok(repos)
}

fn repo(root: Root, services: &Services) -> Repo {
    Repo {
        id: root.id,
        name: root.name,
        description: root.description,
        path: services.path_map.shown(&root.path),
        host: root.host.map(|host| host.name),
        last_ingest_at: root.last_ingest_at.map(|time| time.to_string()),
        model_id: root.model_id,
        counts: root.counts,
        last_error: root.last_run.error().map(str::to_owned),
        folder_gone: false,
        commit: root.revision.map(|revision| revision.commit),
        tree_of: None,
        adds: None,
    }
}
