//! Errors of a check of citations, in answers and in documents.

use std::io;

use codeinfo_core::error::ErrorCode;
use codeinfo_store::StoreError;

use crate::lock::LOCK_FILE;

/// A failure of the check itself. It says nothing about the citations.
#[derive(Debug, thiserror::Error)]
pub enum CiteError {
    /// The store failed.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
    /// A folder does not respond, or too many checks wait for one that does not.
    #[error("the cited files could not be read in time")]
    Stalled,
    /// The built-in model is damaged.
    #[error("the built-in embedding model cannot be read")]
    Model,
}

impl CiteError {
    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Store(cause) => cause.code(),
            Self::Stalled => ErrorCode::Busy,
            Self::Model => ErrorCode::Internal,
        }
    }
}

/// A failure to check or to fix documents. It says nothing about the citations.
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
    #[error("line {line} of `{LOCK_FILE}` was not written by `codeinfo check --fix`")]
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
    ChangedMeanwhile {
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
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::ChangedMeanwhile { path } => Some(path),
            Self::Lock { .. } => Some(LOCK_FILE),
            Self::Busy => None,
        }
    }
}
