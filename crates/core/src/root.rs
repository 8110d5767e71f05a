//! A root: one indexed folder, and what is known of it.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{FileRecord, Host, LastRun, OmittedPaths, RootId, Timestamp};

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
    pub revision: Option<IndexedCommit>,
    /// The git repository that it is a worktree of: the id of its main worktree, or where hosts share a store, one
    /// that its trees on all of them have. `None` for any other folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RootId>,
    /// What shows, where hosts share a store, that a tree is of the same repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The host that has it, where hosts share a store and it is another one: nothing is at its path here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Model whose vectors the store holds for it, as `name@version`.
    pub model_id: String,
    /// End of the last completed ingest; `None` until the first one completes.
    #[serde(default, rename = "lastIngestAtMs")]
    pub last_ingest_at: Option<Timestamp>,
    /// When the last run that changed what the store keeps of its files began to; `None` where that is not known.
    #[serde(default, rename = "changedAtMs", skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// What the last completed ingest left in the store.
    pub counts: IndexCounts,
    /// What became of the last run.
    #[serde(default)]
    pub last_run: LastRun,
    /// Files that indexing leaves out because they are secrets, by their paths below the root. They
    /// are kept from the model's shell, too, and are not shown to clients. `None` until a run has
    /// looked for them: former versions did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_files: Option<Vec<String>>,
    /// Those of them that are indexed without the secrets in them, and so are shown to clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub censored_files: Vec<String>,
    /// What rules left out of its index.
    #[serde(default, skip_serializing_if = "OmittedPaths::is_empty")]
    pub omitted: OmittedPaths,
}

/// Where a repository is from. Two that have one of these in common are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// Its folder of git, on its host.
    pub store: RootId,
    /// The address of its remote, as `host/path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The id of its first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_commit: Option<String>,
}

/// A commit whose files are indexed as they are in the repository, whatever is checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedCommit {
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
    /// Returns a folder of this machine that was never indexed, called like itself.
    pub fn from_folder(path: PathBuf) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Self {
            id: RootId::from_path(&path),
            name: name.unwrap_or_default(),
            description: None,
            path,
            revision: None,
            repository: None,
            origin: None,
            host: None,
            model_id: String::new(),
            last_ingest_at: None,
            changed_at: None,
            counts: IndexCounts::default(),
            last_run: LastRun::Completed,
            private_files: None,
            omitted: OmittedPaths::default(),
            censored_files: Vec::new(),
        }
    }

    /// Returns it without an index: what it had is gone, and has to be indexed again.
    #[must_use]
    pub fn without_index(self) -> Self {
        Self { counts: IndexCounts::default(), last_run: LastRun::Discarded, ..self }
    }

    /// Returns the id under which its chunks are kept, which all trees of a repository share.
    pub fn chunk_owner(&self) -> RootId {
        self.repository.unwrap_or(self.id)
    }

    /// Returns the folder that it is on this machine: a commit is none, nor is what another host has.
    pub fn local_folder(&self) -> Option<&Path> {
        (self.revision.is_none() && self.host.is_none()).then_some(&self.path)
    }

    /// Whether another root is another tree of the same repository.
    pub fn has_other(&self, other: &Self) -> bool {
        other.id != self.id && other.chunk_owner() == self.chunk_owner()
    }

    /// Leaves out the files that are known to be secrets as a whole.
    pub fn retain_public_files(&self, mut records: Vec<FileRecord>) -> Vec<FileRecord> {
        let mut private: HashSet<&String> = self.private_files.iter().flatten().collect();
        for censored in &self.censored_files {
            private.remove(censored);
        }
        records.retain(|record| !private.contains(&record.path));
        records
    }
}

impl Origin {
    /// Whether two repositories are the same.
    pub fn is_of(&self, other: &Self) -> bool {
        let is_same = |own: &Option<String>, other: &Option<String>| own.is_some() && own == other;
        self.store == other.store
            || is_same(&self.remote, &other.remote)
            || is_same(&self.first_commit, &other.first_commit)
    }

    /// Returns the id that all trees of the repository have, as far as what is known of it goes.
    pub fn repository_id(&self) -> RootId {
        let mark = self.first_commit.as_ref().or(self.remote.as_ref());
        mark.map_or(self.store, |mark| RootId(Uuid::new_v5(&Uuid::NAMESPACE_URL, mark.as_bytes())))
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
pub struct IndexCounts {
    /// Files with at least one chunk in the store.
    pub files: u64,
    /// Chunks in the store.
    pub chunks: u64,
    /// Chunks that the last run embedded.
    pub embedded: u64,
}
