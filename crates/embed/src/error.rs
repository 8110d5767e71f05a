//! What can go wrong while embedding.

use codeinfo_core::error::ErrorCode;

use super::service::EmbeddingServiceError;

/// An embedding failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model built into the binary does not have the expected form.
    #[error("the built-in model is damaged: {0}")]
    Damaged(&'static str),
    /// The embedding service cannot be used.
    #[error("the embedding service at `{url}` {error}")]
    Service {
        /// Where it is asked.
        url: String,
        /// What is wrong, and what to set.
        error: EmbeddingServiceError,
    },
    /// The work was given up because the process is stopping.
    #[error("embedding was stopped")]
    Stopped,
}

impl EmbedError {
    /// Returns the kind of failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Service { error: EmbeddingServiceError::Dimensions { .. }, .. } => {
                ErrorCode::EmbedModelMismatch
            }
            Self::Damaged(_) | Self::Service { .. } => ErrorCode::EmbedModelMissing,
            Self::Stopped => ErrorCode::Cancelled,
        }
    }
}
