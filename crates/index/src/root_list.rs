//! The list of roots, stored apart so that names survive the loss of the index, and the roots that need repair.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{IndexCounts, LastRun, Root, RootId};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::{IndexError, folder};

/// Name of the list, next to the folder of the index; a copy is in the folder.
const FILE: &str = "roots.json";

/// Message about an index whose list of roots is lost, and with it their names.
pub(crate) const LOST: &str = "the list of repositories is lost; ingest each of them again";

/// The list of an open index. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct RootList {
    path: PathBuf,
    copy: PathBuf,
    record: Arc<Mutex<RootListRecord>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RootListRecord {
    /// Description of the damage, until every root is repaired.
    #[serde(default)]
    damage: Option<String>,
    /// Roots that need repair.
    #[serde(default)]
    damaged: BTreeSet<RootId>,
    /// Present after the list of a filled index was lost, until a repository is added: the roots
    /// that could still be named.
    #[serde(default)]
    lost: Option<BTreeSet<RootId>>,
    /// True once all roots of the index were stored here.
    #[serde(default)]
    is_whole: bool,
    /// Ordered by id; without counts and errors, which change often.
    roots: Vec<Root>,
}

impl RootList {
    /// Reads the list of the index in `folder`, or the copy in it. Without both it is empty. A malformed list
    /// is moved away, or refused unless the index `repairs` itself.
    pub(crate) fn open(folder: &Path, repairs: bool) -> Result<Self, IndexError> {
        let (path, copy) = (folder.with_file_name(FILE), folder.join(FILE));
        let stored = match read_list(&path) {
            Ok(stored) => stored,
            Err(RootListError::Malformed(reason)) => {
                let reason = format!("`{FILE}` cannot be read: {reason}");
                if !repairs {
                    return Err(IndexError::Damaged { path: folder.to_owned(), reason });
                }
                folder::quarantine_sibling(folder, FILE, &reason)?;
                None
            }
            Err(RootListError::Failed(error)) => return Err(error),
        };
        // A missing copy is no failure.
        let record = stored.or_else(|| read_list(&copy).ok().flatten()).unwrap_or_default();
        Ok(Self { path, copy, record: Arc::new(Mutex::new(record)) })
    }

    /// Returns whether all roots of the index are listed, or were when the list was last written.
    pub(crate) fn is_whole(&self) -> bool {
        let record = self.lock_record();
        record.is_whole || !record.roots.is_empty()
    }

    pub(crate) fn roots(&self) -> Vec<Root> {
        self.lock_record().roots.clone()
    }

    pub(crate) fn is_damaged(&self, root: RootId) -> bool {
        self.lock_record().damaged.contains(&root)
    }

    pub(crate) fn describe_damage(&self) -> Option<String> {
        let record = self.lock_record();
        let damaged = record.roots.iter().filter(|root| record.damaged.contains(&root.id));
        let names: Vec<&str> = damaged.map(|root| root.name.as_str()).collect();
        let damage = record.damage.as_deref().unwrap_or("part of the index");
        let lost = record.lost.as_ref().map(|_| format!("; {LOST}"));
        if names.is_empty() && lost.is_none() {
            return None;
        }
        let repairing = (!names.is_empty()).then(|| format!("; repairing: {}", names.join(", ")));
        let (lost, repairing) = (lost.unwrap_or_default(), repairing.unwrap_or_default());
        Some(format!("damaged: {damage}{lost}{repairing}"))
    }

    /// Records on disk that `roots` need repair, for the reason `damage` or the one recorded before.
    pub(crate) fn mark_damaged(
        &self,
        damage: Option<&str>,
        roots: &[Root],
    ) -> Result<(), IndexError> {
        self.change_record(|record| {
            record.damage = damage.map(ToOwned::to_owned).or_else(|| record.damage.take());
            for root in roots {
                record.damaged.insert(root.id);
                record.roots.retain(|known| known.id != root.id);
                record.roots.push(without_counts(root));
            }
        })
    }

    /// Records on disk that the names of all roots of an index are lost, except those of `known`.
    pub(crate) fn mark_lost(&self, reason: &str, known: &[Root]) -> Result<(), IndexError> {
        self.change_record(|record| {
            if record.lost.is_none() {
                warn!(reason, "{LOST}");
            }
            record.damage.get_or_insert_with(|| reason.to_owned());
            record.lost = Some(known.iter().map(|root| root.id).collect());
        })
    }

    /// Replaces the list with the roots of the index. A root without an error has been repaired.
    pub(crate) fn update(&self, roots: &[Root]) -> Result<(), IndexError> {
        let unfinished: BTreeSet<RootId> =
            roots.iter().filter(|root| !root.last_run.is_completed()).map(|root| root.id).collect();
        self.change_record(|record| {
            record.roots = roots.iter().map(without_counts).collect();
            record.damaged.retain(|root| unfinished.contains(root));
            record.lost.take_if(|known| roots.iter().any(|root| !known.contains(&root.id)));
            record.damage.take_if(|_| record.damaged.is_empty() && record.lost.is_none());
            record.is_whole = true;
        })?;
        self.save_copies()
    }

    /// Writes the list and its copy where the files differ.
    fn save_copies(&self) -> Result<(), IndexError> {
        let bytes = serde_json::to_vec_pretty(&*self.lock_record())?;
        for path in [&self.path, &self.copy] {
            if folder::read_file(path).ok().flatten().as_ref() != Some(&bytes) {
                folder::replace_file(path, &bytes)?;
            }
        }
        Ok(())
    }

    fn change_record(&self, change: impl FnOnce(&mut RootListRecord)) -> Result<(), IndexError> {
        let mut record = self.lock_record();
        let mut changed = record.clone();
        change(&mut changed);
        changed.roots.sort_by_key(|root| root.id);
        if changed != *record {
            folder::replace_file(&self.path, &serde_json::to_vec_pretty(&changed)?)?;
            *record = changed;
        }
        Ok(())
    }

    /// Locks the record. Changes replace it as a whole, so a poisoned lock still guards a consistent one.
    fn lock_record(&self) -> MutexGuard<'_, RootListRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum RootListError {
    /// The file has an unexpected form.
    Malformed(String),
    Failed(IndexError),
}

fn read_list(path: &Path) -> Result<Option<RootListRecord>, RootListError> {
    match folder::read_file(path) {
        Ok(bytes) => bytes
            .map(|bytes| serde_json::from_slice(&bytes))
            .transpose()
            .map_err(|error| RootListError::Malformed(error.to_string())),
        Err(IndexError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidData => {
            Err(RootListError::Malformed(source.to_string()))
        }
        Err(error) => Err(RootListError::Failed(error)),
    }
}

fn without_counts(root: &Root) -> Root {
    Root { counts: IndexCounts::default(), last_run: LastRun::Completed, ..root.clone() }
}
