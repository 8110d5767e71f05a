//! Events, outcome and errors of a turn.

use codeinfo_citations::CheckedCitation;
use codeinfo_codex::{CodexError, UnavailableReason};
use codeinfo_core::{
    ConversationId, FileSummary, Segment, Timestamp, UnknownRoot, error::ErrorCode,
};
use codeinfo_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use codeinfo_codex::TokenUsage;

use super::tool_owner::ToolOwner;

/// One complete event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    Thread {
        conversation: ConversationId,
        model_id: String,
    },
    /// The turn runs without something that was requested.
    Warning {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolRequest {
        call_id: String,
        name: String,
        source: ToolOwner,
        timestamp: Timestamp,
        parameters: Value,
    },
    /// A tool call ended. `result` is what the model received; `error` is the reason without one.
    ToolResult {
        call_id: String,
        name: String,
        source: ToolOwner,
        timestamp: Timestamp,
        stage: ToolCallStage,
        result: Option<Value>,
        error: Option<String>,
    },
    /// Files that a search showed to the model; follows its [`ChatEvent::ToolResult`].
    VectorSummary {
        files: Vec<FileSummary>,
    },
    /// A message of the model. The final one is checked before it is sent.
    Answer {
        text: String,
    },
    /// The turn ended; the last event.
    Ended(TurnOutcome),
}

/// Result of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCallStage {
    Success,
    Error,
}

/// Outcome of a turn with all its segments.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    pub conversation: ConversationId,
    pub model_id: String,
    /// Segments in the order of Codex's events. Without a failure, at least one is an answer.
    pub segments: Vec<Segment>,
    /// Token usage of the turn, if Codex counted it.
    pub usage: Option<TokenUsage>,
    /// Checked citations of the final answer, in order.
    pub citations: Vec<CheckedCitation>,
    pub failure: Option<TurnFailure>,
}

/// Failure of a turn, in words that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    pub code: ErrorCode,
    pub message: String,
    pub hint: String,
}

/// Reason why a question could not be asked. A turn that fails later reports it in its outcome.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("Codex cannot be used: {}", .0.reason)]
    Unavailable(UnavailableReason, Option<ConversationId>),
    #[error("nothing is indexed yet; index a repository with `codeinfo ingest PATH`")]
    IngestRequired,
    #[error("the index is being repaired; ask again in a while")]
    Repairing,
    #[error(transparent)]
    UnknownRepository(#[from] UnknownRoot),
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
    #[error("there is no conversation `{0}`")]
    UnknownConversation(ConversationId),
    #[error("the token was revoked")]
    Revoked,
    #[error("{0} questions wait already; ask again later")]
    Busy(usize),
    #[error("the server is stopping")]
    Stopping,
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
