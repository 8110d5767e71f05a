//! Errors of a check of documents.

use std::io;

use crate::lock::LOCK_FILE;

/// A failure of the check itself. It says nothing about the citations.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// A document or the lock file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// Path relative to the root.
        path: String,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A line of the lock file is invalid.
    #[error("line {line} of `{LOCK_FILE}` is none that `codeinfo check --fix` writes")]
    Lock {
        /// Line number, counted from 1.
        line: usize,
    },
    /// A document or the lock file cannot be written.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// Path relative to the root.
        path: String,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A document changed during the check.
    #[error("`{path}` was changed meanwhile; check again")]
    Meanwhile {
        /// Path relative to the root.
        path: String,
    },
    /// Another process fixes documents of the same repository.
    #[error("another `codeinfo check --fix` or `--accept` is at work here; run it again later")]
    Busy,
}

impl DocumentError {
    /// Returns the path of the document or lock file concerned.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } | Self::Meanwhile { path } => {
                Some(path)
            }
            Self::Lock { .. } => Some(LOCK_FILE),
            Self::Busy => None,
        }
    }
}
