//! How an embedding service is reached and asked.

use std::time::Duration;

use codeinfo_core::Secret;

/// An OpenAI-compatible embedding service.
#[derive(Debug, Clone)]
pub struct EmbeddingSettings {
    /// Where texts are posted to: the whole URL, ending in `/embeddings` before any query.
    pub url: String,
    /// Whether the URL names this machine, so that no proxy stands between.
    pub is_local: bool,
    /// The model's name, as the service knows it.
    pub model: String,
    /// Bearer token of the service.
    pub key: Option<Secret>,
    /// How long vectors are to be; `None` leaves it to the model.
    pub dimensions: Option<usize>,
    /// What stands before each query.
    pub query_prefix: String,
    /// What stands before each text to be found.
    pub document_prefix: String,
    /// Most inputs of one request.
    pub batch: usize,
    /// Most tokens of one request, as estimated.
    pub batch_tokens: usize,
    /// Most tokens of one input, as estimated; the rest of a longer one is left out.
    pub max_tokens: usize,
    /// Most requests at a time.
    pub concurrency: usize,
    /// Longest wait for one reply.
    pub timeout: Duration,
    /// About how long the first wait is after a request that may work later; later waits double.
    pub backoff: Duration,
}
