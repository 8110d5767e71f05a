//! Lists and finds indexed repositories for the tools.

use std::path::Path;

use codeinfo_core::{Root, RootId, plain_name};
use codeinfo_ingest::{IngestError, TreeAdditions};
use codeinfo_search::SearchError;
use codeinfo_worktree::roots::find_root;

use super::ApiServices;
use crate::replies::{IngestedRepo, IngestedRepos, RepoAdditions};

/// Maximum characters of a path in a notice.
const MAX_PATH: usize = 300;

impl ApiServices {
    /// Finds the repository with a name, id or path.
    pub(super) async fn resolve_root(&self, named: &str) -> Result<Root, SearchError> {
        let roots = self.search.list_roots().await?;
        Ok(find_root(&self.path_map, &roots, named).await?)
    }

    /// Returns the tree for the folder in which a client works, given as the client sees it. Also
    /// returns a notice if another tree answers for it.
    pub(super) async fn find_client_tree(
        &self,
        folder: Option<&Path>,
    ) -> (Option<RootId>, Option<String>) {
        let Some(folder) = folder else { return (None, None) };
        let Some(standing) =
            self.ingest.find_or_join_client_tree(&self.path_map.to_server_path(folder)).await
        else {
            return (None, None);
        };
        let worktree = standing.worktree.as_deref().unwrap_or(Path::new(""));
        let shown =
            plain_name(&self.path_map.to_client_path(worktree).display().to_string(), MAX_PATH);
        (Some(standing.tree.id), standing.build_notice(&shown.replace('`', "'")))
    }
}

/// Lists the indexed repositories, ordered by name.
pub(super) async fn list_repos(services: &ApiServices) -> Result<IngestedRepos, IngestError> {
    let roots: Vec<Root> =
        services.ingest.list_roots().await?.into_iter().map(|status| status.root).collect();
    let first = |root: &Root| {
        let mut trees = roots.iter().filter(|other| other.chunk_owner() == root.chunk_owner());
        trees.clone().find(|other| other.id == other.chunk_owner()).or_else(|| trees.next())
    };
    let tree_of = |root: &Root| {
        let first = first(root).filter(|first| first.id != root.id)?;
        Some(first.name.clone())
    };
    let gone = services.search.find_missing_roots(&roots).await;
    let listed = |root: &Root| IngestedRepo {
        tree_of: tree_of(root),
        folder_gone: gone.contains(&root.id),
        ..build_repo(root.clone(), services)
    };
    let repos: Vec<IngestedRepo> = roots.iter().map(listed).collect();
    let locked_model_id = (!repos.is_empty()).then(|| services.embedder.model().id());
    Ok(IngestedRepos { repos, locked_model_id })
}

/// Lists the indexed repositories, with what each tree adds to the others of its repository.
pub(super) async fn repos_compared(services: &ApiServices) -> Result<IngestedRepos, IngestError> {
    let mut repos = list_repos(services).await?;
    let statuses = services.ingest.list_roots().await?;
    let known: Vec<Root> = statuses.into_iter().map(|status| status.root).collect();
    let added = services.ingest.load_tree_additions(&known).await?;
    for repo in &mut repos.repos {
        let of_tree = |TreeAdditions { files, chunks }: &TreeAdditions| RepoAdditions {
            files: *files,
            chunks: *chunks,
        };
        repo.adds = added.get(&repo.id).map(of_tree);
    }
    Ok(repos)
}

fn build_repo(root: Root, services: &ApiServices) -> IngestedRepo {
    IngestedRepo {
        id: root.id,
        name: root.name,
        description: root.description,
        path: services.path_map.to_client_path(&root.path),
        host: root.host.map(|host| host.name),
        last_ingest_at: root.last_ingest_at.map(|time| time.to_string()),
        model_id: root.model_id,
        counts: root.counts,
        last_error: root.last_run.error_message().map(str::to_owned),
        folder_gone: false,
        commit: root.revision.map(|revision| revision.commit),
        tree_of: None,
        adds: None,
    }
}
