//! Settings of both engines.

use std::{path::PathBuf, time::Duration};

use codeinfo_core::Secret;

/// Location of the index.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Folder below which the embedded store and the identity of this process lie.
    pub data_dir: PathBuf,
    /// Bounds of the embedded store.
    pub embedded: EmbeddedStoreSettings,
    /// The server that stores the index; `None` for the embedded engine.
    pub qdrant: Option<QdrantSettings>,
}

/// Bounds of the embedded store.
#[derive(Debug, Clone)]
pub struct EmbeddedStoreSettings {
    /// Number of chunks in memory at which they are written to disk.
    pub seal_chunks: usize,
    /// True to merge segments in the background, which a process of one command would not finish.
    pub background_merge: bool,
    /// True to move damaged files away and open the others, for runs to repair.
    pub repairs: bool,
}

/// A Qdrant server or cluster that stores the index instead of the embedded engine.
#[derive(Debug, Clone)]
pub struct QdrantSettings {
    /// The gRPC addresses of its nodes. One is used until it fails, then the next.
    pub urls: Vec<String>,
    /// Key of the server.
    pub api_key: Option<Secret>,
    /// Prefix of the names of all its collections.
    pub collection: String,
    /// True if all hosts see the same folder at a path, so that they share roots.
    pub shared_paths: bool,
    /// Number of shards of new collections of chunks; `None` leaves it to the server: one per node.
    pub shards: Option<u32>,
    /// Number of copies of each shard.
    pub replication: u32,
    /// Number of copies that must have made a change for it to succeed.
    pub write_consistency: u32,
    /// Maximum wait for one answer.
    pub timeout: Duration,
    /// Maximum time for retries of a change while the server is away; below two thirds of `lease`.
    pub retry: Duration,
    /// Time after which the lease of a silent process expires.
    pub lease: Duration,
    /// Number of chunks at which an approximate index (HNSW) is built; below, search is exact.
    pub hnsw_min_chunks: u64,
}
