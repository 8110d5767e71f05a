//! Roots: indexed folders or commits, and their state.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use codeinfo_secrets::{SecretNameCertainty, secret_name};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{FileRecord, Host, OmissionRule, OmittedPaths, RootId, Timestamp, explain_omission};

/// An indexed folder or commit, as the store records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Id derived from the canonical path.
    pub id: RootId,
    /// Unique name among roots. Defaults to the name of the folder.
    pub name: String,
    /// Description by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Canonical path on its machine; for a commit `REPOSITORY@NAME`, where no file exists.
    pub path: PathBuf,
    /// The indexed commit. `None` if the root is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<IndexedCommit>,
    /// Git repository of a worktree: the id of the main worktree or, if hosts share a store, an id
    /// that its worktrees on all hosts have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RootId>,
    /// Marks that identify the repository across hosts that share a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Other host that has the root, if hosts share a store. The path does not exist on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Model of the stored vectors, as `name@version`.
    pub model_id: String,
    /// End of the last completed ingest. `None` until the first one completes.
    #[serde(default, rename = "lastIngestAtMs")]
    pub last_ingest_at: Option<Timestamp>,
    /// Start of the last run that changed the stored data of the root's files. `None` if unknown.
    #[serde(default, rename = "changedAtMs", skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// Counts after the last completed ingest.
    pub counts: IndexCounts,
    /// Outcome of the last run.
    #[serde(default)]
    pub last_run: LastRun,
    /// Secret files that are not indexed and that neither the model's shell nor clients see, by
    /// path below the root. `None` until a run has searched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_files: Option<Vec<String>>,
    /// Those of `private_files` that are indexed with secrets redacted and that clients may see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub censored_files: Vec<String>,
    /// Paths that rules left out of the index.
    #[serde(default, skip_serializing_if = "OmittedPaths::is_empty")]
    pub omitted: OmittedPaths,
}

/// Marks of where a repository comes from. Two repositories with one mark in common are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// Id of the repository's git folder on its host.
    pub store: RootId,
    /// Address of the remote, as `host/path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Id of the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_commit: Option<String>,
}

/// A commit whose files are indexed as stored in the repository, whatever is checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedCommit {
    /// Canonical path of the repository: a worktree or a bare repository.
    pub folder: PathBuf,
    /// Name of the commit: a branch, a tag or its id.
    pub name: String,
    /// Git folder that holds the references and objects.
    pub store: PathBuf,
    /// Full id of the commit that was examined last; empty before that.
    pub commit: String,
}

impl Root {
    /// Creates a root, named as the folder, for a folder of this machine that was never indexed.
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

    /// Returns when the files last began to change; `None` while a run may change them. A run
    /// writes its root before it changes files and at its end, so equal roots have equal files.
    pub fn last_change(&self) -> Option<Timestamp> {
        self.changed_at.filter(|_| self.last_run.is_completed())
    }

    /// Returns the root with its index marked as discarded; it must be indexed again.
    #[must_use]
    pub fn without_index(self) -> Self {
        Self { counts: IndexCounts::default(), last_run: LastRun::Discarded, ..self }
    }

    /// Returns the id that owns the root's chunks. All worktrees of a repository share it.
    pub fn chunk_owner(&self) -> RootId {
        self.repository.unwrap_or(self.id)
    }

    /// Returns the root's folder on this machine. `None` for commits and for roots of other hosts.
    pub fn local_folder(&self) -> Option<&Path> {
        (self.revision.is_none() && self.host.is_none()).then_some(&self.path)
    }

    /// Returns whether `other` is another tree of the same repository.
    pub fn is_other_tree(&self, other: &Self) -> bool {
        other.id != self.id && other.chunk_owner() == self.chunk_owner()
    }

    /// Removes the records of files that are secrets as a whole.
    pub fn retain_public_files(&self, mut records: Vec<FileRecord>) -> Vec<FileRecord> {
        let mut private: HashSet<&String> = self.private_files.iter().flatten().collect();
        for censored in &self.censored_files {
            private.remove(censored);
        }
        records.retain(|record| !private.contains(&record.path));
        records
    }

