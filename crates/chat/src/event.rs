//! Events and outcome of a turn.

use codeinfo_citations::CheckedCitation;
use codeinfo_core::{ConversationId, FileSummary, Segment, Timestamp, error::ErrorCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::ToolOwner;
pub use codeinfo_codex::TokenUsage;

/// One complete event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// The conversation was opened.
    Thread { conversation: ConversationId, model_id: String },
    /// The turn runs without something that was requested.
    Warning { text: String },
    /// A reasoning summary.
    Thinking { text: String },
    /// A tool call began.
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
    VectorSummary { files: Vec<FileSummary> },
    /// A message of the model. The final one is checked before it is sent.
    Answer { text: String },
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
    /// Model that answered.
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
    /// Description of the failure.
    pub message: String,
    /// Advice for the user.
    pub hint: String,
}
