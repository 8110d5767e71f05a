//! Writes batches to the store: first the chunks, then the file records that vouch for them. The
//! store deletes chunks that no record needs.

use codeinfo_core::{ChunkRecord, FileRecord, RootId, chunk_id};
use codeinfo_store::{ChunkVectors, NewChunk, StoreError};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{
    RunTarget,
    index_state::{IndexState, RedactionCounts},
};
use crate::{error::IngestError, skip::SkippedPath};

/// Maximum number of chunks per write. Readers wait while an engine writes, so writes must be
/// short.
const CHUNKS: usize = 256;
/// Maximum number of files per removal.
const PATHS: usize = 256;
/// Maximum number of chunk ids per removal.
const IDS: usize = 1024;

/// Batch with its vectors, ready to be written.
#[derive(Debug)]
pub(super) struct EmbeddedFileBatch {
    pub(super) chunks: Vec<NewChunk>,
    pub(super) changed: Vec<FileRecord>,
    pub(super) same: Vec<FileRecord>,
    pub(super) skipped: Vec<SkippedPath>,
    pub(super) gone: Vec<String>,
    /// Number of files chunked by lines because parsing took too long.
    pub(super) fallbacks: u64,
    pub(super) redacted: RedactionCounts,
    /// Files that were decoded with losses.
    pub(super) lossy: Vec<String>,
    /// Changed files that are indexed with their secrets replaced and hidden from the model's
    /// shell.
    pub(super) censored: Vec<String>,
    /// Number of files of the plan that the batch completes.
    pub(super) files: u64,
    /// Bytes of those files.
    pub(super) bytes: u64,
    /// Held until the batch is written.
    pub(super) rooms: Vec<OwnedSemaphorePermit>,
}

/// Writes one batch and updates the index state.
pub(super) async fn write_batch(
    target: &RunTarget,
    index_state: &mut IndexState,
    batch: EmbeddedFileBatch,
) -> Result<(), IngestError> {
    let embedded = batch.chunks.len() as u64;
    let mut chunks = batch.chunks.into_iter();
    while !chunks.as_slice().is_empty() {
        target.store.put_chunks(chunks.by_ref().take(CHUNKS).collect()).await?;
    }
    let records: Vec<FileRecord> = batch
        .changed
        .into_iter()
        .chain(batch.same)
        .filter(|record| index_state.get(&record.path) != Some(record))
        .collect();
    if !records.is_empty() {
        target.store.put_files(records.clone()).await?;
    }
    index_state.record_written(records, embedded);
    Ok(())
}

/// Deletes files from the store.
pub(super) async fn remove_files(
    target: &RunTarget,
    index_state: &mut IndexState,
    paths: &[String],
) -> Result<(), IngestError> {
    for some in paths.chunks(PATHS) {
        target.store.remove_files(target.root, some.to_vec()).await?;
        index_state.record_removed(some);
    }
    Ok(())
}

/// Deletes chunks by id.
pub(super) async fn remove_chunks(target: &RunTarget, ids: &[Uuid]) -> Result<(), StoreError> {
    for some in ids.chunks(IDS) {
        target.store.remove_chunks(some.to_vec()).await?;
    }
    Ok(())
}

/// Builds the chunk at position `place` in its file, counted from 0.
pub(super) fn build_chunk(
    owner: RootId,
    record: ChunkRecord,
    place: usize,
    vectors: ChunkVectors,
) -> NewChunk {
    let id = chunk_id(owner, &record.path, &record.version, place);
    NewChunk { id, record, vectors }
}
