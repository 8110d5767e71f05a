//! Records that the index stores and returns.

use std::collections::HashSet;

use codeinfo_core::{ChunkRecord, RootId, TermVector};
use uuid::Uuid;

/// Maximum number of chunks that one read returns; a larger limit is cut to it.
pub const MAX_PAGE: usize = 10_000;

/// The two vectors of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkVectors {
    /// Unit length, or all zeros for a text without known words.
    pub dense: Vec<f32>,
    /// BM25 term weights; a search multiplies them by inverse document frequency.
    pub sparse: TermVector,
}

/// A chunk to write, with its vectors. A chunk with the same id is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunk {
    /// Unique among chunks.
    pub id: Uuid,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
    /// Vectors by which the chunk is found.
    pub vectors: ChunkVectors,
}

/// A chunk as read back, without its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChunk {
    /// Id of the chunk.
    pub id: Uuid,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
}

/// A chunk that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHit {
    /// Id of the chunk.
    pub id: Uuid,
    /// Cosine similarity or sum of term weights; higher is nearer.
    pub score: f32,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
}

/// Chunks that a search compares.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexScope<'a> {
    /// Owner of the chunks; `None` for all chunks.
    pub owner: Option<RootId>,
    /// Ids of the chunks; `None` for any id.
    pub among: Option<&'a HashSet<Uuid>>,
}

/// Disk space of the records of a root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageSize {
    /// Bytes on disk, or about to be written.
    pub bytes: u64,
    /// True if files are shared with other roots and `bytes` is a share by the number of chunks.
    pub is_estimate: bool,
}

/// Reaction to an index that another embedding model or an older version filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMismatch {
    /// Refuses to open it.
    Refuse,
    /// Drops the chunks and files of the former model or layout and keeps the roots.
    Discard,
}
