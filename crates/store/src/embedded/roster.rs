//! The list of roots, kept apart from the store so that names and descriptions survive its loss, and
//! which of them are to be repaired.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{IndexCounts, LastRun, Root, RootId};
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::{
    super::{StoreError, atomic},
    aside,
};

/// The list, beside the folder of the store; a copy is in it.
const FILE: &str = "roots.json";

/// What is said of a store whose list of roots is gone, and with it their names.
pub(super) const LOST: &str = "the list of repositories is lost; ingest each of them again";

/// The list of an open store. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Roster {
    path: PathBuf,
    copy: PathBuf,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// What was found damaged, until every root is repaired.
    #[serde(default)]
    damage: Option<String>,
    /// The roots that are to be repaired.
    #[serde(default)]
    damaged: BTreeSet<RootId>,
    /// Present once the list of a store with an index was lost, until a repository is added: the roots
    /// that were known all the same.
    #[serde(default)]
    lost: Option<BTreeSet<RootId>>,
    /// Whether the roots of the store were taken over once.
    #[serde(default)]
    is_whole: bool,
    /// Ordered by id; without counts and errors, which change all the time.
    roots: Vec<Root>,
}

impl Roster {
    /// Reads the list of the store in `folder`, or the copy in it. Without both it is empty. One that cannot
    /// be read is moved away, or refused unless the store `repairs` itself.
    pub(super) fn open(folder: &Path, repairs: bool) -> Result<Self, StoreError> {
        let (path, copy) = (folder.with_file_name(FILE), folder.join(FILE));
        let listed = match read(&path) {
            Ok(listed) => listed,
            Err(Unread::Damaged(reason)) => {
                let reason = format!("`{FILE}` cannot be read: {reason}");
                if !repairs {
                    return Err(StoreError::Damaged { path: folder.to_owned(), reason });
                }
                aside::neighbour(folder, FILE, &reason)?;
                None
            }
            Err(Unread::Failed(error)) => return Err(error),
        };
        // The store is opened without a copy as well.
        let record = listed.or_else(|| read(&copy).ok().flatten()).unwrap_or_default();
        Ok(Self { path, copy, record: Arc::new(Mutex::new(record)) })
    }

    /// Whether all roots of the store are listed, or were when the list was last written.
    pub(super) fn is_whole(&self) -> bool {
        let record = self.record();
        record.is_whole || !record.roots.is_empty()
    }

    /// Returns the roots, as they are known here.
    pub(super) fn roots(&self) -> Vec<Root> {
        self.record().roots.clone()
    }

    /// Whether a root is still to be repaired.
    pub(super) fn is_damaged(&self, root: RootId) -> bool {
        self.record().damaged.contains(&root)
    }

    /// Returns what was found damaged, and the names of the roots that are not yet repaired.
    pub(super) fn damage(&self) -> Option<String> {
        let record = self.record();
        let hurt = record.roots.iter().filter(|root| record.damaged.contains(&root.id));
        let names: Vec<&str> = hurt.map(|root| root.name.as_str()).collect();
        let found = record.damage.as_deref().unwrap_or("part of the index");
        let lost = record.lost.as_ref().map(|_| format!("; {LOST}"));
        if names.is_empty() && lost.is_none() {
            return None;
        }
        let repairing = (!names.is_empty()).then(|| format!("; repairing: {}", names.join(", ")));
        let (lost, repairing) = (lost.unwrap_or_default(), repairing.unwrap_or_default());
        Some(format!("damaged: {found}{lost}{repairing}"))
    }

    /// Notes, on disk, that `roots` are to be repaired, and why; without a reason, for the one known.
    pub(super) fn mark(&self, found: Option<&str>, roots: &[Root]) -> Result<(), StoreError> {
        self.change(|record| {
            record.damage = found.map(ToOwned::to_owned).or_else(|| record.damage.take());
            for root in roots {
                record.damaged.insert(root.id);
                record.roots.retain(|known| known.id != root.id);
                record.roots.push(kept(root));
            }
        })
    }

    /// Notes, on disk, that an index belongs to roots that nobody can name, but for those of `known`.
    pub(super) fn lose(&self, found: &str, known: &[Root]) -> Result<(), StoreError> {
        self.change(|record| {
            if record.lost.is_none() {
                warn!(reason = found, "{LOST}");
            }
            record.damage.get_or_insert_with(|| found.to_owned());
            record.lost = Some(known.iter().map(|root| root.id).collect());
        })
    }

    /// Takes over the roots that the store knows. One without an error has been repaired.
    pub(super) fn follow(&self, roots: &[Root]) -> Result<(), StoreError> {
        let hurt: BTreeSet<RootId> =
            roots.iter().filter(|root| !root.last_run.is_completed()).map(|root| root.id).collect();
        self.change(|record| {
            record.roots = roots.iter().map(kept).collect();
            record.damaged.retain(|root| hurt.contains(root));
            record.lost.take_if(|known| roots.iter().any(|root| !known.contains(&root.id)));
            record.damage.take_if(|_| record.damaged.is_empty() && record.lost.is_none());
            record.is_whole = true;
        })?;
        self.keep()
    }

    /// Writes the list and its copy where they are not on disk as they are known here.
    fn keep(&self) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec_pretty(&*self.record())?;
        for path in [&self.path, &self.copy] {
            if atomic::read(path).ok().flatten().as_ref() != Some(&bytes) {
                atomic::replace(path, &bytes)?;
            }
        }
        Ok(())
    }

    fn change(&self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        let mut record = self.record();
        let mut changed = record.clone();
        change(&mut changed);
        changed.roots.sort_by_key(|root| root.id);
        if changed != *record {
            atomic::replace(&self.path, &serde_json::to_vec_pretty(&changed)?)?;
            *record = changed;
        }
        Ok(())
    }

    /// No change can be left half made, so that a poisoned lock still guards a whole one.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a list could not be read.
enum Unread {
    /// It is not what was written.
    Damaged(String),
    Failed(StoreError),
}

/// Reads a list, `None` when it is not there.
fn read(path: &Path) -> Result<Option<Record>, Unread> {
    match atomic::read(path) {
        Ok(bytes) => bytes
            .map(|bytes| serde_json::from_slice(&bytes))
            .transpose()
            .map_err(|error| Unread::Damaged(error.to_string())),
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidData => {
            Err(Unread::Damaged(source.to_string()))
        }
        Err(error) => Err(Unread::Failed(error)),
    }
}

fn kept(root: &Root) -> Root {
    Root { counts: IndexCounts::default(), last_run: LastRun::Completed, ..root.clone() }
}
