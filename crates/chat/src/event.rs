//! What a turn reports to its caller.

use codeinfo_citations::CheckedCitation;
use codeinfo_core::{ConversationId, FileSummary, Segment, Timestamp, error::ErrorCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::source::ToolOwner;
pub use codeinfo_codex::TokenUsage;

/// One thing that happened in a turn, whole.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// The conversation exists.
    Thread { conversation: ConversationId, model_id: String },
    /// Something that the turn has to do without.
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
    /// A tool call ended. `result` holds what the model was given, `error` why there is nothing.
    ToolResult {
        call_id: String,
        name: String,
        source: ToolOwner,
        timestamp: Timestamp,
        stage: ToolCallStage,
        result: Option<Value>,
        error: Option<String>,
    },
    /// What one search showed to the model; follows the search's [`Event::ToolResult`].
    VectorSummary { files: Vec<FileSummary> },
    /// A message of the model. The final one is checked before it is reported.
    Answer { text: String },
    /// The turn is over; the last event.
    Ended(TurnOutcome),
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCallStage {
    Success,
    Error,
}

/// How a turn ended, with everything it said.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    pub conversation: ConversationId,
    /// The model that answered.
    pub model_id: String,
    /// In the order of Codex's events. Without a failure, at least one is an answer.
    pub segments: Vec<Segment>,
    /// Tokens spent by this turn, where Codex counted them.
    pub usage: Option<TokenUsage>,
    /// What became of the citations of the final answer, in its order.
    pub citations: Vec<CheckedCitation>,
    pub failure: Option<TurnFailure>,
}

/// Why a turn failed, in words that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: String,
}
