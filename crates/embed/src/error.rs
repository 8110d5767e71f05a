//! Errors of embedding.

use codeinfo_core::error::ErrorCode;

use super::service::EmbeddingServiceError;

/// Error of an embedder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model in the binary does not have the expected form.
    #[error("the built-in model is damaged: {0}")]
    Damaged(&'static str),
    /// The embedding service cannot be used.
    #[error("the embedding service at `{url}` {error}")]
    Service {
        /// URL of the service.
        url: String,
        /// Problem, and the setting that solves it.
        error: EmbeddingServiceError,
    },
    /// The work was abandoned because the process is stopping.
    #[error("embedding was stopped")]
    Stopped,
}

impl EmbedError {
    /// Returns the error code.
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
