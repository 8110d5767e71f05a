//! What `GET /repositories/{repo}` replies.

use codeinfo_ingest::{RunCounts, RunState};
use serde::{Deserialize, Serialize};

use super::ListedRoot;

/// One repository.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WholeRepository {
    /// As `GET /ingest/roots` has it.
    #[serde(flatten)]
    pub root: ListedRoot,
    /// The one with the most chunks first.
    pub languages: Vec<LanguageShare>,
    /// The last run that ended since the server was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<EndedRun>,
    pub watch: WatchState,
    /// How much room it takes on disk; `null` where that is not known.
    pub bytes: Option<u64>,
    /// Whether these are a part of files that it shares with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bytes_estimated: bool,
}

/// How much of a repository is in one language.
#[derive(Debug, Serialize, Deserialize)]
pub struct LanguageShare {
    /// Its name in lower case; `null` for text of none that is known.
    pub language: Option<String>,
    pub files: u64,
    pub chunks: u64,
}

/// A run that ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedRun {
    pub state: RunState,
    pub started_at: String,
    pub ended_at: String,
    pub counts: RunCounts,
    /// Why it failed, or what is worth knowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Files that could not be indexed, in order of path; 200 at most.
    pub skipped: Vec<SkippedFile>,
    pub skipped_total: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Below the repository.
    pub path: String,
    pub reason: String,
}

/// Whether the index is kept as the files are.
#[derive(Debug, Serialize, Deserialize)]
pub struct WatchState {
    /// `watching`, `off` or `failed`.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
