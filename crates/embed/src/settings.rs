//! Settings of an embedding service.

use std::time::Duration;

use codeinfo_core::Secret;

/// Settings of an OpenAI-compatible embedding service.
#[derive(Debug, Clone)]
pub struct EmbeddingSettings {
    /// Full URL for the requests. Its path ends in `/embeddings`.
    pub url: String,
    /// True if the URL names this machine, so that no proxy is used.
    pub is_local: bool,
    /// Name of the model on the service.
    pub model: String,
    /// Bearer token of the service.
    pub key: Option<Secret>,
    /// Length of the vectors. `None` uses the model's default.
    pub dimensions: Option<usize>,
    /// Prefix of each query.
    pub query_prefix: String,
    /// Prefix of each document.
    pub document_prefix: String,
    /// Maximum inputs per request.
    pub batch: usize,
    /// Maximum estimated tokens per request.
    pub batch_tokens: usize,
    /// Maximum estimated tokens per input. A longer input is cut.
    pub max_tokens: usize,
    /// Maximum concurrent requests.
    pub concurrency: usize,
    /// Maximum wait for one reply.
    pub timeout: Duration,
    /// Approximate wait after the first failed request that may succeed later. Later waits double.
    pub backoff: Duration,
}
