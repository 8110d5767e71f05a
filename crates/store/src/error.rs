//! What can go wrong in a store.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::error::ErrorCode;

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
    /// The store was made for hosts that see the same folders at the same paths, or for hosts that do not.
    #[error("the index on the Qdrant server {}, or start with `--reembed` to index every repository again", if *.is_shared {
        "takes a path to be the same folder on every host, as former versions did; set `QDRANT_SHARED_PATHS=true` if \
         that is so"
    } else {
        "keeps the folders of each host apart; leave out `QDRANT_SHARED_PATHS`"
    })]
    PathsMismatch {
        /// Whether it was made for the same folders on all hosts.
        is_shared: bool,
    },
    /// The store is new, and how long its vectors are is not known yet.
    #[error("the store cannot be made before the embedding service has answered once: {reason}")]
    NotYet {
        /// Why it has not answered.
        reason: String,
    },
    /// The store could not be opened.
    #[error(transparent)]
    Unopened(Arc<StoreError>),
    /// A newer version of the product wrote the store.
    #[error(
        "the store in `{}` has layout {found}, but this version reads up to {supported}; \
         use the version that wrote it, or move the folder away and ingest again",
        .path.display()
    )]
    NewerLayout {
        /// The store's folder.
        path: PathBuf,
        /// The layout found.
        found: u32,
        /// The newest layout this version knows.
        supported: u32,
    },
    /// An older version of the product wrote the store.
    #[error(
        "the store in `{}` has layout {found}, and this version needs {wanted}; \
         start with `--reembed` to index every repository again",
        .path.display()
    )]
    OlderLayout {
        /// The store's folder.
        path: PathBuf,
        /// The layout found.
        found: u32,
        /// The layout this version reads.
        wanted: u32,
    },
    /// The files of the store are not what was written.
    #[error(
        "the store in `{}` is damaged: {reason}; `codeinfo serve` repairs it from the repositories, \
         unless it is started with `--no-repair`",
        .path.display()
    )]
    Damaged {
        /// The store's folder.
        path: PathBuf,
        /// What did not fit.
        reason: String,
    },
    /// The system did not let the store be opened, which says nothing of its files.
    #[error("the store in `{}` cannot be opened: {reason}; {advice}", .path.display())]
    System {
        /// The store's folder.
        path: PathBuf,
        /// What failed.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// The disk has no room for more.
    #[error(
        "less than {} MiB are free on the disk of the store in `{}`; make room and ingest again",
        .wanted >> 20,
        .path.display()
    )]
    Full {
        /// The store's folder.
        path: PathBuf,
        /// How many bytes must be free.
        wanted: u64,
    },
    /// A chunk does not fit the store: a bug of the caller.
    #[error("chunk `{id}` cannot be stored: {reason}")]
    InvalidChunk {
        /// The chunk's id.
        id: uuid::Uuid,
        /// What does not fit.
        reason: &'static str,
    },
    /// The engine refused or failed.
    #[error("cannot {action}: {reason}")]
    Engine {
        /// What was attempted, as people know it, such as `write the index`.
        action: &'static str,
        /// The engine's words.
        reason: String,
    },
    /// Nodes of the server do not answer, and no other one could do it.
    #[error(
        "cannot {action}: Qdrant at {urls} cannot be reached ({reason}); see that it runs and that \
         `QDRANT_URL` names its gRPC port, 6334 unless it was changed"
    )]
    Unreachable {
        /// What was attempted, as people know it, such as `write the index`.
        action: &'static str,
        /// The nodes that do not answer, each in backticks.
        urls: String,
        /// What happened.
        reason: String,
    },
    /// The server does not accept who asks.
    #[error(
        "Qdrant at `{url}` refuses access ({reason}); set `QDRANT_API_KEY` to a key that may write"
    )]
    Denied {
        /// The node asked.
        url: String,
        /// The server's words.
        reason: String,
    },
    /// Another process changes what belongs to the root.
    #[error("the repository is being changed by {holder}; try again when that has ended")]
    Leased {
        /// Which process.
        holder: String,
    },
    /// The right to change what belongs to a root could not be kept.
    #[error("the lease of the repository was lost ({reason}); ingest again to complete it")]
    LeaseLost {
        /// What happened.
        reason: String,
    },
    /// A file of the store could not be read or written.
    #[error("cannot use `{}`: {source}{}", .path.display(), advise(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
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
    /// A stored record does not have the expected form.
    #[error("the store holds a malformed record: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Says what to do about a failure, where that is known.
fn advise(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room and ingest again",
        _ => "",
    }
}

impl StoreError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// Returns that the data folder cannot be used.
    pub fn folder(path: &Path, reason: &impl ToString) -> Self {
        Self::Folder { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Returns the failure as one of `action`, which needed what was attempted.
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
            Self::ModelMismatch { .. } => ErrorCode::EmbedModelMismatch,
            Self::Unopened(error) => error.code(),
            Self::InvalidChunk { .. } => ErrorCode::Internal,
            Self::Leased { .. } => ErrorCode::Busy,
            Self::Held { .. }
            | Self::PathsMismatch { .. }
            | Self::NotYet { .. }
            | Self::NewerLayout { .. }
            | Self::OlderLayout { .. }
            | Self::Damaged { .. }
            | Self::System { .. }
            | Self::Full { .. }
            | Self::Engine { .. }
            | Self::Unreachable { .. }
            | Self::Denied { .. }
            | Self::LeaseLost { .. }
            | Self::Io { .. }
            | Self::Folder { .. }
            | Self::Malformed(_) => ErrorCode::StoreUnavailable,
        }
    }
}
