//! What can go wrong in a check of documents.

use std::io;

use crate::cite::lock::LOCK_FILE;

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
}
