//! Stores roots, files and chunks (records with dense and sparse vectors) and finds the nearest chunks.
//!
//! Services use a [`Store`], whichever [`Engine`] it has: the embedded engine or a Qdrant server. Fusion and ranking
//! belong to `search`, so that every engine ranks alike.
#![warn(missing_docs)]

mod embedded;
mod engine;
mod error;
mod lease;
mod lock;
mod opening;
mod qdrant;
mod settings;
mod store;
mod trees;

pub use codeinfo_index::{
    ChunkVectors, IndexError, MAX_PAGE, NewChunk, OnMismatch, StorageSize, StoredChunk,
};
pub use embedded::EmbeddedEngine;
pub use engine::{
    Change, ChunkQuery, ChunkScope, ChunkSelection, ChunkSet, CollectionCopies, Engine,
    FileSelection, QueryTarget, ScoredChunk, StoreFuture, StoreHealth,
};
pub use error::StoreError;
pub use lease::Lease;
pub use lock::{DataDirLock, LockHolder, ProcessIdentity, copy_unwritable_index, find_lock_holder};
pub use opening::StoreLocation;
pub use qdrant::QdrantEngine;
pub use settings::{EmbeddedStoreSettings, QdrantSettings, StoreSettings};
pub use store::{RememberedRoots, Store, StoreMode};
