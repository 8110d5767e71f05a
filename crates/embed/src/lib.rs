//! Converts text to vectors: dense vectors by a model, sparse vectors by counting code-aware terms.
#![warn(missing_docs)]

mod builtin;
mod error;
pub mod lexical;
mod service;
mod settings;

use codeinfo_core::ChunkRecord;
use futures_util::future::BoxFuture;

pub use builtin::{BuiltinEmbedder, DIMENSIONS, StaticModel};
pub use error::EmbedError;
pub use service::{EmbeddingService, EmbeddingServiceError};
pub use settings::EmbeddingSettings;

/// Model of the dense vectors. The store records it; vectors of two models never mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Name of the model, such as `code-static-1`.
    pub name: String,
    /// Version of the model. It changes whenever the same text would get another vector.
    ///
    /// The weight of a document's names is part of the version of its file instead, because vectors
    /// of both weights can be compared.
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

/// Source of dense vectors of unit length. Every embedder passes `tests/e2e/embed_suite.rs`.
pub trait Embedder: Send + Sync {
    /// Returns the model. Needs no request to a service.
    fn model(&self) -> &EmbeddingModel;

    /// Returns the length of each vector, or `None` until a service has answered for the first
    /// time.
    fn dimensions(&self) -> Option<usize>;

    /// Embeds documents, one vector each, in order. A blank document gets a vector of zeros.
    ///
    /// The work runs off the runtime's workers.
    fn embed_documents(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>>;

    /// Embeds a query.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>>;

    /// Returns words with a similar meaning, nearest first, without most forms of the word itself.
    ///
    /// Empty if the model does not know the word.
    fn similar_words(&self, _word: &str) -> Vec<SimilarWord> {
        Vec::new()
    }

    /// Fails if embedding would fail now. The result may be a few seconds old.
    ///
    /// May wait for a service. The request continues if the caller is dropped, and the next caller
    /// gets its result.
    fn check_health(&self) -> BoxFuture<'_, Result<(), EmbedError>>;

    /// Returns the number of concurrent calls of [`Embedder::embed_documents`] that give the
    /// highest throughput.
    fn concurrency(&self) -> usize;

    /// Returns why documents wait, if they have waited for one second or more.
    fn stall_reason(&self) -> Option<String> {
        None
    }
}
