//! Compares chunks with file records after a run that did not end well.
//!
//! A run writes chunks before records and deletes chunks before records, so a run that was killed
//! may leave chunks that no record knows, and records whose chunks are not all there. A later run
//! would write most of that again, but not a file that meanwhile has its former content back: its
//! record says that there is nothing to do.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Target, write::of_root};
use crate::{
    ingest::{error::IngestError, plan::Records},
    store::{Collection, Field},
};

/// How many chunks one read takes from the store; each may have some kilobytes.
const PAGE: usize = 500;

/// The part of a chunk's payload that says which file version it is of.
#[derive(Deserialize)]
struct Origin {
    path: String,
    version: String,
}

/// Deletes chunks of versions that no record names, and makes sure that files with missing chunks
/// are read again.
pub(super) async fn repair(
    target: &Target,
    records: &mut Records,
    cancel: &CancellationToken,
) -> Result<(), IngestError> {
    let mut present: HashMap<String, u32> = HashMap::with_capacity(records.len());
    let mut strays: HashSet<(String, String)> = HashSet::new();
    let mut after = None;
    loop {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let page = target.store.scroll(Collection::Chunks, of_root(target), after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|stored| stored.id);
        for stored in page {
            let origin: Origin = serde_json::from_value(stored.payload.into())
                .map_err(crate::store::StoreError::from)?;
            let is_known =
                records.get(&origin.path).is_some_and(|record| record.version == origin.version);
            if is_known {
                *present.entry(origin.path).or_default() += 1;
            } else {
                strays.insert((origin.path, origin.version));
            }
        }
        if is_last {
            break;
        }
    }
    for (path, version) in strays {
        let filter = of_root(target).with(Field::Path, [path]).with(Field::Version, [version]);
        target.store.delete(Collection::Chunks, filter).await?;
    }
    for record in records.values_mut() {
        if present.get(&record.path).copied().unwrap_or_default() != record.chunks {
            // No content has this version and no time is 0 unless it proves nothing, so the file
            // counts as changed.
            record.version.clear();
            record.modified_ns = 0;
        }
    }
    Ok(())
}
