//! Writes batches to the store: new chunks first, then the deletion of old ones, then the file
//! records, which prove that the chunks are there.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Target, batch::Embedded, ledger::Ledger};
use crate::{
    domain::{ChunkRecord, FileRecord},
    ingest::error::IngestError,
    store::{Collection, Field, Filter, Point, StoreError, Vectors},
};

/// The most points one write carries. Readers wait while an engine writes, so that writes are kept
/// short.
const POINTS: usize = 256;
/// The most paths one deletion names.
const PATHS: usize = 256;

/// Writes one batch and notes it in the ledger.
pub(super) async fn write(
    target: &Target,
    ledger: &mut Ledger,
    batch: Embedded,
) -> Result<(), IngestError> {
    let embedded = batch.points.len() as u64;
    let mut points = batch.points.into_iter();
    loop {
        let some: Result<Vec<Point>, StoreError> = points.by_ref().take(POINTS).collect();
        let some = some?;
        if some.is_empty() {
            break;
        }
        target.store.upsert(Collection::Chunks, some).await?;
    }
    for filter in stale(target, ledger, &batch.changed) {
        target.store.delete(Collection::Chunks, filter).await?;
    }
    let records: Vec<FileRecord> = batch
        .changed
        .into_iter()
        .chain(batch.same)
        .filter(|record| ledger.get(&record.path) != Some(record))
        .collect();
    if !records.is_empty() {
        target.catalog.put_files(&records).await?;
    }
    ledger.wrote(records, embedded);
    Ok(())
}

/// Takes files out of the store: chunks first, so that what a record proves stays true until the
/// record is gone.
pub(super) async fn remove(
    target: &Target,
    ledger: &mut Ledger,
    paths: &[String],
) -> Result<(), IngestError> {
    for some in paths.chunks(PATHS) {
        let of_paths = || of_root(target).with(Field::Path, some.iter().cloned());
        target.store.delete(Collection::Chunks, of_paths()).await?;
        target.store.delete(Collection::Files, of_paths()).await?;
        ledger.removed(some);
    }
    Ok(())
}

/// Selects the old chunks of changed files. One filter serves all of them, save for files whose
/// old content is now the content of another file of the batch: sparing that version would spare
/// their old chunks too, so each of those gets a filter of its own.
fn stale(target: &Target, ledger: &Ledger, changed: &[FileRecord]) -> Vec<Filter> {
    let new: HashSet<&str> = changed.iter().map(|record| record.version.as_str()).collect();
    let mut filters = Vec::new();
    let (mut paths, mut versions) = (Vec::new(), Vec::new());
    for record in changed {
        let Some(old) = ledger.get(&record.path).filter(|old| 0 < old.chunks) else {
            continue;
        };
        if old.version == record.version {
            continue;
        }
        if new.contains(old.version.as_str()) {
            filters.push(stale_of(target, vec![record.path.clone()], [record.version.clone()]));
        } else {
            paths.push(record.path.clone());
            versions.push(record.version.clone());
        }
    }
    let batched = paths.chunks(PATHS).zip(versions.chunks(PATHS));
    filters.extend(
        batched.map(|(paths, versions)| stale_of(target, paths.to_vec(), versions.iter().cloned())),
    );
    filters
}

fn stale_of(
    target: &Target,
    paths: Vec<String>,
    versions: impl IntoIterator<Item = String>,
) -> Filter {
    of_root(target).with(Field::Path, paths).without(Field::Version, versions)
}

pub(super) fn of_root(target: &Target) -> Filter {
    Filter::default().with(Field::Root, [target.root.to_string()])
}

/// Returns the point of a chunk. Its id follows from what it is, so that writing it again changes
/// nothing.
pub(super) fn point(
    chunk: &ChunkRecord,
    ordinal: usize,
    vectors: Vectors,
) -> Result<Point, StoreError> {
    let name = format!("{}\0{}\0{ordinal}", chunk.path, chunk.version);
    let id = Uuid::new_v5(&chunk.root.0, name.as_bytes());
    let serde_json::Value::Object(payload) = serde_json::to_value(chunk)? else {
        return Err(StoreError::Engine {
            action: "write a chunk",
            reason: "the chunk is not a JSON object".to_owned(),
        });
    };
    Ok(Point { id, payload, vectors: Some(vectors) })
}
