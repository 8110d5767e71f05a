//! What can go wrong with kept conversations.

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
    /// A file does not hold a conversation.
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
    /// The server stops.
    #[error("the server is stopping")]
    Stopping,
}

impl ArchiveError {
    pub(super) fn for_file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// Returns the code of the failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::File { .. } | Self::Damaged { .. } => ErrorCode::ArchiveUnavailable,
            Self::Stopping => ErrorCode::Cancelled,
        }
    }
}
