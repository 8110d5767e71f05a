//! Batches of files: embeds read files and writes first the chunks, then the file records that
//! vouch for them. The store deletes chunks that no record needs.

use std::collections::VecDeque;

use codeinfo_core::{FileRecord, chunk_id, hash::ChunkingMethod};
use codeinfo_embed::EmbeddingDocument;
use codeinfo_store::{ChunkVectors, NewChunk};
use futures_util::{StreamExt, stream::FuturesOrdered};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    RunTarget,
    index_state::{IndexState, RedactionCounts},
    read::{ReadOutcome, UnembeddedChunk},
    readers::FileReadResult,
};
use crate::{error::IngestError, skip::SkippedPath};

/// Number of chunks that completes a batch, and maximum per write, which must be short because
/// readers wait meanwhile. A batch exceeds it by at most the chunks of its last file.
const CHUNKS: usize = 256;
/// Number of files, with or without chunks, that completes a batch.
const FILES: usize = 512;
const BYTES: u64 = 4 << 20;
/// Maximum number of files per removal.
const REMOVED_FILES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct BatchFiles {
    pub(super) changed: Vec<FileRecord>,
    pub(super) same: Vec<FileRecord>,
    pub(super) skipped: Vec<SkippedPath>,
    pub(super) gone: Vec<String>,
    /// Number of files chunked by lines because parsing took too long.
    pub(super) fallbacks: u64,
    pub(super) redacted: RedactionCounts,
    /// Files that were decoded with losses.
    pub(super) lossy: Vec<String>,
    /// Changed files indexed with their secrets replaced and hidden from the model's shell.
    pub(super) censored: Vec<String>,
    pub(super) bytes: u64,
    /// Held until the batch is written.
    pub(super) permits: Vec<OwnedSemaphorePermit>,
}

impl BatchFiles {
    /// Returns the number of files of the plan that the batch completes.
    pub(super) fn count(&self) -> usize {
        self.changed.len() + self.same.len() + self.skipped.len() + self.gone.len()
    }
}

#[derive(Debug, Default)]
struct FileBatch {
    /// Chunks, each with its position in its file, counted from 0.
    chunks: Vec<(usize, UnembeddedChunk)>,
    files: BatchFiles,
}

#[derive(Debug)]
pub(super) struct EmbeddedFileBatch {
    pub(super) chunks: Vec<NewChunk>,
    pub(super) files: BatchFiles,
}

impl FileBatch {
    fn add_file(&mut self, result: FileReadResult) {
        let files = &mut self.files;
        files.bytes += result.bytes;
        match result.outcome {
            ReadOutcome::Same(record) => files.same.push(record),
            ReadOutcome::Changed(record, chunks, notes) => {
                files.lossy.extend(notes.is_lossy.then(|| record.path.clone()));
                files.censored.extend(notes.is_private.then(|| record.path.clone()));
                files.changed.push(record);
                files.fallbacks += u64::from(notes.cut == ChunkingMethod::Fallback);
                files.redacted.add(RedactionCounts::for_file(notes.secrets));
                files.permits.push(result.permit);
                self.chunks.extend(chunks.into_iter().enumerate());
            }
            ReadOutcome::Skipped(path, reason) => files.skipped.push(SkippedPath { path, reason }),
            ReadOutcome::Gone(path) => files.gone.push(path),
        }
    }

    fn is_full(&self) -> bool {
        CHUNKS <= self.chunks.len() || FILES <= self.files.count() || BYTES <= self.files.bytes
    }

    /// Embeds the chunks, each with its path and symbol.
    async fn embed_chunks(self, target: &RunTarget) -> Result<EmbeddedFileBatch, IngestError> {
        let documents: Vec<EmbeddingDocument> = self
            .chunks
            .iter()
            .map(|(_, chunk)| EmbeddingDocument::from(&chunk.record).to_owned())
            .collect();
        let wanted = documents.len();
        let vectors = match wanted {
            0 => Vec::new(),
            _ => target.embedder.embed_documents(documents).await?,
        };
        if vectors.len() != wanted {
            return Err(IngestError::VectorCount { got: vectors.len(), wanted });
        }
        let new_chunk = |((place, chunk), dense): ((usize, UnembeddedChunk), Vec<f32>)| {
            let UnembeddedChunk { record, sparse } = chunk;
            let id = chunk_id(target.owner, &record.path, &record.version, place);
            NewChunk { id, record, vectors: ChunkVectors { dense, sparse } }
        };
        let chunks = self.chunks.into_iter().zip(vectors).map(new_chunk).collect();
        Ok(EmbeddedFileBatch { chunks, files: self.files })
    }
}

/// Embeds batches until the readers are done and passes them on in order, as many in parallel as
/// the embedder allows. While the writer is busy, no new batch starts.
pub(super) async fn embed_all(
    target: &RunTarget,
    mut results: mpsc::Receiver<FileReadResult>,
    batches: mpsc::Sender<EmbeddedFileBatch>,
    cancel: &CancellationToken,
) -> Result<(), IngestError> {
    let concurrency = target.embedder.concurrency();
    let mut embedding = FuturesOrdered::new();
    let mut done = VecDeque::new();
    let mut batch = FileBatch::default();
    let mut has_more = true;
    loop {
        if batch.is_full() || !has_more && batch.files.count() > 0 {
            embedding.push_back(std::mem::take(&mut batch).embed_chunks(target));
        }
        if !has_more && embedding.is_empty() && done.is_empty() {
            // Cancellation ends the readers as well.
            return if cancel.is_cancelled() { Err(IngestError::Cancelled) } else { Ok(()) };
        }
        let has_room = has_more && embedding.len() + done.len() < concurrency;
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(IngestError::Cancelled),
            permit = batches.reserve(), if !done.is_empty() => match (permit, done.pop_front()) {
                (Ok(permit), Some(batch)) => permit.send(batch),
                // The writer failed and reports the error.
                _ => return Ok(()),
            },
            Some(embedded) = embedding.next(), if !embedding.is_empty() => {
                done.push_back(embedded?);
            }
            received = results.recv(), if has_room => match received {
                Some(result) => batch.add_file(result),
                None => has_more = false,
            },
        }
    }
}

pub(super) async fn write_batch(
    target: &RunTarget,
    index_state: &mut IndexState,
    EmbeddedFileBatch { chunks, files }: EmbeddedFileBatch,
) -> Result<(), IngestError> {
    let embedded = chunks.len() as u64;
    let mut remaining = chunks.into_iter();
    while !remaining.as_slice().is_empty() {
        target.store.put_chunks(remaining.by_ref().take(CHUNKS).collect()).await?;
    }
    let records: Vec<FileRecord> = files
        .changed
        .into_iter()
        .chain(files.same)
        .filter(|record| index_state.get(&record.path) != Some(record))
        .collect();
    if !records.is_empty() {
        target.store.put_files(records.clone()).await?;
    }
    index_state.record_written(records, embedded);
    Ok(())
}

pub(super) async fn remove_files(
    target: &RunTarget,
    index_state: &mut IndexState,
    paths: &[String],
) -> Result<(), IngestError> {
    for removed in paths.chunks(REMOVED_FILES) {
        target.store.remove_files(target.root, removed.to_vec()).await?;
        index_state.record_removed(removed);
    }
    Ok(())
}
