//! What the routes of ingest and `GET /tools/ingested-repos` reply.

use std::path::PathBuf;

use codeinfo_core::{IndexCounts, OmissionRule, RootId, RunId};
use codeinfo_ingest::RunState;
use serde::{Deserialize, Serialize};

/// A run that was queued.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartRunReply {
    pub run_id: RunId,
}

/// What `GET /ingest/roots` replies.
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
    /// What the host is called that has it, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub model_id: String,
    pub last_ingest_at: Option<String>,
    pub counts: IndexCounts,
    pub last_error: Option<String>,
    pub state: RunState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// What rules leave out of its index, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<OmittedCount>,
}

/// How much one rule leaves out of an index.
#[derive(Debug, Serialize, Deserialize)]
pub struct OmittedCount {
    pub rule: OmissionRule,
    /// The rule in words.
    pub reason: String,
    pub files: u64,
    /// Nothing in them is counted.
    pub folders: u64,
    /// The first paths below the repository, folders first, which end with `/`.
    pub examples: Vec<String>,
}

/// What `POST /ingest/remove/ROOT` replies.
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

/// What `GET /tools/ingested-repos` replies.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestedRepos {
    pub repos: Vec<IngestedRepo>,
    /// The embedding model that the store is bound to; `null` while it is empty.
    pub locked_model_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestedRepo {
    pub id: RootId,
    pub name: String,
    pub description: Option<String>,
    pub path: PathBuf,
    /// What the host is called that has it, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub last_ingest_at: Option<String>,
    pub model_id: String,
    pub counts: IndexCounts,
    pub last_error: Option<String>,
    /// Whether its folder is gone: moved, deleted, or on a disk that is not there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder_gone: bool,
    /// The commit that is indexed, where it is one and no folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The first tree of its repository, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_of: Option<String>,
    /// What it has and no other tree of its repository, where there are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds: Option<RepoAdditions>,
}

/// How much one tree has that no other tree of its repository has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoAdditions {
    /// Files that no other tree has in this version.
    pub files: u64,
    /// Their chunks.
    pub chunks: u64,
}
