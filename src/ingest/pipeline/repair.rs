//! Compares chunks with file records after a run that did not end well.
//!
//! A run writes chunks before records and deletes chunks before records, so a run that was killed
//! may leave chunks that no record knows, and records whose chunks are not all there. A later run
//! would write most of that again, but not a file that meanwhile has its former content back: its
//! record says that there is nothing to do.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use super::{Target, write::remove_chunks};
use crate::{
    ingest::{error::IngestError, plan::Records},
    store::Stored,
};

/// How many chunks one read takes from the store; each may have some kilobytes.
const PAGE: usize = 500;

/// Deletes chunks of versions that no record names, and all of files that have some missing, so that
/// those are read again. Returns whether any were there to be deleted.
pub(super) async fn repair(
    target: &Target,
    records: &mut Records,
    cancel: &CancellationToken,
) -> Result<bool, IngestError> {
    let mut present: HashMap<String, u32> = HashMap::with_capacity(records.len());
    let count = |path: String| *present.entry(path).or_default() += 1;
    let mut has_deleted = delete_strays(target, records, cancel, count).await?;
    let mut incomplete = Vec::new();
    for record in records.values_mut() {
        if present.get(&record.path).copied().unwrap_or_default() != record.chunks {
            // No content has this version and no time is 0 unless it proves nothing, so the file
            // counts as changed.
            record.version.clear();
            record.modified_ns = 0;
            record.chunks = 0;
            incomplete.push(record.clone());
        }
    }
    if incomplete.iter().any(|record| present.contains_key(&record.path)) {
        has_deleted |= delete_strays(target, records, cancel, drop).await?;
    }
    // A file that cannot be read now keeps its record, which must not speak of chunks that are gone.
    for some in incomplete.chunks(PAGE) {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        target.store.put_files(some.to_vec()).await?;
    }
    Ok(has_deleted)
}

/// Deletes chunks of versions that no record names, and reports the path of each other one. Returns whether
/// there were any.
async fn delete_strays(
    target: &Target,
    records: &Records,
    cancel: &CancellationToken,
    mut keep: impl FnMut(String),
) -> Result<bool, IngestError> {
    let mut has_deleted = false;
    let mut after = None;
    loop {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let page = target.store.chunks(Some(target.root), after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|stored| stored.id);
        let mut strays = Vec::new();
        for Stored { id, record: chunk } in page {
            if records.get(&chunk.path).is_some_and(|file| file.version == chunk.version) {
                keep(chunk.path);
            } else {
                strays.push(id);
            }
        }
        has_deleted |= !strays.is_empty();
        remove_chunks(target, &strays).await?;
        if is_last {
            return Ok(has_deleted);
        }
    }
}
