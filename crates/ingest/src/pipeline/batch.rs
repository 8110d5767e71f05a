//! Gathers files into batches and embeds them.

use std::collections::VecDeque;

use codeinfo_core::{FileRecord, TermVector, hash::ChunkingMethod};
use codeinfo_embed::EmbeddingDocument;
use codeinfo_store::ChunkVectors;
use futures_util::{StreamExt, stream::FuturesOrdered};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    RunTarget,
    index_state::RedactionCounts,
    read::{ReadOutcome, UnembeddedChunk},
    readers::FileReadResult,
    write::{self, EmbeddedFileBatch},
};
use crate::{error::IngestError, skip::SkippedPath};

/// Number of chunks that completes a batch. A batch exceeds it by at most the chunks of its last
/// file.
const CHUNKS: usize = 256;
/// Number of files, with or without chunks, that completes a batch.
const FILES: usize = 512;

/// Bytes of files that complete a batch.
const BYTES: u64 = 4 << 20;

/// Read files to embed together.
#[derive(Debug, Default)]
pub(super) struct FileBatch {
    pieces: Vec<(usize, UnembeddedChunk)>,
    changed: Vec<FileRecord>,
    same: Vec<FileRecord>,
    skipped: Vec<SkippedPath>,
    gone: Vec<String>,
    fallbacks: u64,
    redacted: RedactionCounts,
    lossy: Vec<String>,
    censored: Vec<String>,
    bytes: u64,
    rooms: Vec<OwnedSemaphorePermit>,
}

impl FileBatch {
    pub(super) fn add_file(&mut self, read: FileReadResult) {
        self.bytes += read.bytes;
        match read.outcome {
            ReadOutcome::Same(record) => self.same.push(record),
            ReadOutcome::Changed(record, pieces, notes) => {
                self.lossy.extend(notes.is_lossy.then(|| record.path.clone()));
                self.censored.extend(notes.is_private.then(|| record.path.clone()));
                self.changed.push(record);
                self.fallbacks += u64::from(notes.cut == ChunkingMethod::Fallback);
                self.redacted.add(RedactionCounts::of_file(notes.secrets));
                self.pieces.extend(pieces.into_iter().enumerate());
                self.rooms.push(read.room);
            }
            ReadOutcome::Skipped(path, reason) => self.skipped.push(SkippedPath { path, reason }),
            ReadOutcome::Gone(path) => self.gone.push(path),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        CHUNKS <= self.pieces.len() || FILES <= self.file_count() || BYTES <= self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.file_count() == 0
    }

    fn file_count(&self) -> usize {
        self.changed.len() + self.same.len() + self.skipped.len() + self.gone.len()
    }

    /// Embeds the chunks, each with its path and symbol.
    pub(super) async fn embed_chunks(
        self,
        target: &RunTarget,
    ) -> Result<EmbeddedFileBatch, IngestError> {
        let files = self.file_count() as u64;
        let documents: Vec<EmbeddingDocument> = self
            .pieces
            .iter()
            .map(|(_, piece)| EmbeddingDocument::from(&piece.chunk).to_owned())
            .collect();
        let wanted = documents.len();
        let dense = match wanted {
            0 => Vec::new(),
            _ => target.embedder.embed_documents(documents).await?,
        };
        if dense.len() != wanted {
            return Err(IngestError::VectorCount { got: dense.len(), wanted });
        }
        let chunks = self.pieces.into_iter().zip(dense).map(|((ordinal, piece), dense)| {
            write::build_chunk(
                target.owner,
                piece.chunk,
                ordinal,
                combine_vectors(dense, piece.sparse),
            )
        });
        Ok(EmbeddedFileBatch {
            chunks: chunks.collect(),
            changed: self.changed,
            same: self.same,
            skipped: self.skipped,
            gone: self.gone,
            fallbacks: self.fallbacks,
            redacted: self.redacted,
            lossy: self.lossy,
            censored: self.censored,
            files,
            bytes: self.bytes,
            rooms: self.rooms,
        })
    }
}

/// Embeds batches until the readers are done and passes them on in order. The number of batches in
/// parallel is the concurrency of the embedder.
///
/// While the writer is busy, started batches continue and no new one starts.
pub(super) async fn embed_all(
    target: &RunTarget,
    mut from: mpsc::Receiver<FileReadResult>,
    to: mpsc::Sender<EmbeddedFileBatch>,
    cancel: &CancellationToken,
) -> Result<(), IngestError> {
    let concurrency = target.embedder.concurrency();
    let mut embedding = FuturesOrdered::new();
    let mut done = VecDeque::new();
    let mut batch = FileBatch::default();
    let mut has_more = true;
    loop {
        if batch.is_full() || !has_more && !batch.is_empty() {
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
            permit = to.reserve(), if !done.is_empty() => match (permit, done.pop_front()) {
                (Ok(permit), Some(batch)) => permit.send(batch),
                // The writer failed and reports the error.
                _ => return Ok(()),
            },
            Some(embedded) = embedding.next(), if !embedding.is_empty() => {
                done.push_back(embedded?);
            }
            received = from.recv(), if has_room => match received {
                Some(read) => batch.add_file(read),
                None => has_more = false,
            },
        }
    }
}

fn combine_vectors(dense: Vec<f32>, sparse: TermVector) -> ChunkVectors {
    ChunkVectors { dense, sparse }
}
