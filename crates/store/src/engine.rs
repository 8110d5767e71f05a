//! Operations in which the engines differ, and their results; everything else is in [`crate::Store`].

use std::{collections::HashSet, sync::Arc};

use codeinfo_core::{ChunkRecord, FileRecord, Host, Root, RootId, TermVector};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{ChunkVectors, Lease, NewChunk, StorageSize, StoreError, StoredChunk};

/// Future of an operation of a store.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Stores roots, files and chunks, and finds the nearest chunks. Each engine passes `crates/store/tests/it/suite.rs`.
///
/// Changes are applied in the order in which they were requested; one whose future is dropped may be applied all the
/// same. A root is on disk once its write resolves, with everything written before it; chunks and files are on disk
/// once a flush resolves that began later. A process that is killed loses what it wrote since. Readers may see a write
/// before its future resolves, in part if it has many records, but each record whole.
///
/// An engine knows chunks by the root that they were written under, their owner. Every failure is a [`StoreError`] that
/// names the attempted action.
pub trait Engine: Send + Sync {
    /// Returns the engine's name: `embedded` or `qdrant`.
    fn backend(&self) -> &'static str;

    /// Returns this host, where several share the engine and each has its own roots. [`Root::host`] is `None` for
    /// the roots of this host, however it is written.
    fn host(&self) -> Option<Host> {
        None
    }

    /// Returns every root, ordered by name.
    fn roots(&self) -> StoreFuture<'_, Vec<Root>>;

    /// Returns file records of a root, in no fixed order.
    fn files(&self, selection: FileSelection) -> StoreFuture<'_, Vec<FileRecord>>;

    /// Returns stored chunks: a page in order of id, or those with given ids in no fixed order.
    fn chunks(&self, selection: ChunkSelection) -> StoreFuture<'_, Vec<StoredChunk>>;

    /// Counts the chunks of an owner, or all, exactly.
    fn count(&self, owner: Option<RootId>) -> StoreFuture<'_, u64>;

