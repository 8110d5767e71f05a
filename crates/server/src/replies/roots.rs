//! Replies of the ingest routes and of `GET /tools/ingested-repos`.

use std::path::PathBuf;

use codeinfo_core::{IndexCounts, OmissionRule, RootId, RunId};
use codeinfo_ingest::RunState;
use serde::{Deserialize, Serialize};

/// Run that was queued.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartRunReply {
    pub run_id: RunId,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RootsReply {
    pub roots: Vec<ListedRoot>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedRoot {
    pub id: RootId,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub path: PathBuf,
    /// Name of the host that has the root, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub model_id: String,
    pub last_ingest_at: Option<String>,
    pub counts: IndexCounts,
    pub last_error: Option<String>,
    pub state: RunState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Files that rules leave out of its index, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<OmittedCount>,
}

/// Files and folders that one rule leaves out of an index.
#[derive(Debug, Serialize, Deserialize)]
pub struct OmittedCount {
    pub rule: OmissionRule,
    /// The rule in words.
    pub reason: String,
    pub files: u64,
    /// Number of folders; nothing inside them is counted.
    pub folders: u64,
    /// The first paths below the repository; folders come first and end with `/`.
    pub examples: Vec<String>,
}

/// Reply of `POST /ingest/remove/ROOT`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveRootReply {
    pub removed: RemovedRoot,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RemovedRoot {
    pub id: RootId,
    pub name: String,
    pub path: PathBuf,
}

/// Reply of `GET /tools/ingested-repos`.
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
    pub adds: Option<RepoAdditions>,
}

/// Amount of content that no other tree of the repository has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoAdditions {
    /// Files in versions that no other tree has.
    pub files: u64,
    /// Chunks of these files.
    pub chunks: u64,
}
