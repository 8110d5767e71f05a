//! Indexed repositories: their list, the details of one, and how requests name them.

use std::path::{Path, PathBuf};

use codeinfo_core::{IndexCounts, Root, RootId};
use codeinfo_http::{Response, reply};
use codeinfo_ingest::{
    IngestError, LanguageCount, PastRun, RootDetails, RunCounts, RunState, TreeAdditions,
    WatchStatus,
};
use codeinfo_search::SearchError;
use codeinfo_worktree::roots::find_root;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    ApiServices,
    error::ApiError,
    ingest::{ListedRoot, build_listed_root},
};
use crate::mcp_http::quote_path;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestedRepos {
    pub repos: Vec<IngestedRepo>,
    /// Embedding model of the store; `null` while the store is empty.
    pub locked_model_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestedRepo {
    pub id: RootId,
    pub name: String,
    pub description: Option<String>,
    pub path: PathBuf,
    /// Name of the host that has the root, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub last_ingest_at: Option<String>,
    pub model_id: String,
    pub counts: IndexCounts,
    pub last_error: Option<String>,
    /// True if the folder is gone: moved, deleted, or on a missing disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder_gone: bool,
    /// Indexed commit, if the root is a commit instead of a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// First tree of the repository, if this is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_of: Option<String>,
    /// Content that no other tree of the repository has, if there are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds: Option<TreeAdditions>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryDetails {
    /// The root, as in `GET /ingest/roots`.
    #[serde(flatten)]
    root: ListedRoot,
    languages: Vec<LanguageCount>,
    /// The last run that ended since the start of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<EndedRun>,
    watch: WatchStatus,
    /// Size on disk; `null` if unknown.
    bytes: Option<u64>,
    /// True if the size is a share of files that other repositories use as well.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bytes_estimated: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndedRun {
    state: RunState,
    started_at: String,
    ended_at: String,
    counts: RunCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    skipped: Vec<SkippedFile>,
    skipped_total: u64,
}

#[derive(Serialize)]
struct SkippedFile {
    path: String,
    reason: String,
}

impl ApiServices {
    /// Finds the repository with a name, id or path.
    pub(super) async fn resolve_root(&self, named: &str) -> Result<Root, SearchError> {
        let roots = self.search.list_roots().await?;
        Ok(find_root(&self.path_map, &roots, named).await?)
    }

    /// Returns the tree for a folder as its client sees it, and a notice if another tree answers.
    pub(super) async fn find_client_tree(
        &self,
        folder: Option<&Path>,
    ) -> (Option<RootId>, Option<String>) {
        let Some(folder) = folder else { return (None, None) };
        let folder = self.path_map.to_server_path(folder);
        let Some(found) = self.ingest.find_or_join_client_tree(&folder).await else {
            return (None, None);
        };
        let worktree = found.worktree.as_deref().unwrap_or(Path::new(""));
        let display_path = quote_path(&self.path_map.to_client_path(worktree));
        (Some(found.tree.id), found.build_notice(&display_path))
    }

    pub(super) async fn list_roots(&self) -> Result<Vec<Root>, IngestError> {
        Ok(self.ingest.list_roots().await?.into_iter().map(|status| status.root).collect())
    }
}

/// Lists the indexed repositories, with what each tree adds to the others of its repository.
pub(super) async fn reply_repos(services: &ApiServices) -> Result<Response, ApiError> {
    let roots = services.list_roots().await?;
    let additions = services.ingest.load_tree_additions(&roots).await?;
    let mut repos = build_repos(services, &roots).await;
    for repo in &mut repos {
        repo.adds = additions.get(&repo.id).copied();
    }
    let locked_model_id = (!repos.is_empty()).then(|| services.embedder.model().id());
    Ok(reply::json_response(StatusCode::OK, &IngestedRepos { repos, locked_model_id }))
}

pub(super) async fn build_repos(services: &ApiServices, roots: &[Root]) -> Vec<IngestedRepo> {
    let find_first_tree = |root: &Root| {
        let mut trees = roots.iter().filter(|other| other.chunk_owner() == root.chunk_owner());
        trees.clone().find(|other| other.id == other.chunk_owner()).or_else(|| trees.next())
    };
    let gone = services.search.find_missing_roots(roots).await;
    let build_repo = |root: &Root| {
        let first_tree = find_first_tree(root).filter(|first| first.id != root.id);
        IngestedRepo {
            id: root.id,
            name: root.name.clone(),
            description: root.description.clone(),
            path: services.path_map.to_client_path(&root.path),
            host: root.host.as_ref().map(|host| host.name.clone()),
            last_ingest_at: root.last_ingest_at.map(|time| time.to_string()),
            model_id: root.model_id.clone(),
            counts: root.counts,
            last_error: root.last_run.error_message().map(str::to_owned),
            folder_gone: gone.contains(&root.id),
            commit: root.revision.as_ref().map(|revision| revision.commit.clone()),
            tree_of: first_tree.map(|first| first.name.clone()),
            adds: None,
        }
    };
    roots.iter().map(build_repo).collect()
}

pub(super) async fn show_repository(
    services: &ApiServices,
    reference: &str,
) -> Result<Response, ApiError> {
    let RootDetails { status, languages, last_run, watching, size } =
        services.ingest.describe_root(reference).await?;
    let details = RepositoryDetails {
        root: build_listed_root(status, services),
        languages,
        last_run: last_run.map(build_ended_run),
        watch: watching,
        bytes: size.map(|size| size.bytes),
        bytes_estimated: size.is_some_and(|size| size.is_estimate),
    };
    Ok(reply::json_response(StatusCode::OK, &details))
}

fn build_ended_run(run: PastRun) -> EndedRun {
    let named = run.missing.named.into_iter();
    EndedRun {
        state: run.state,
        started_at: run.started_at.to_string(),
        ended_at: run.ended_at.to_string(),
        counts: run.counts,
        message: run.message,
        skipped: named.map(|(path, reason)| SkippedFile { path, reason }).collect(),
        skipped_total: run.missing.total,
    }
}