    /// Finds the best chunks for a query, best first; those with equal scores are ordered by id.
    fn search(&self, query: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>>;

    /// Applies a change after those requested before it.
    fn apply(&self, change: Change) -> StoreFuture<'_, ()>;

    /// Acquires the right to change a root, which one process has at a time; fails with [`StoreError::Leased`] if
    /// another has it. If the holder may have died, waits until that is certain, about the time of a lease at most.
    fn lease(&self, root: RootId) -> StoreFuture<'_, Lease>;

    /// Returns whether another process seems to have the lease of a root, by the clocks of both; for display only.
    fn is_leased(&self, root: RootId) -> StoreFuture<'_, bool>;

    /// Asks the engine once, without retries, whether it answers.
    fn health(&self) -> StoreFuture<'_, StoreHealth>;

    /// Fails at once, even during a write, when an earlier failure makes writes impossible until a restart.
    fn check_writes(&self) -> Result<(), StoreError>;

    /// Describes the damage found when the engine was opened, and the roots that are not yet repaired.
    fn damage(&self) -> Option<String> {
        None
    }

    /// Returns the disk space of an owner's records, where the engine knows it without reading them.
    fn size(&self, _owner: RootId) -> Option<StorageSize> {
        None
    }

    /// Returns why calls have been waiting for a second or more.
    fn stall(&self) -> Option<String> {
        None
    }
}

/// A write to an engine.
#[derive(Debug, Clone)]
pub enum Change {
    /// Writes a root, replacing the one with its id.
    PutRoot(Box<Root>),
    /// Removes a root, its file records, and its chunks unless `keeps_chunks`. The root itself is removed last, so
    /// that an interrupted removal can be repeated.
    RemoveRoot {
        /// Id of the root.
        root: RootId,
        /// True if other roots may still need its chunks.
        keeps_chunks: bool,
    },
    /// Writes file records, replacing those with the same root and path.
    PutFiles(Vec<FileRecord>),
    /// Removes the file records of a root with these paths.
    RemoveFiles {
        /// Id of the root.
        root: RootId,
        /// Paths relative to the root.
        paths: Vec<String>,
    },
    /// Writes chunks, replacing those with the same ids; of several, the last counts. Refuses all with
    /// [`StoreError::InvalidChunk`] if a dense vector has the wrong length, a value is not finite, or terms do not
    /// ascend strictly.
    PutChunks(Vec<NewChunk>),
    /// Removes the chunks with these ids.
    RemoveChunks(Vec<Uuid>),
    /// Writes everything to disk and lets the engine optimize; requested at the end of a run and of the process.
    Flush,
}

/// File records of one root.
#[derive(Debug, Clone)]
pub struct FileSelection {
    /// Id of the root.
    pub root: RootId,
    /// Paths relative to the root; `None` for all files.
    pub paths: Option<Vec<String>>,
}

/// Chunks to read.
#[derive(Debug, Clone)]
pub enum ChunkSelection {
    /// At most `limit` chunks in order of id.
    Page {
        /// Owner of the chunks; `None` for all chunks.
        owner: Option<RootId>,
        /// Id before the first one.
        after: Option<Uuid>,
        /// Maximum number of chunks, cut to [`crate::MAX_PAGE`].
        limit: usize,
    },
    /// The chunks with these ids; missing ones are skipped.
    Ids(Vec<Uuid>),
}

/// A search for chunks.
#[derive(Debug, Clone)]
pub struct ChunkQuery {
    /// The vector or terms to compare chunks with.
    pub target: QueryTarget,
    /// Chunks that are compared.
    pub scope: ChunkScope,
    /// Maximum number of results, cut to [`crate::MAX_PAGE`].
    pub limit: usize,
}

/// The vector or terms that chunks are compared with.
#[derive(Debug, Clone)]
pub enum QueryTarget {
    /// Cosine similarity (-1…1) to a dense vector, right to 0.001, as stored vectors may be rounded. It need not have
    /// unit length; zeros find nothing. Exact within one root, and until the engine is large enough for an approximate
    /// index.
    Vector(Vec<f32>),
    /// The sum over shared terms of both weights times the term's inverse document frequency,
    /// ln(1 + (n - d + 0.5) / (d + 0.5)) with n chunks in the engine, of any root, of which d have
    /// the term. Chunks that share no term are not found.
    Terms(TermVector),
}

/// Chunks that a search compares.
#[derive(Debug, Clone)]
pub enum ChunkScope {
    /// All chunks.
    Everything,
    /// The chunks of a root.
    Root(RootId),
    /// Some chunks of an owner.
    Among(ChunkSet),
}

/// Ids of some chunks that are stored under an owner.
#[derive(Debug, Clone)]
pub struct ChunkSet {
    /// The owner; see [`Root::chunk_owner`].
    pub owner: RootId,
    /// Ids of the chunks.
    pub ids: Arc<HashSet<Uuid>>,
}

impl ChunkQuery {
    /// Finds the chunks nearest to a dense vector.
    pub fn nearest(vector: Vec<f32>, scope: impl Into<ChunkScope>, limit: usize) -> Self {
        Self { target: QueryTarget::Vector(vector), scope: scope.into(), limit }
    }

    /// Finds the chunks that share the most term weight with `terms`.
    pub fn lexical(terms: TermVector, scope: impl Into<ChunkScope>, limit: usize) -> Self {
        Self { target: QueryTarget::Terms(terms), scope: scope.into(), limit }
    }
}

impl From<Option<RootId>> for ChunkScope {
    fn from(root: Option<RootId>) -> Self {
        root.map_or(Self::Everything, Self::Root)
    }
}

impl From<ChunkSet> for ChunkScope {
    fn from(set: ChunkSet) -> Self {
        Self::Among(set)
    }
}

/// A found chunk with its score: cosine similarity, or for sparse queries a non-negative sum of weights.
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

/// Fails unless each chunk has vectors as engines need them; checked first, so that a write is applied as a whole.
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
