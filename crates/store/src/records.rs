//! Records of a store: chunks as they are written, read and found, and reports on the store itself.

use codeinfo_core::{ChunkRecord, RootId};
use codeinfo_index::{ChunkVectors, NewChunk};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::StoreError;

/// A found chunk with the engine's score: cosine similarity for dense queries, a non-negative
/// sum of weights for sparse ones. Ties are ordered by id.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredChunk {
    /// Id of the chunk.
    pub id: Uuid,
    /// Higher is nearer.
    pub score: f32,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
    /// Other roots that have the chunk.
    pub also: Vec<RootId>,
}

/// State of an engine as it reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreHealth {
    /// Version of the server, if the engine is a server.
    pub version: Option<String>,
    /// Number of chunks; approximate while they change.
    pub chunks: u64,
    /// Copies of each collection, if the engine is a cluster.
    pub copies: Vec<CollectionCopies>,
    /// Warning that names nodes that cannot be reached while others can.
    pub unreachable: Option<String>,
}

/// Number of copies of a collection of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionCopies {
    /// Name on the server.
    pub collection: String,
    /// Complete copies of the shard that has the fewest.
    pub copies: u32,
    /// Copies that the settings ask for.
    pub wanted: u32,
}

/// Fails unless each chunk has vectors as engines need them. Checked before anything is written, so
/// that a write is applied as a whole.
pub(crate) fn check_chunks(chunks: &[NewChunk], dimensions: usize) -> Result<(), StoreError> {
    let find_fault =
        |chunk: &NewChunk| Some((chunk.id, describe_fault(&chunk.vectors, dimensions)?));
    match chunks.iter().find_map(find_fault) {
        Some((id, reason)) => Err(StoreError::InvalidChunk { id, reason }),
        None => Ok(()),
    }
}

fn describe_fault(vectors: &ChunkVectors, dimensions: usize) -> Option<&'static str> {
    let ChunkVectors { dense, sparse } = vectors;
    let are_finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
    if dense.len() != dimensions {
        Some("its dense vector has another length than the model's")
    } else if !are_finite(dense) || !are_finite(&sparse.values) {
        Some("its vectors hold a value that is not finite")
    } else if sparse.indices.len() != sparse.values.len() {
        Some("its sparse vector has more terms than weights, or fewer")
    } else if !sparse.indices.is_sorted_by(|a, b| a < b) {
        Some("its sparse vector's terms are not strictly ascending")
    } else {
        None
    }
}
