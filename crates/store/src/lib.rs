//! Keeps roots, files and chunks (records with dense and sparse vectors) and finds the nearest chunks.
//!
//! Nothing outside this module knows which engine runs. Every engine passes
//! `tests/it/store_suite.rs`. Fusion and ranking are deliberately absent: they belong to `search`,
//! so that every engine ranks alike.
#![warn(missing_docs)]

mod atomic;
mod best;
mod check;
mod deferred;
mod embedded;
mod error;
mod identity;
mod lease;
mod lock;
mod observed;
mod place;
mod qdrant;
mod settings;
mod trees;

use std::{collections::HashSet, sync::Arc};

use codeinfo_core::{ChunkRecord, FileRecord, Host, Root, RootId, TermVector};
use futures_util::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use deferred::DeferredStore;
pub use embedded::Embedded;
pub use error::StoreError;
pub use identity::Identity;
pub use lease::Lease;
pub use lock::{Holder, Lock, holder};
pub use observed::Observed;
pub use place::Place;
pub use qdrant::Qdrant;
pub use settings::{EmbeddedStoreSettings, QdrantSettings, StoreSettings};
pub use trees::Trees;

/// The most chunks one read returns; a larger limit is cut to it.
pub const MAX_PAGE: usize = 10_000;

/// The two vectors of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    /// Unit length, or all zeros for a text without known words.
    pub dense: Vec<f32>,
    /// BM25 term weights; the engine multiplies by inverse document frequency when searching.
    pub sparse: TermVector,
}

/// A chunk to write, with its vectors. A chunk with the same id is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Unique among chunks.
    pub id: Uuid,
    /// What is kept of it.
    pub record: ChunkRecord,
    /// What it is found by.
    pub vectors: Vectors,
}

/// A chunk as read back, without its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its id.
    pub id: Uuid,
    /// What was written of it.
    pub record: ChunkRecord,
}

/// A found chunk with the engine's score: cosine similarity for dense queries, a non-negative
/// sum of weights for sparse ones. Ties are ordered by id.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Its id.
    pub id: Uuid,
    /// Higher is nearer.
    pub score: f32,
    /// What was written of it.
    pub record: ChunkRecord,
    /// The other roots that have it.
    pub also: Vec<RootId>,
}

/// Some of the chunks that are kept under an owner.
#[derive(Debug, Clone)]
pub struct Among {
    /// The owner; see [`Root::owner`].
    pub owner: RootId,
    /// Their ids.
    pub ids: Arc<HashSet<Uuid>>,
}

/// The roots of a shared store as they were last read, and a view of the store that answers from memory what these roots
/// have.
///
/// A run writes its root before it changes any of its files. A caller that reads [`VectorStore::roots`] during its search,
/// and gets the same roots, has therefore searched what is there.
#[derive(Clone)]
pub struct Remembered {
    /// All of them.
    pub roots: Arc<Vec<Root>>,
    /// For reading alone.
    pub store: Arc<dyn VectorStore>,
}

/// What opening does with a store that another embedding model filled, or an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMismatch {
    /// Fails with [`StoreError::ModelMismatch`] or [`StoreError::OlderLayout`].
    Refuse,
    /// Drops the chunks and files of the former model or layout and keeps the roots.
    Discard,
}

/// What an engine reports of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// The version of the server, where the engine is one.
    pub version: Option<String>,
    /// How many chunks there are; about as many while they are being changed.
    pub chunks: u64,
    /// How many copies each part has, where the engine is a cluster.
    pub copies: Vec<CollectionCopies>,
    /// A warning that names nodes that cannot be reached, where others can.
    pub unreachable: Option<String>,
}

/// How many copies a collection of a cluster has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionCopies {
    /// Its name on the server.
    pub collection: String,
    /// Copies of the shard that has the fewest, without those that lack data.
    pub copies: u32,
    /// Copies that the settings ask for.
    pub wanted: u32,
}

/// How much room something takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// On disk, or about to be there.
    pub bytes: u64,
    /// Whether files are shared with others, and these bytes are the part by the number of chunks.
    pub is_estimate: bool,
}

/// Keeps roots, files and chunks, and finds the nearest chunks. Every engine passes
/// `tests/it/store_suite.rs`.
///
/// Writes are applied in the order in which they were asked for; one whose future is dropped may be
/// applied all the same. A root is on disk once its write resolves, with all that was written before; chunks
/// and files are once a flush resolves that began later. What was written since is lost with a process that
/// is killed. Reads and writes may run at the same time; readers may see a write before its future
/// resolves, in part if it has many records, but each record whole.
///
/// Where a read takes a limit, it returns at most [`MAX_PAGE`] chunks, and none for a limit of 0.
/// `of` narrows to the chunks of one root. Every failure is a [`StoreError`] that says what was
/// attempted.
pub trait VectorStore: Send + Sync {
    /// Names the engine: `embedded` or `qdrant`.
    fn backend(&self) -> &'static str;

