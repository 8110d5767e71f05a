//! A root: one indexed folder, and what is known of it.

use std::{collections::HashSet, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{FileRecord, LastRun, RootId, Timestamp};

/// One indexed repository, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Derived from the canonical path.
    pub id: RootId,
    /// Unique among roots; the folder's name unless the user chose another.
    pub name: String,
    /// What the user said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Canonical absolute path on the machine that ingests it; of a commit, that of its repository with `@` and the
    /// name of the commit after it, where nothing is.
    pub path: PathBuf,
    /// The commit whose files are indexed, where it is not a folder that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The git repository that it is a worktree of: the id of its main worktree. `None` for any other folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RootId>,
    /// Model whose vectors the store holds for it, as `name@version`.
    pub model_id: String,
    /// End of the last completed ingest; `None` until the first one completes.
    #[serde(default, rename = "lastIngestAtMs")]
    pub last_ingest_at: Option<Timestamp>,
    /// What the last completed ingest left in the store.
    pub counts: Counts,
    /// What became of the last run.
    #[serde(default)]
    pub last_run: LastRun,
    /// Files that indexing leaves out because they are secrets, by their paths below the root. They
    /// are kept from the model's shell, too, and are not shown to clients. `None` until a run has
    /// looked for them: former versions did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_files: Option<Vec<String>>,
}

/// A commit whose files are indexed as they are in the repository, whatever is checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The folder of the repository, by its canonical path: a work tree, or a bare repository.
    pub folder: PathBuf,
    /// What names the commit: a branch, a tag, or its id.
    pub name: String,
    /// The folder of git that holds the references and objects.
    pub store: PathBuf,
    /// The id of the commit that was last looked at, in full; empty before that.
    pub commit: String,
}

impl Root {
    /// Returns the id under which its chunks are kept, which all trees of a repository share.
    pub fn owner(&self) -> RootId {
        self.repository.unwrap_or(self.id)
    }

    /// Leaves out the files that are known to be secrets.
    pub fn public(&self, mut records: Vec<FileRecord>) -> Vec<FileRecord> {
        let private: HashSet<&String> = self.private_files.iter().flatten().collect();
        records.retain(|record| !private.contains(&record.path));
        records
    }
}

/// No root is called like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no repository `{reference}` is indexed; known are {known}")]
pub struct UnknownRoot {
    /// What was asked for, shortened.
    reference: String,
    /// Names of indexed repositories, a few at most.
    known: String,
}

impl UnknownRoot {
    /// The most repositories that are named.
    const MAX_NAMED: usize = 10;
    /// The most characters of a wrong name that are repeated.
    const MAX_REFERENCE: usize = 120;

    /// Says that none of `roots` is called `reference`, and how they are called.
    pub fn new(reference: &str, roots: &[Root]) -> Self {
        let names: Vec<String> =
            roots.iter().take(Self::MAX_NAMED).map(|root| format!("`{}`", root.name)).collect();
        let more = match roots.len().saturating_sub(Self::MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Self {
            reference: reference.chars().take(Self::MAX_REFERENCE).collect(),
            known: if names.is_empty() { "none".to_owned() } else { names.join(", ") + &more },
        }
    }
}

/// How much of a root is indexed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Files with at least one chunk in the store.
    pub files: u64,
    /// Chunks in the store.
    pub chunks: u64,
    /// Chunks that the last run embedded.
    pub embedded: u64,
}
