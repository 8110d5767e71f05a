//! Compares chunks with file records after a run that did not end well.
//!
//! A run writes chunks before records and deletes chunks before records, so a run that was killed
//! may leave chunks that no record knows, and records whose chunks are not all there. A later run
//! would write most of that again, but not a file that meanwhile has its former content back: its
//! record says that there is nothing to do.

use std::collections::HashMap;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Target,
    write::{delete_chunks, ids, of_root},
};
use crate::{
    ingest::{error::IngestError, plan::Records},
    store::Collection,
};

/// How many chunks one read takes from the store; each may have some kilobytes.
const PAGE: usize = 500;

/// The part of a chunk's payload that says which file version it is of.
#[derive(Deserialize)]
struct Origin {
    path: String,
    version: String,
}

/// Deletes chunks of versions that no record names and of files that have some missing, and makes sure
/// that those are read again.
pub(super) async fn repair(
    target: &Target,
    records: &mut Records,
    cancel: &CancellationToken,
) -> Result<(), IngestError> {
    let mut present: HashMap<String, u32> = HashMap::with_capacity(records.len());
    let mut after = None;
    loop {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let page = target.store.scroll(Collection::Chunks, of_root(target), after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|stored| stored.id);
        let mut strays = Vec::new();
        for stored in page {
            let origin: Origin = serde_json::from_value(stored.payload.into())
                .map_err(crate::store::StoreError::from)?;
            let is_known =
                records.get(&origin.path).is_some_and(|record| record.version == origin.version);
            if is_known {
                *present.entry(origin.path).or_default() += 1;
            } else {
                strays.push(stored.id);
            }
        }
        delete_chunks(target, &strays).await?;
        if is_last {
            break;
        }
    }
    let mut incomplete = Vec::new();
    for record in records.values_mut() {
        let present = present.get(&record.path).copied().unwrap_or_default();
        if present != record.chunks {
            let all: Vec<Uuid> = ids(record, 0..present.max(record.chunks)).collect();
            delete_chunks(target, &all).await?;
            // No content has this version and no time is 0 unless it proves nothing, so the file
            // counts as changed.
            record.version.clear();
            record.modified_ns = 0;
            record.chunks = 0;
            incomplete.push(record.clone());
        }
    }
    // A file that cannot be read now keeps its record, which must not speak of chunks that are gone.
    for some in incomplete.chunks(PAGE) {
        target.catalog.put_files(some).await?;
    }
    Ok(())
}
