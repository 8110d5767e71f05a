//! Failures of the index.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// A failure of the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another opener holds the folder.
    #[error("the store in `{}` is in use by another opener of this folder", .path.display())]
    Locked {
        /// Folder of the index.
        path: PathBuf,
    },
    /// The index was filled with another embedding model.
    #[error(
        "the store holds vectors of `{stored}`, but the embedder is `{wanted}`; \
         start with `--reembed` to embed every repository again, or use the former model"
    )]
    ModelMismatch {
        /// The model that filled the index.
        stored: String,
        /// The requested model.
        wanted: String,
    },
    /// A newer version of the product wrote the index.
    #[error(
        "the store in `{}` has layout {found}, but this version reads up to {supported}; \
         use the version that wrote it, or move the folder away and ingest again",
        .path.display()
    )]
    NewerLayout {
        /// Folder of the index.
        path: PathBuf,
        /// Layout of the folder.
        found: u32,
        /// Newest layout that this version reads.
        supported: u32,
    },
    /// An older version of the product wrote the index.
    #[error(
        "the store in `{}` has layout {found}, and this version needs {wanted}; \
         start with `--reembed` to index every repository again",
        .path.display()
    )]
    OlderLayout {
        /// Folder of the index.
        path: PathBuf,
        /// Layout of the folder.
        found: u32,
        /// Layout that this version reads.
        wanted: u32,
    },
    /// Files of the index differ from what was written.
    #[error(
        "the store in `{}` is damaged: {reason}; `codeinfo serve` repairs it from the repositories, \
         unless it is started with `--no-repair`",
        .path.display()
    )]
    Damaged {
        /// Folder of the index.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// The system refused to open the index; its files may be undamaged.
    #[error("the store in `{}` cannot be opened: {reason}; {advice}", .path.display())]
    System {
        /// Folder of the index.
        path: PathBuf,
        /// The failed operation.
        reason: String,
        /// A remedy.
        advice: &'static str,
    },
    /// The disk is nearly full.
    #[error(
        "less than {} MiB are free on the disk of the store in `{}`; make room and ingest again",
        .wanted >> 20,
        .path.display()
    )]
    Full {
        /// Folder of the index.
        path: PathBuf,
        /// Number of bytes that must be free.
        wanted: u64,
    },
    /// The folder of an open index was removed or replaced.
    #[error("`{}` was removed or replaced while it was in use; restart to make it again", .path.display())]
    Replaced {
        /// Folder of the index.
        path: PathBuf,
    },
    /// A file of the index could not be read or written.
    #[error("cannot use `{}`: {source}{}", .path.display(), advise(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A stored record has an unexpected form.
    #[error("the store holds a malformed record: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl IndexError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

fn advise(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room and ingest again",
        _ => "",
    }
}
