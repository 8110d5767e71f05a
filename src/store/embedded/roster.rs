//! The list of roots, kept apart from the store so that names and descriptions survive its loss, and
//! which of them are to be repaired.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::super::{StoreError, atomic};
use crate::domain::{Counts, Root, RootId};

/// The list, beside the folder of the store.
const FILE: &str = "roots.json";

/// The list of an open store. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Roster {
    path: PathBuf,
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
    /// Ordered by id; without counts and errors, which change all the time.
    roots: Vec<Root>,
}

impl Roster {
    /// Reads the list of the store in `folder`. One that is missing or damaged is empty.
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.with_file_name(FILE);
        let record = match atomic::read(&path)? {
            None => Record::default(),
            Some(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                warn!(path = %path.display(), %error, "the list of roots cannot be read");
                Record::default()
            }),
        };
        Ok(Self { path, record: Arc::new(Mutex::new(record)) })
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
        (!names.is_empty()).then(|| format!("damaged: {found}; repairing: {}", names.join(", ")))
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

    /// Takes over the roots that the store knows. One without an error has been repaired.
    pub(super) fn follow(&self, roots: &[Root]) -> Result<(), StoreError> {
        let hurt: BTreeSet<RootId> =
            roots.iter().filter(|root| root.last_error.is_some()).map(|root| root.id).collect();
        self.change(|record| {
            record.roots = roots.iter().map(kept).collect();
            record.damaged.retain(|root| hurt.contains(root));
            record.damage.take_if(|_| record.damaged.is_empty());
        })
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

fn kept(root: &Root) -> Root {
    Root { counts: Counts::default(), last_error: None, ..root.clone() }
}
