//! Stores chunks with their vectors in one folder and finds the nearest: a library without a server or a runtime.
//!
//! Writes make segments, files that never change; a manifest names the current ones. Reads use a [`Snapshot`] of the
//! moment at which they began and never wait; changes are made one after the other. All functions block.
//!
//! There is no journal. A killed process loses what it wrote since the last commit, and the next
//! run writes it again: the index is derived data, damage is repaired from the repositories.
#![warn(missing_docs)]

mod build;
mod codes;
mod deletions;
mod error;
mod folder;
mod index;
mod manifest;
mod merger;
mod open;
mod records;
mod root_list;
mod search;
mod segment;
mod signs;
mod snapshot;
mod source;
mod table;
mod terms;
#[cfg(test)]
mod test_support;
mod writer;

pub use error::IndexError;
pub use index::{Index, IndexOptions};
pub use records::{
    ChunkVectors, IndexHit, IndexScope, MAX_PAGE, NewChunk, OnMismatch, StorageSize, StoredChunk,
};
pub use snapshot::Snapshot;
pub use writer::IndexWriter;
