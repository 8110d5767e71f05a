//! What can go wrong in a store.

use std::path::PathBuf;

use crate::error::Code;

/// A store failure.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the embedded store.
    #[error("the store in `{}` is in use by {holder}", .path.display())]
    Held {
        /// The data folder.
        path: PathBuf,
        /// Who holds it, for example `process 4711 at http://127.0.0.1:5010`.
        holder: String,
    },
    /// The store was filled with another embedding model.
    #[error(
        "the store holds vectors of `{stored}`, but the embedder is `{wanted}`; \
         start with `--reembed` to embed every repository again, or use the former model"
    )]
    ModelMismatch {
        /// The model that filled the store.
        stored: String,
        /// The model that was asked for.
        wanted: String,
    },
    /// The engine refused or failed.
    #[error("the store failed to {action}: {reason}")]
    Engine {
        /// What was attempted, such as `upsert points`.
        action: &'static str,
        /// The engine's words.
        reason: String,
    },
    /// A file of the store could not be read or written.
    #[error("cannot use `{}`", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A stored payload does not have the expected form.
    #[error("the store holds a malformed record: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl StoreError {
    /// Returns the kind of failure.
    pub fn code(&self) -> Code {
        match self {
            Self::ModelMismatch { .. } => Code::EmbedModelMismatch,
            Self::Held { .. } | Self::Engine { .. } | Self::Io { .. } | Self::Malformed(_) => {
                Code::StoreUnavailable
            }
        }
    }
}
