//! Reply of `GET /repositories/{repo}`.

use codeinfo_ingest::{RunCounts, RunState};
use serde::{Deserialize, Serialize};

use super::ListedRoot;

/// Details of one repository.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WholeRepository {
    /// The root, as in `GET /ingest/roots`.
    #[serde(flatten)]
    pub root: ListedRoot,
    /// Languages, the one with the most chunks first.
    pub languages: Vec<LanguageShare>,
    /// The last run that ended since the start of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<EndedRun>,
    pub watch: WatchState,
    /// Size on disk; `null` if unknown.
    pub bytes: Option<u64>,
    /// True if the size is a share of files that other repositories use as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bytes_estimated: bool,
}

/// Share of a language in a repository.
#[derive(Debug, Serialize, Deserialize)]
pub struct LanguageShare {
    /// Name in lower case; `null` for text of no known language.
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
    /// Reason of a failure, or a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Files that could not be indexed, ordered by path; at most 200.
    pub skipped: Vec<SkippedFile>,
    pub skipped_total: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Path below the repository.
    pub path: String,
    pub reason: String,
}

/// State of the watcher that keeps the index up to date.
#[derive(Debug, Serialize, Deserialize)]
pub struct WatchState {
    /// One of `watching`, `off` and `failed`.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
