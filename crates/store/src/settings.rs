//! Settings of both engines.

use std::{path::PathBuf, time::Duration};

use codeinfo_core::Secret;

/// Where the index is.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// Folder below which the embedded store and the identity of this process lie.
    pub data_dir: PathBuf,
    /// Bounds of the embedded store.
    pub embedded: EmbeddedStoreSettings,
    /// The server that keeps the index; `None` is the embedded store.
    pub qdrant: Option<QdrantSettings>,
}

/// Bounds of the embedded store.
#[derive(Debug, Clone)]
pub struct EmbeddedStoreSettings {
    /// After this many chunks in memory they are put on disk.
    pub seal_chunks: usize,
    /// Whether what runs leave is merged in the background: not by a process that ends after one
    /// command, which would leave it half done.
    pub background_merge: bool,
    /// Whether what is found damaged is moved away and the rest opened, for runs to repair.
    pub repairs: bool,
}

/// A Qdrant server or cluster that keeps the index instead of the embedded store.
#[derive(Debug, Clone)]
pub struct QdrantSettings {
    /// The gRPC addresses of its nodes. One is used until it fails, then the next.
    pub urls: Vec<String>,
    /// Key of the server.
    pub api_key: Option<Secret>,
    /// What the names of all its collections begin with.
    pub collection: String,
    /// Whether all hosts see the same folder at a path, so that none has roots of its own.
    pub shared_paths: bool,
    /// How many shards the chunks are spread over when their collection is made; `None` leaves that
    /// to the server, which takes one for each node.
    pub shards: Option<u32>,
    /// How many nodes have a copy of each shard.
    pub replication: u32,
    /// How many of them must have made a change for it to succeed.
    pub write_consistency: u32,
    /// Longest wait for one answer.
    pub timeout: Duration,
    /// How long a change is tried again while the server is away. Less than the time in which a lease
    /// must be renewed, two thirds of `lease`.
    pub retry: Duration,
    /// How long a root stays with a process that is not heard of.
    pub lease: Duration,
    /// From how many chunks on an approximate index (HNSW) is built; below, search is exact.
    pub hnsw_min_chunks: u64,
}
