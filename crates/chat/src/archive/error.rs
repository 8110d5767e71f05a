//! Errors of the archive.

use std::{
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::error::ErrorCode;

/// A failure of the archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be read, written or removed.
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file does not contain a conversation.
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

impl ArchiveError {
    pub(super) fn for_file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::File { .. } | Self::Damaged { .. } => ErrorCode::ArchiveUnavailable,
            Self::Stopping => ErrorCode::Cancelled,
        }
    }
}
