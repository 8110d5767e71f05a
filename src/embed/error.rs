//! What can go wrong while embedding.

use crate::error::Code;

/// An embedding failure.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model built into the binary does not have the expected form.
    #[error("the built-in model is damaged: {0}")]
    Damaged(&'static str),
    /// The work was given up because the process is stopping.
    #[error("embedding was stopped")]
    Stopped,
}

impl EmbedError {
    /// Returns the kind of failure.
    pub fn code(&self) -> Code {
        match self {
            Self::Damaged(_) => Code::EmbedModelMissing,
            Self::Stopped => Code::Cancelled,
        }
    }
}
