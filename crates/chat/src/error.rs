//! Why a question could not be asked.

use codeinfo_codex::{CodexError, Unavailable};
use codeinfo_core::{ConversationId, UnknownRoot, error::Code};
use codeinfo_store::StoreError;

/// Why a question could not be asked. A turn that fails later says so in its outcome.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// Codex cannot be used; the conversation is the one that was asked to go on.
    #[error("Codex cannot be used: {}", .0.reason)]
    Unavailable(Unavailable, Option<ConversationId>),
    /// Nothing is indexed.
    #[error("nothing is indexed yet; index a repository with `codeinfo ingest PATH`")]
    IngestRequired,
    /// What is indexed was damaged.
    #[error("the index is being repaired; ask again in a while")]
    Repairing,
    /// The repository that the question is about is not indexed.
    #[error(transparent)]
    UnknownRepository(#[from] UnknownRoot),
    /// What is indexed cannot be read.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
    /// No conversation of ours has that id.
    #[error("there is no conversation `{0}`")]
    UnknownConversation(ConversationId),
    /// The token of who asks was revoked.
    #[error("the token was revoked")]
    Revoked,
    /// Too many questions wait already.
    #[error("{0} questions wait already; ask again later")]
    Busy(usize),
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// Codex refused to open the thread.
    #[error("Codex could not open the conversation: {}", .0.unavailable().reason)]
    Refused(#[source] CodexError),
}

impl ChatError {
    pub fn code(&self) -> Code {
        match self {
            Self::Unavailable(..) => Code::LlmUnavailable,
            Self::IngestRequired | Self::Repairing => Code::IngestRequired,
            Self::UnknownRepository(_) => Code::RepoNotFound,
            Self::Store(cause) => cause.code(),
            Self::UnknownConversation(_) => Code::ConversationNotFound,
            Self::Revoked => Code::Unauthorized,
            Self::Busy(_) => Code::Busy,
            Self::Stopping => Code::Cancelled,
            Self::Refused(error) => error.code(),
        }
    }

    /// Sorts a failure to open the thread of `conversation`.
    pub(super) fn open(error: CodexError, conversation: Option<ConversationId>) -> Self {
        match (error.code(), conversation) {
            (Code::LlmUnavailable, _) => Self::Unavailable(error.unavailable(), conversation),
            (Code::ConversationNotFound, Some(id)) => Self::UnknownConversation(id),
            (Code::Cancelled, _) => Self::Stopping,
            _ => Self::Refused(error),
        }
    }
}
