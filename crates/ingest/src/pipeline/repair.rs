//! Compares chunks with file records after an unfinished run.
//!
//! A run writes chunks before records, so a killed run may leave chunks without a record, or
//! records without all of their chunks. A later run would overwrite most of them, but not for a
//! file that has its former content again: its record says that nothing is to be done.

use std::collections::{HashMap, HashSet};

use codeinfo_core::{FileRecord, RootId};
use codeinfo_store::StoredChunk;
use tokio_util::sync::CancellationToken;

use super::{RunTarget, write::remove_chunks};
use crate::{error::IngestError, plan::FileRecords};

/// Number of chunks per read; each may have some kilobytes.
const PAGE: usize = 500;

/// Deletes chunks of versions that no record names, and clears the records of files with missing
/// chunks, so that those files are read again.
///
/// Returns true if chunks existed that were deleted or lost their record.
pub(super) async fn repair_index(
    target: &RunTarget,
    records: &mut FileRecords,
    cancel: &CancellationToken,
) -> Result<bool, IngestError> {
    let named = load_named_versions(target, records).await?;
    let mut present: HashMap<(String, String), u32> = HashMap::with_capacity(records.len());
    let mut has_deleted = false;
    let mut after = None;
    loop {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let page = target.store.chunks_of_owner(target.owner, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|stored| stored.id);
        let mut strays = Vec::new();
        for StoredChunk { id, record: chunk } in page {
            if named.get(&chunk.path).is_some_and(|versions| versions.contains(&chunk.version)) {
                *present.entry((chunk.path, chunk.version)).or_default() += 1;
            } else {
                strays.push(id);
            }
        }
        has_deleted |= !strays.is_empty();
        remove_chunks(target, &strays).await?;
        if is_last {
            break;
        }
    }
    let is_whole = |record: &FileRecord| {
        let place = (record.path.clone(), record.version.clone());
        present.get(&place).copied().unwrap_or_default() == record.chunks
    };
    let mut incomplete = Vec::new();
    for record in records.values_mut().filter(|record| !is_whole(record)) {
        has_deleted |= present.contains_key(&(record.path.clone(), record.version.clone()));
        // No content has an empty version, and a time of 0 is unreliable, so the file counts as
        // changed.
        record.version.clear();
        record.modified_ns = 0;
        record.chunks = 0;
        incomplete.push(record.clone());
    }
    // A file that is unreadable now keeps its record, which must not name chunks that are gone.
    for some in incomplete.chunks(PAGE) {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        target.store.put_files(some.to_vec()).await?;
    }
    for former in RootId::former_record_ids(target.owner) {
        let mut broken = target.store.files(former).await?;
        broken.retain(|record| !is_whole(record));
        for some in broken.chunks(PAGE) {
            let paths = some.iter().map(|record| record.path.clone()).collect();
            target.store.remove_files(former, paths).await?;
        }
    }
    Ok(has_deleted)
}

/// Returns the versions of each path that any tree of the repository has, or had.
async fn load_named_versions(
    target: &RunTarget,
    records: &FileRecords,
) -> Result<HashMap<String, HashSet<String>>, IngestError> {
    let mut named: HashMap<String, HashSet<String>> = HashMap::with_capacity(records.len());
    let mut add = |path: &str, version: &str| {
        if let Some(versions) = named.get_mut(path) {
            versions.insert(version.to_owned());
        } else {
            named.insert(path.to_owned(), HashSet::from([version.to_owned()]));
        }
    };
    for record in records.values() {
        add(&record.path, &record.version);
    }
    let roots = target.store.roots().await?;
    let owner_roots =
        roots.iter().filter(|root| root.chunk_owner() == target.owner).map(|root| root.id);
    let others = owner_roots.filter(|root| *root != target.root);
    for other in others.chain(RootId::former_record_ids(target.owner)) {
        for record in target.store.files(other).await? {
            add(&record.path, &record.version);
        }
    }
    Ok(named)
}
