//! Failures of a store.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::error::ErrorCode;
use codeinfo_index::IndexError;

/// A failure of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The embedded index, a small file of the store or the model of a server failed.
    #[error(transparent)]
    Index(IndexError),
    /// Another process holds the embedded store.
    #[error("the store in `{}` is in use by {holder}", .path.display())]
    Held {
        /// The data folder.
        path: PathBuf,
        /// The holder, for example `process 4711 at http://127.0.0.1:5010`.
        holder: String,
    },
    /// The store was made for hosts that see the same folders at the same paths, or for hosts that do not.
    #[error("the index on the Qdrant server {}, or start with `--reembed` to index every repository again", if *.is_shared {
        "takes a path to be the same folder on every host, as former versions did; set `QDRANT_SHARED_PATHS=true` if \
         that is so"
    } else {
        "keeps the folders of each host apart; leave out `QDRANT_SHARED_PATHS`"
    })]
    PathsMismatch {
        /// True if it was made for the same folders on all hosts.
        is_shared: bool,
    },
    /// The store is new, and the length of its vectors is not known yet.
    #[error("the store cannot be made before the embedding service has answered once: {reason}")]
    NotYet {
        /// Reason of the embedding service.
        reason: String,
    },
    /// The store could not be opened.
    #[error(transparent)]
    Unopened(Arc<StoreError>),
    /// A chunk does not fit the store: a bug of the caller.
    #[error("chunk `{id}` cannot be stored: {reason}")]
    InvalidChunk {
        /// The chunk's id.
        id: uuid::Uuid,
        /// The fault.
        reason: &'static str,
    },
    /// The engine refused or failed.
    #[error("cannot {action}: {reason}")]
    Engine {
        /// The attempted action in the words of users, such as `write the index`.
        action: &'static str,
        /// Message of the engine.
        reason: String,
    },
    /// Nodes of the server do not answer, and no other node could either.
    #[error(
        "cannot {action}: Qdrant at {urls} cannot be reached ({reason}); see that it runs and that \
         `QDRANT_URL` names its gRPC port, 6334 unless it was changed"
    )]
    Unreachable {
        /// The attempted action in the words of users, such as `write the index`.
        action: &'static str,
        /// The nodes that do not answer, each in backticks.
        urls: String,
        /// The cause.
        reason: String,
    },
    /// The server refuses the API key.
    #[error(
        "Qdrant at `{url}` refuses access ({reason}); set `QDRANT_API_KEY` to a key that may write"
    )]
    Denied {
        /// Address of the node.
        url: String,
        /// Message of the server.
        reason: String,
    },
    /// Another process has the lease of the root.
    #[error("the repository is being changed by {holder}; try again when that has ended")]
    Leased {
        /// The other process.
        holder: String,
    },
    /// The lease of a root could not be renewed.
    #[error("the lease of the repository was lost ({reason}); ingest again to complete it")]
    LeaseLost {
        /// The cause.
        reason: String,
    },
    /// The data folder cannot be made or written.
    #[error(
        "cannot use the data folder `{}`: {reason}; set `DATA_DIR` to a folder that you can write",
        .path.display()
    )]
    Folder {
        /// The data folder.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Index(IndexError::Io { path: path.to_owned(), source })
    }

    pub(crate) fn engine(action: &'static str, reason: &impl ToString) -> Self {
        Self::Engine { action, reason: reason.to_string() }
    }

    /// Creates the failure to use the data folder.
    pub fn folder(path: &Path, reason: &impl ToString) -> Self {
        Self::Folder { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Replaces the attempted action with `action`, which needed it.
    #[must_use]
    pub fn during(self, action: &'static str) -> Self {
        match self {
            Self::Engine { reason, .. } => Self::Engine { action, reason },
            Self::Unreachable { urls, reason, .. } => Self::Unreachable { action, urls, reason },
            other => other,
        }
    }

    /// Returns the kind of failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Index(IndexError::ModelMismatch { .. }) => ErrorCode::EmbedModelMismatch,
            Self::Unopened(error) => error.code(),
            Self::InvalidChunk { .. } => ErrorCode::Internal,
            Self::Leased { .. } => ErrorCode::Busy,
            Self::Held { .. }
            | Self::PathsMismatch { .. }
            | Self::NotYet { .. }
            | Self::Engine { .. }
            | Self::Unreachable { .. }
            | Self::Denied { .. }
            | Self::LeaseLost { .. }
            | Self::Folder { .. }
            | Self::Index(_) => ErrorCode::StoreUnavailable,
        }
    }
}

impl From<IndexError> for StoreError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Locked { path } => {
                Self::Held { path, holder: "another opener of this folder".to_owned() }
            }
            replaced @ IndexError::Replaced { .. } => {
                Self::Engine { action: "use the index", reason: replaced.to_string() }
            }
            other => Self::Index(other),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Index(error.into())
    }
}
