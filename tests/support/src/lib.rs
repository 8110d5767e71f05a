//! Helpers that the tests of several crates share: stores, repositories, and fake servers.
#![expect(
    clippy::new_without_default,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of it is test code"
)]

pub mod embedded;
pub mod embeddings;
pub mod git;
pub mod ingest;
pub mod private_places;
pub mod qdrant;
pub mod random;
pub mod searchable;
pub mod sources;
pub mod store;
pub mod toolkit;
pub mod websocket;
pub mod wire;
