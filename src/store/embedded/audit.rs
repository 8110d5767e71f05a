//! Compares what the collections say of each other when a store is opened, and marks the roots that
//! are to be repaired.
//!
//! This also finds what was damaged in a file that changes while a killed process was writing,
//! which no checksum covers.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{
    super::{Collection, Field, Filter, StoreError, catalog},
    entry::Entry,
    roster,
    writer::Writer,
};
use crate::domain::{LastRun, Root, RootId};

/// The part of a file's record that is compared.
#[derive(Deserialize)]
struct Counted {
    root: RootId,
    chunks: u64,
}

/// What an audit found.
pub(super) struct Audit {
    /// What is wrong now, if anything is.
    pub(super) damage: Option<String>,
    /// Whether chunks or files belong to roots of which nothing else is known.
    pub(super) is_lost: bool,
    /// The roots to repair, those included that were to be repaired before.
    pub(super) roots: Vec<Root>,
}

/// Finds the roots whose index is not whole. `found` is what was found damaged before, which may
/// concern any root.
pub(super) fn audit(writer: &Writer, found: Option<String>) -> Result<Audit, StoreError> {
    let stored: BTreeMap<RootId, Root> =
        writer.roots()?.into_iter().map(|root| (root.id, root)).collect();
    let listed = writer.roster().roots();
    let lost = listed.into_iter().filter(|root| !stored.contains_key(&root.id));
    // A list that was once written names all there ever were.
    let is_lost = !writer.roster().is_whole() && stored.is_empty() && has_strangers(writer)?;
    if let Some(found) = found {
        let roots = stored.values().cloned().chain(lost).collect();
        return Ok(Audit { damage: Some(found), is_lost, roots });
    }
    let mut records: HashMap<RootId, u64> = HashMap::new();
    writer.shards().files.each(|payload| {
        if let Ok(Counted { root, chunks }) = serde_json::from_value(payload.into()) {
            *records.entry(root).or_default() += chunks;
        }
        Ok(())
    })?;
    let (mut damage, mut roots) = (is_lost.then(|| roster::LOST.to_owned()), Vec::new());
    for root in stored.values().cloned().chain(lost) {
        let of_root = Filter::default().with(Field::Root, [root.id.to_string()]);
        let chunks = writer.shards().chunks.count(&of_root)?;
        let recorded = records.get(&root.id).copied();
        let is_lost = !stored.contains_key(&root.id);
        let differs = if is_lost {
            // A removal takes the root out last.
            0 < chunks || recorded.is_some()
        } else {
            // A run that did not end well is completed by the next one, whatever it left.
            root.last_run.is_completed()
                && (chunks != recorded.unwrap_or_default() || chunks != root.counts.chunks)
        };
        if differs {
            damage.get_or_insert_with(|| {
                let wanted = recorded.filter(|recorded| *recorded != chunks);
                let wanted = wanted.unwrap_or(root.counts.chunks);
                format!("`{}` has {chunks} chunks where {wanted} belong", root.name)
            });
        }
        if differs || writer.roster().is_damaged(root.id) {
            roots.push(root);
        }
    }
    Ok(Audit { damage, is_lost, roots })
}

/// Selects what belongs to no root that is known.
fn strangers(writer: &Writer) -> Result<Filter, StoreError> {
    let stored = writer.roots()?.into_iter().chain(writer.roster().roots());
    Ok(Filter::default().without(Field::Root, stored.map(|root| root.id.to_string())))
}

fn has_strangers(writer: &Writer) -> Result<bool, StoreError> {
    let filter = strangers(writer)?;
    let shards = writer.shards();
    Ok(0 < shards.files.count(&filter)? + shards.chunks.count(&filter)?)
}

/// Removes what belongs to no root that is known: nobody could remove it by a name.
pub(super) fn forget_strangers(writer: &mut Writer) -> Result<(), StoreError> {
    let filter = strangers(writer)?;
    for collection in [Collection::Chunks, Collection::Files] {
        writer.write(Entry::Delete(collection, filter.clone()))?;
    }
    writer.flush()
}

/// Has the store say of the roots that they are to be repaired.
pub(super) fn mark(writer: &mut Writer, audit: Audit) -> Result<(), StoreError> {
    writer.roster().mark(audit.damage.as_deref(), &audit.roots)?;
    let damaged = |root| Root { last_run: LastRun::Damaged, ..root };
    let points: Result<Vec<_>, StoreError> =
        audit.roots.into_iter().map(|root| catalog::root_point(&damaged(root))).collect();
    writer.write(Entry::Upsert(Collection::Roots, points?))
}
