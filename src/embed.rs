//! Turns text into vectors: dense ones by a model, sparse ones by counting code-aware terms.
#![warn(missing_docs)]

mod builtin;
mod error;
pub mod lexical;
pub mod words;

use futures_util::future::BoxFuture;

pub use builtin::Builtin;
pub use error::EmbedError;

/// Which model makes the dense vectors. Recorded in the store; vectors of two models never mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Such as `code-static-1`.
    pub name: String,
    /// Changes whenever the same text would get another vector.
    pub version: String,
    /// Length of each vector.
    pub dimensions: usize,
}

impl Model {
    /// Returns `name@version`, the form clients see.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Makes dense vectors of unit length. Every embedder passes `tests/it/embed_suite.rs`.
pub trait Embedder: Send + Sync {
    /// Returns the model, known without asking anyone.
    fn model(&self) -> &Model;

    /// Embeds texts to be found, one vector each, in order. Runs off the runtime's workers.
    fn documents(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>>;

    /// Embeds a text to search with.
    fn query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>>;
}
