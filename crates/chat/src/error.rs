//! Errors of asking a question.

use codeinfo_codex::{CodexError, UnavailableReason};
use codeinfo_core::{ConversationId, UnknownRoot, error::ErrorCode};
use codeinfo_store::StoreError;

/// Reason why a question could not be asked. A turn that fails later reports it in its outcome.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// Codex is unavailable. The id is that of the conversation to continue.
    #[error("Codex cannot be used: {}", .0.reason)]
    Unavailable(UnavailableReason, Option<ConversationId>),
    /// Nothing is indexed.
    #[error("nothing is indexed yet; index a repository with `codeinfo ingest PATH`")]
    IngestRequired,
    /// The index was damaged.
    #[error("the index is being repaired; ask again in a while")]
    Repairing,
    /// The requested repository is not indexed.
    #[error(transparent)]
    UnknownRepository(#[from] UnknownRoot),
    /// The store cannot be read.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
    /// The conversation does not exist.
    #[error("there is no conversation `{0}`")]
    UnknownConversation(ConversationId),
    /// The client's token was revoked.
    #[error("the token was revoked")]
    Revoked,
    /// The maximum number of questions is waiting.
    #[error("{0} questions wait already; ask again later")]
    Busy(usize),
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// Codex refused to open the thread.
    #[error("Codex could not open the conversation: {}", .0.unavailable_reason().reason)]
    Refused(#[source] CodexError),
}

impl ChatError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(..) => ErrorCode::LlmUnavailable,
            Self::IngestRequired | Self::Repairing => ErrorCode::IngestRequired,
            Self::UnknownRepository(_) => ErrorCode::RepoNotFound,
            Self::Store(cause) => cause.code(),
            Self::UnknownConversation(_) => ErrorCode::ConversationNotFound,
            Self::Revoked => ErrorCode::Unauthorized,
            Self::Busy(_) => ErrorCode::Busy,
            Self::Stopping => ErrorCode::Cancelled,
            Self::Refused(error) => error.code(),
        }
    }

    /// Converts a failure to open the thread of `conversation`.
    pub(super) fn from_open_error(error: CodexError, conversation: Option<ConversationId>) -> Self {
        match (error.code(), conversation) {
            (ErrorCode::LlmUnavailable, _) => {
                Self::Unavailable(error.unavailable_reason(), conversation)
            }
            (ErrorCode::ConversationNotFound, Some(id)) => Self::UnknownConversation(id),
            (ErrorCode::Cancelled, _) => Self::Stopping,
            _ => Self::Refused(error),
        }
    }
}