    fn is_private_file(&self, path: &str) -> bool {
        self.private_files.iter().flatten().any(|private| private == path)
            && !self.censored_files.iter().any(|censored| censored == path)
    }

    /// Explains why a path below the root is not in its index; `None` if it was not left out.
    pub fn explain_unindexed_path(&self, path: &str) -> Option<String> {
        self.omitted.explain_path(path).or_else(|| {
            // Only the first paths of each rule are stored, but a name shows its rule.
            let rule = OmissionRule::for_path(path)?;
            let is_used = self.omitted.groups().any(|(known, _)| known == rule);
            is_used.then(|| explain_omission(rule, path))
        })
    }

    /// Returns whether a path is not left out as hidden, as a secret or by a rule of the root.
    pub fn is_public_path(&self, path: &str) -> bool {
        !path.split('/').any(|part| part.starts_with('.'))
            && secret_name(path) != Some(SecretNameCertainty::Certain)
            && !self.is_private_file(path)
            && self.explain_unindexed_path(path).is_none()
    }
}

impl Origin {
    /// Returns whether two repositories are the same.
    pub fn is_same_repository(&self, other: &Self) -> bool {
        let is_same = |own: &Option<String>, other: &Option<String>| own.is_some() && own == other;
        self.store == other.store
            || is_same(&self.remote, &other.remote)
            || is_same(&self.first_commit, &other.first_commit)
    }

    /// Returns an id common to all trees, by first commit, else by remote, else by git folder.
    pub fn repository_id(&self) -> RootId {
        let mark = self.first_commit.as_ref().or(self.remote.as_ref());
        mark.map_or(self.store, |mark| RootId(Uuid::new_v5(&Uuid::NAMESPACE_URL, mark.as_bytes())))
    }
}

/// Error for a reference that matches no root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no repository `{reference}` is indexed; known are {known}")]
pub struct UnknownRoot {
    reference: String,
    /// Names of a few indexed repositories.
    known: String,
}

impl UnknownRoot {
    const MAX_NAMED: usize = 10;
    /// Maximum number of characters of the reference in the message.
    const MAX_REFERENCE: usize = 120;

    /// Creates the error for `reference`, with the names of `roots`.
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

/// Counts of the indexed files and chunks of a root.
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

/// State of a root's index after the last run or a later check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum LastRun {
    /// The run succeeded or was cancelled. Also the state before the first run.
    Completed,
    /// The run failed.
    Failed {
        /// Reason, for people.
        reason: String,
        /// True if the run resumes by itself, because the store was unavailable.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumes: bool,
    },
    /// The run began and has not ended. Records of former versions without a state read as this.
    #[default]
    Interrupted,
    /// A later check found the index damaged.
    Damaged,
    /// The index was of another model or layout and was discarded.
    Discarded,
}

impl LastRun {
    /// Returns whether the index needs no repair.
    pub fn is_completed(&self) -> bool {
        *self == Self::Completed
    }

    /// Returns what is wrong and what to do, for people. `None` for completed runs.
    pub fn error_message(&self) -> Option<&str> {
        match self {
            Self::Completed => None,
            Self::Failed { reason, .. } => Some(reason),
            Self::Interrupted => Some("the last run was interrupted; ingest again to complete it"),
            Self::Damaged => Some("its index was damaged; ingest again to repair it"),
            Self::Discarded => {
                Some("its index was of another model or version; `codeinfo serve` indexes it again")
            }
        }
    }
}

/// Filter for roots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootFilter {
    /// All roots.
    #[default]
    Everything,
    /// Only the root with this id.
    Only(RootId),
    /// All roots except the other trees of this root's repository.
    Tree(RootId),
}

impl RootFilter {
    /// Returns the roots that pass the filter. `roots` must be all roots of the index.
    pub fn select_roots(self, roots: &[Root]) -> Vec<Root> {
        let tree = match self {
            Self::Tree(tree) => roots.iter().find(|root| root.id == tree),
            Self::Everything | Self::Only(_) => None,
        };
        let is_seen = |root: &&Root| match self {
            Self::Only(only) => root.id == only,
            Self::Everything | Self::Tree(_) => tree.is_none_or(|tree| !tree.is_other_tree(root)),
        };
        roots.iter().filter(is_seen).cloned().collect()
    }
}
