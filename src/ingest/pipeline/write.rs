//! Writes batches to the store: new chunks first, then the deletion of old ones, then the file
//! records, which prove that the chunks are there.

use std::ops::Range;

use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{
    Target,
    index_state::{IndexState, Redacted},
};
use crate::{
    domain::{ChunkRecord, FileRecord, RootId},
    ingest::{error::IngestError, skip::Skipped},
    store::{Collection, Field, Filter, Point, StoreError, Vectors},
};

/// The most points one write carries. Readers wait while an engine writes, so that writes are kept
/// short.
const POINTS: usize = 256;
/// How many files are taken out at a time.
const PATHS: usize = 256;
/// The most chunks one deletion names.
const IDS: usize = 1024;

/// A batch with its vectors, ready to be written.
#[derive(Debug)]
pub(super) struct Embedded {
    pub(super) points: Vec<Result<Point, StoreError>>,
    pub(super) changed: Vec<FileRecord>,
    pub(super) same: Vec<FileRecord>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) gone: Vec<String>,
    /// How many files were cut by lines because parsing took too long.
    pub(super) fallbacks: u64,
    pub(super) redacted: Redacted,
    /// How many files of the plan it settles.
    pub(super) files: u64,
    /// The size of those files.
    pub(super) bytes: u64,
    /// Held until the batch is written.
    pub(super) rooms: Vec<OwnedSemaphorePermit>,
}

/// Writes one batch and notes it in the index state.
pub(super) async fn write(
    target: &Target,
    index_state: &mut IndexState,
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
    delete_chunks(target, &stale(index_state, &batch.changed)).await?;
    let records: Vec<FileRecord> = batch
        .changed
        .into_iter()
        .chain(batch.same)
        .filter(|record| index_state.get(&record.path) != Some(record))
        .collect();
    if !records.is_empty() {
        target.catalog.put_files(&records).await?;
    }
    index_state.wrote(records, embedded);
    Ok(())
}

/// Takes files out of the store: chunks first, so that what a record proves stays true until the
/// record is gone.
pub(super) async fn remove(
    target: &Target,
    index_state: &mut IndexState,
    paths: &[String],
) -> Result<(), IngestError> {
    for some in paths.chunks(PATHS) {
        let records = some.iter().filter_map(|path| index_state.get(path));
        let all: Vec<Uuid> = records.flat_map(|record| ids(record, 0..record.chunks)).collect();
        delete_chunks(target, &all).await?;
        target.catalog.remove_files(target.root, some).await?;
        index_state.removed(some);
    }
    Ok(())
}

/// Deletes chunks by their ids.
pub(super) async fn delete_chunks(target: &Target, ids: &[Uuid]) -> Result<(), StoreError> {
    for some in ids.chunks(IDS) {
        target.store.delete(Collection::Chunks, Filter::of(some.iter().copied())).await?;
    }
    Ok(())
}

/// Names the old chunks of changed files that no new ones have replaced.
fn stale(index_state: &IndexState, changed: &[FileRecord]) -> Vec<Uuid> {
    let old = changed.iter().filter_map(|new| Some((index_state.get(&new.path)?, new)));
    old.flat_map(|(old, new)| {
        let replaced = if old.version == new.version { new.chunks } else { 0 };
        ids(old, replaced..old.chunks)
    })
    .collect()
}

/// Names chunks of a file version by their places in it, from 0.
fn ids(record: &FileRecord, places: Range<u32>) -> impl Iterator<Item = Uuid> {
    places.map(|place| id(record.root, &record.path, &record.version, place as usize))
}

/// Returns the id of a chunk. It follows from what the chunk is, so that writing it again changes nothing.
fn id(root: RootId, path: &str, version: &str, place: usize) -> Uuid {
    Uuid::new_v5(&root.0, format!("{path}\0{version}\0{place}").as_bytes())
}

pub(super) fn of_root(target: &Target) -> Filter {
    Filter::default().with(Field::Root, [target.root.to_string()])
}

/// Returns the point of the chunk at a place in its file, from 0.
pub(super) fn point(
    chunk: &ChunkRecord,
    place: usize,
    vectors: Vectors,
) -> Result<Point, StoreError> {
    let id = id(chunk.root, &chunk.path, &chunk.version, place);
    let serde_json::Value::Object(payload) = serde_json::to_value(chunk)? else {
        return Err(StoreError::Engine {
            action: "write a chunk",
            reason: "the chunk is not a JSON object".to_owned(),
        });
    };
    Ok(Point { id, payload, vectors: Some(vectors) })
}
