//! What can go wrong in a check of documents.

use std::io;

use crate::lock::LOCK_FILE;

/// A failure to check, which says nothing of the citations.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// A document or the lock file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// Path below the root.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line of the lock file is none.
    #[error("line {line} of `{LOCK_FILE}` is none that `codeinfo check --fix` writes")]
    Lock {
        /// Its number.
        line: usize,
    },
    /// A document or the lock file cannot be written.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// Path below the root.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A document was changed while it was checked.
    #[error("`{path}` was changed meanwhile; check again")]
    Meanwhile {
        /// Path below the root.
        path: String,
    },
    /// Somebody else mends documents of the same repository.
    #[error("another `codeinfo check --fix` or `--accept` is at work here; run it again later")]
    Busy,
}

impl DocumentError {
    /// Returns the path of the document or the lock file that it is about.
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
