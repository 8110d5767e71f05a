//! Stores roots, files and chunks (records with dense and sparse vectors) and finds the nearest chunks.
//!
//! Services use a [`Store`], whichever [`Engine`] it has: the embedded engine or a Qdrant server. Fusion and ranking
//! belong to `search`, so that every engine ranks alike.
#![warn(missing_docs)]

mod embedded;
mod engine;
mod error;
mod identity;
mod lease;
mod location;
mod lock;
mod qdrant;
mod records;
mod settings;
mod store;
mod trees;

pub use codeinfo_index::{
    ChunkVectors, IndexError, MAX_PAGE, NewChunk, OnMismatch, StorageSize, StoredChunk,
};
pub use embedded::EmbeddedEngine;
pub use engine::{
    Change, ChunkQuery, ChunkScope, ChunkSelection, ChunkSet, Engine, FileSelection, QueryTarget,
    StoreFuture,
};
pub use error::StoreError;
pub use identity::ProcessIdentity;
pub use lease::Lease;
pub use location::StoreLocation;
pub use lock::{DataDirLock, LockHolder, find_lock_holder};
pub use qdrant::QdrantEngine;
pub use records::{CollectionCopies, ScoredChunk, StoreHealth};
pub use settings::{EmbeddedStoreSettings, QdrantSettings, StoreSettings};
pub use store::{RememberedRoots, Store, StoreMode};
