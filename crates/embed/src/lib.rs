//! Turns text into vectors: dense ones by a model, sparse ones by counting code-aware terms.
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

/// Which model makes the dense vectors. Recorded in the store; vectors of two models never mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Such as `code-static-1`.
    pub name: String,
    /// Changes whenever the same text would get another vector. How much the names of a document count
    /// is in the version of its file instead: vectors of both kinds go together.
    pub version: String,
}

impl EmbeddingModel {
    /// Returns `name@version`, the form clients see.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// A word that means about what another one does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarWord {
    /// In lower case.
    pub word: &'static str,
    /// How near it is, 0…1.
    pub share: f32,
}

/// A text to be found, and the names it stands under: `Document<&str>` borrows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbeddingDocument<S = String> {
    /// Path below the root, with `/` between parts; may be blank.
    pub path: S,
    /// The enclosing definition, or a heading; may be blank.
    pub symbol: S,
    /// The text itself.
    pub text: S,
}

impl<S: AsRef<str>> EmbeddingDocument<S> {
    /// Returns all of it as one text, each name on a line of its own.
    pub fn to_text(&self) -> String {
        let parts = [&self.path, &self.symbol, &self.text].map(AsRef::as_ref);
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// Returns a copy that borrows nothing.
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
    /// A text without names.
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Makes dense vectors of unit length. Every embedder passes `tests/it/embed_suite.rs`.
pub trait Embedder: Send + Sync {
    /// Returns the model, known without asking anyone.
    fn model(&self) -> &EmbeddingModel;

    /// Returns the length of each vector; `None` while only a service knows it that has not answered
    /// yet.
    fn dimensions(&self) -> Option<usize>;

    /// Embeds texts to be found, one vector each, in order; one that is blank all over gets a
    /// vector of zeros. Runs off the runtime's workers.
    fn embed_documents(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>>;

    /// Embeds a text to search with.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>>;

    /// Returns words that mean about what `word` does, nearest first, without most forms of it; none where
    /// the model does not know.
    fn similar_words(&self, _word: &str) -> Vec<SimilarWord> {
        Vec::new()
    }

    /// Fails when embedding would fail now, as far as is known from a few seconds ago. May wait for a
    /// service; that it is asked goes on when the caller goes away, and the next one gets the result.
    fn check_health(&self) -> BoxFuture<'_, Result<(), EmbedError>>;

    /// Returns how many calls of [`Embedder::documents`] at a time are faster than one.
    fn concurrency(&self) -> usize;

    /// Returns why documents wait that have been waiting for a second or more.
    fn stall_reason(&self) -> Option<String> {
        None
    }
}
