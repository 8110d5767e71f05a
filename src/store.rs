//! Keeps points (payload, dense and sparse vectors) in collections and finds the nearest ones.
//!
//! Nothing outside this module knows which engine runs. Every engine passes
//! `tests/it/store_suite.rs`. Fusion and ranking are deliberately absent: they belong to `search`,
//! so that every engine ranks alike.
#![warn(missing_docs)]

mod atomic;
mod best;
mod catalog;
mod check;
mod deferred;
mod embedded;
mod error;
mod hnsw;
mod identity;
mod lease;
mod lock;
mod observed;
mod place;
mod qdrant;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::{RootId, Sparse};

pub use catalog::Catalog;
pub use deferred::DeferredStore;
pub use embedded::Embedded;
pub use error::StoreError;
pub use identity::Identity;
pub use lease::Lease;
pub use lock::{Holder, Lock, holder};
pub use observed::Observed;
pub use place::Place;
pub use qdrant::Qdrant;

/// The most points one read returns; a larger limit is cut to it.
pub const MAX_PAGE: usize = 10_000;

/// The three kinds of point. Only chunks carry vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collection {
    /// [`crate::domain::ChunkRecord`] with one dense and one sparse vector.
    Chunks,
    /// [`crate::domain::FileRecord`].
    Files,
    /// [`crate::domain::Root`].
    Roots,
}

impl Collection {
    /// All of them. The journal of the embedded engine counts on the order: append only.
    pub const ALL: [Self; 3] = [Self::Chunks, Self::Files, Self::Roots];
}

/// A payload field that filters may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// `root`: the root's id.
    Root,
    /// `path`: the path below the root.
    Path,
    /// `version`: the content hash of the file version.
    Version,
}

impl Field {
    /// All of them. The journal of the embedded engine counts on the order: append only.
    pub const ALL: [Self; 3] = [Self::Root, Self::Path, Self::Version];

    /// Returns the key in the payload.
    pub fn key(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Path => "path",
            Self::Version => "version",
        }
    }
}

/// Selects points: of the named ones those for which each `must` entry has one of its values and no
/// `must_not` entry matches. The default selects everything; no ids or a `must` entry without values
/// select nothing, a `must_not` entry without values excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The points to search; `None` is all.
    pub ids: Option<Vec<Uuid>>,
    /// Fields that must have one of the values.
    pub must: Vec<(Field, Vec<String>)>,
    /// Fields that must have none of the values.
    pub must_not: Vec<(Field, Vec<String>)>,
}

impl Filter {
    /// Selects the points with these ids.
    pub fn of(ids: impl IntoIterator<Item = Uuid>) -> Self {
        Self { ids: Some(ids.into_iter().collect()), ..Self::default() }
    }

    /// Whether no point can match.
    fn selects_nothing(&self) -> bool {
        self.ids.as_ref().is_some_and(Vec::is_empty)
            || self.must.iter().any(|(_, values)| values.is_empty())
    }

    /// Narrows to points whose `field` is one of `values`.
    #[must_use]
    pub fn with(mut self, field: Field, values: impl IntoIterator<Item = String>) -> Self {
        self.must.push((field, values.into_iter().collect()));
        self
    }

    /// Narrows to points whose `field` is none of `values`.
    #[must_use]
    pub fn without(mut self, field: Field, values: impl IntoIterator<Item = String>) -> Self {
        self.must_not.push((field, values.into_iter().collect()));
        self
    }
}

/// The two vectors of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    /// Unit length, or all zeros for a text without known words.
    pub dense: Vec<f32>,
    /// BM25 term weights; the engine multiplies by inverse document frequency when searching.
    pub sparse: Sparse,
}

/// A point to write. A point with the same id is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Unique within its collection.
    pub id: Uuid,
    /// A JSON object.
    pub payload: Map<String, Value>,
    /// `Some` in [`Collection::Chunks`], `None` elsewhere.
    pub vectors: Option<Vectors>,
}

/// A point as read back, without its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its id.
    pub id: Uuid,
    /// Its JSON object.
    pub payload: Map<String, Value>,
}

/// A found chunk with the engine's score: cosine similarity for dense queries, a non-negative
/// sum of weights for sparse ones. Ties are ordered by id.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Its id.
    pub id: Uuid,
    /// Higher is nearer.
    pub score: f32,
    /// Its JSON object.
    pub payload: Map<String, Value>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The version of the server, where the engine is one.
    pub version: Option<String>,
    /// How many chunks there are; about as many while they are being changed.
    pub chunks: u64,
}

/// Keeps points and finds the nearest ones. Every engine passes `tests/it/store_suite.rs`.
///
/// Writes are durable against `kill -9` once the future resolves, and are applied in the order in
/// which they were asked for; one whose future is dropped may be applied all the same. Reads and
/// writes may run at the same time; readers may see a write before its future resolves, in part if
/// it has many points, but each point whole.
///
/// Reads return at most [`MAX_PAGE`] points, and none for a limit of 0. Every failure is
/// a [`StoreError`] that says what was attempted.
pub trait VectorStore: Send + Sync {
    /// Names the engine: `embedded` or `qdrant`.
    fn backend(&self) -> &'static str;

    /// Writes points, replacing those with the same ids. Refuses all of them with
    /// [`StoreError::InvalidPoint`] if one does not fit: vectors missing or superfluous, of the
    /// wrong length, not finite, or with terms that are not strictly ascending.
    fn upsert(&self, into: Collection, points: Vec<Point>)
    -> BoxFuture<'_, Result<(), StoreError>>;

    /// Deletes the points that `filter` selects.
    fn delete(&self, from: Collection, filter: Filter) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Finds the `limit` chunks nearest to a dense vector by cosine similarity (-1…1), best first.
    /// Scores are right to 0.001, as stored vectors may be of half precision. The vector need not have
    /// unit length; one of zeros finds nothing. Exact under a filter, and in any case until the store
    /// is large enough for an approximate index.
    fn nearest(
        &self,
        to: Vec<f32>,
        filter: Filter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>>;

    /// Finds the `limit` chunks that share the most term weight with `terms`, best first: the sum
    /// over shared terms of both weights times the term's inverse document frequency,
    /// ln(1 + (n - d + 0.5) / (d + 0.5)) with n chunks of which d have the term. Chunks that share
    /// no term are not found.
    fn lexical(
        &self,
        terms: Sparse,
        filter: Filter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>>;

    /// Reads points in order of id, `limit` at a time, starting after `after`.
    fn scroll(
        &self,
        from: Collection,
        filter: Filter,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// Counts the points that `filter` selects, exactly.
    fn count(&self, of: Collection, filter: Filter) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Takes the right to change what belongs to a root, which one process has at a time. Fails with
    /// [`StoreError::Leased`] when another one has it. Where the holder may have died, this waits
    /// until that is known, at most about the time for which a lease is granted.
    fn lease(&self, root: RootId) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Tells, at a glance and by the clocks of both machines, whether another process has the lease of a
    /// root. Good enough to be shown, and for nothing else.
    fn is_leased(&self, root: RootId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Asks the engine, once and without patience, whether it answers.
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

    /// Returns why calls wait that have been waiting for a second or more.
    fn stall(&self) -> Option<String> {
        None
    }
}