    /// Returns this host, where several share the store and each has roots of its own. [`Root::host`] is `None` for
    /// those of this one, however it is written.
    fn host(&self) -> Option<Host> {
        None
    }

    /// Returns every root, ordered by name.
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>>;

    /// Returns what was last read of a store to which each read is a round trip; `None` where nothing was.
    fn remembered(&self) -> Option<Remembered> {
        None
    }

    /// Writes a root, replacing what was known of it.
    fn put_root(&self, root: Root) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes a root with all its chunks and files. The root itself goes last, so that an
    /// interrupted removal can be repeated.
    fn remove_root(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes a root with its files, but not its chunks.
    fn remove_tree(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the record of every indexed file of a root, in no fixed order.
    fn files(&self, of: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>>;

    /// Returns the records of those of `paths` that are indexed files of a root, in no fixed order.
    fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>>;

    /// Writes file records, replacing what was known of the same paths.
    fn put_files(&self, files: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes the records of those of `paths` that are indexed files of a root.
    fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes chunks, replacing those with the same ids; of several with one id the last one counts.
    /// Refuses all of them with [`StoreError::InvalidChunk`] if one does not fit: its dense vector
    /// of the wrong length, a value not finite, or terms that are not strictly ascending.
    fn put_chunks(&self, chunks: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes the chunks with these ids.
    fn remove_chunks(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Reads chunks in order of id, `limit` at a time, starting after `after`.
    fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// Returns those of the chunks with these ids that there are, in no fixed order.
    fn chunks_with(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// Reads what is kept under an owner (see [`Root::owner`]) like [`Self::chunks`], chunks that no root has
    /// included.
    fn kept(
        &self,
        owner: RootId,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.chunks(Some(owner), after, limit)
    }

    /// Counts chunks, exactly.
    fn count(&self, of: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Finds the `limit` chunks nearest to a dense vector by cosine similarity (-1…1), best first.
    /// Scores are right to 0.001, as stored vectors may be rounded. The vector need not have
    /// unit length; one of zeros finds nothing. Exact within one root, and in any case until the store
    /// is large enough for an approximate index.
    fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>>;

    /// Finds the `limit` chunks that share the most term weight with `terms`, best first: the sum
    /// over shared terms of both weights times the term's inverse document frequency,
    /// ln(1 + (n - d + 0.5) / (d + 0.5)) with n chunks in the store, of any root, of which d have
    /// the term. Chunks that share no term are not found.
    fn lexical(
        &self,
        terms: TermVector,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>>;

    /// Finds what [`Self::nearest`] finds among some chunks kept under an owner.
    fn nearest_among(
        &self,
        to: Vec<f32>,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>>;

    /// Finds what [`Self::lexical`] finds among some chunks kept under an owner.
    fn lexical_among(
        &self,
        terms: TermVector,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>>;

    /// Finds all chunks that have one of `terms`, best first; `None` if one read cannot return them all.
    fn holders(
        &self,
        terms: TermVector,
        of: Option<RootId>,
    ) -> BoxFuture<'_, Result<Option<Vec<Scored>>, StoreError>> {
        let finding = self.lexical(terms, of, MAX_PAGE);
        async move {
            let found = finding.await?;
            Ok((found.len() < MAX_PAGE).then_some(found))
        }
        .boxed()
    }

    /// Takes the right to change what belongs to a root, which one process has at a time. Fails with
    /// [`StoreError::Leased`] when another one has it. Where the holder may have died, this waits
    /// until that is known, at most about the time for which a lease is granted.
    fn lease(&self, root: RootId) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Tells, at a glance and by the clocks of both machines, whether another process has the lease of a
    /// root. Good enough to be shown, and for nothing else.
    fn is_leased(&self, root: RootId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Asks the engine, once and without retries, whether it answers.
    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>>;

    /// Fails when an earlier failure makes writes impossible until the process is started again. Answers
    /// at once, also while something is being written.
    fn check_writes(&self) -> Result<(), StoreError>;

    /// Puts everything written so far on disk, and lets the engine tidy up in the background.
    /// Called at the end of a run and when stopping.
    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns what was found damaged, and which roots are not yet repaired.
    fn damage(&self) -> Option<String> {
        None
    }

    /// Returns how much room a root takes, at a glance; `None` where the engine does not know.
    fn size(&self, _of: RootId) -> Option<Size> {
        None
    }

    /// Returns why calls wait that have been waiting for a second or more.
    fn stall(&self) -> Option<String> {
        None
    }
}
