//! Errors of a citation check.

use codeinfo_core::error::ErrorCode;
use codeinfo_store::StoreError;

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
