//! Converts text to vectors: dense vectors by a model, sparse vectors by counting code-aware terms.
#![warn(missing_docs)]

mod builtin;
pub mod lexical;
mod service;

use std::time::Duration;

use codeinfo_core::{ChunkRecord, Secret, error::ErrorCode};
use futures_util::future::BoxFuture;

pub use builtin::{BuiltinEmbedder, DIMENSIONS, QuestionWords, StaticModel};
pub use service::{EmbeddingService, EmbeddingServiceError};

/// Model of the dense vectors. The store records it; vectors of two models never mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Name of the model, such as `code-static-1`.
    pub name: String,
    /// Version of the model, which changes whenever a text would get another vector. The weight of
    /// names is in the version of its file, because vectors of both weights can be compared.
    pub version: String,
}

impl EmbeddingModel {
    /// Returns `name@version`, the form that clients see.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Word with a similar meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarWord {
    /// The word in lower case.
    pub word: &'static str,
    /// Similarity from 0 to 1.
    pub share: f32,
}

/// Text to be indexed, with its names. `EmbeddingDocument<&str>` borrows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbeddingDocument<S = String> {
    /// Path below the root, with `/` between parts. May be blank.
    pub path: S,
    /// Enclosing definition or heading. May be blank.
    pub symbol: S,
    /// Text of the document.
    pub text: S,
}

impl<S: AsRef<str>> EmbeddingDocument<S> {
    /// Joins the names and the text, one name per line.
    pub fn to_text(&self) -> String {
        let parts = [&self.path, &self.symbol, &self.text].map(AsRef::as_ref);
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// Returns an owned copy.
    pub fn to_owned(&self) -> EmbeddingDocument {
        let [path, symbol, text] =
            [&self.path, &self.symbol, &self.text].map(|part| part.as_ref().to_owned());
        EmbeddingDocument { path, symbol, text }
    }
}

impl<'a> From<&'a ChunkRecord> for EmbeddingDocument<&'a str> {
    fn from(chunk: &'a ChunkRecord) -> Self {
        let symbol = chunk.symbol.as_deref().unwrap_or_default();
        Self { path: &chunk.path, symbol, text: &chunk.text }
    }
}

impl From<String> for EmbeddingDocument {
    /// Creates a document without names.
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Source of dense vectors of unit length. Every embedder passes `crates/embed/tests/it/suite.rs`.
pub trait Embedder: Send + Sync {
    /// Returns the model. Needs no request to a service.
    fn model(&self) -> &EmbeddingModel;

    /// Returns the length of each vector; `None` until a service has answered.
    fn dimensions(&self) -> Option<usize>;

    /// Embeds documents in order, off the runtime's workers. A blank one gets a vector of zeros.
    fn embed_documents(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>>;

    /// Embeds a query.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>>;

    /// Returns words with a similar meaning, nearest first, without most forms of the word itself;
    /// empty if the model does not know the word.
    fn similar_words(&self, _word: &str) -> Vec<SimilarWord> {
        Vec::new()
    }

    /// Returns for each of `names` the share of a question's meaning that its words have, 0…1;
    /// empty if the model has no vectors of words.
    fn compare_names(&self, _question: &str, _names: &[[&str; 2]]) -> Vec<f32> {
        Vec::new()
    }

    /// Fails if embedding would fail; the result may be a few seconds old. May wait for a service;
    /// the request continues if the caller is dropped, for the next caller.
    fn check_health(&self) -> BoxFuture<'_, Result<(), EmbedError>>;

    /// Returns the number of concurrent [`Embedder::embed_documents`] with the highest throughput.
    fn concurrency(&self) -> usize;

    /// Returns why documents wait, if they have waited for one second or more.
    fn stall_reason(&self) -> Option<String> {
        None
    }
}

/// Error of an embedder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model in the binary does not have the expected form.
    #[error("the built-in model is damaged: {0}")]
    Damaged(&'static str),
    /// The embedding service cannot be used.
    #[error("the embedding service at `{url}` {error}")]
    Service {
        /// URL of the service.
        url: String,
        /// Problem, and the setting that solves it.
        error: EmbeddingServiceError,
    },
    /// The work was abandoned because the process is stopping.
    #[error("embedding was stopped")]
    Stopped,
}

impl EmbedError {
    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Service { error: EmbeddingServiceError::Dimensions { .. }, .. } => {
                ErrorCode::EmbedModelMismatch
            }
            Self::Damaged(_) | Self::Service { .. } => ErrorCode::EmbedModelMissing,
            Self::Stopped => ErrorCode::Cancelled,
        }
    }
}

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
