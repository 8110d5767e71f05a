//! What can go wrong in a check.

use codeinfo_core::error::ErrorCode;
use codeinfo_store::StoreError;

/// A failure to check, which says nothing of the citations.
#[derive(Debug, thiserror::Error)]
pub enum CiteError {
    /// The store failed.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
    /// A folder does not answer, or too many checks wait for one.
    #[error("the cited files could not be read in time")]
    Stalled,
    /// The built-in model is damaged.
    #[error("the built-in embedding model cannot be read")]
    Model,
}

impl CiteError {
    /// Returns the kind of failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Store(cause) => cause.code(),
            Self::Stalled => ErrorCode::Busy,
            Self::Model => ErrorCode::Internal,
        }
    }
}
