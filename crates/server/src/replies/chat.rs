//! Frames of `POST /chat`.

use codeinfo_chat::{TokenUsage, ToolCallStage};
use codeinfo_citations::CheckedCitation;
use codeinfo_core::{ConversationId, FileSummary, Segment};
use codeinfo_toolkits::ToolEntrySource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Frame: a server-sent event with a name and JSON.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ChatFrame {
    Thread(ThreadFrame),
    /// Something that the turn must do without.
    Warning(WarningFrame),
    Thinking(TextFrame),
    ToolRequest(ToolRequestFrame),
    ToolResult(ToolResultFrame),
    VectorSummary(FilesFrame),
    Answer(TextFrame),
    /// Last frame of a successful turn.
    Final(FinalFrame),
    /// Last frame of a failed turn.
    Error(ErrorFrame),
}

impl ChatFrame {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Thread(_) => "thread",
            Self::Warning(_) => "warning",
            Self::Thinking(_) => "thinking",
            Self::ToolRequest(_) => "tool-request",
            Self::ToolResult(_) => "tool-result",
            Self::VectorSummary(_) => "vector_summary",
            Self::Answer(_) => "answer",
            Self::Final(_) => "final",
            Self::Error(_) => "error",
        }
    }

    /// Parses the data of an event; `None` for an unknown name.
    pub fn parse(name: &str, data: &str) -> serde_json::Result<Option<Self>> {
        Ok(Some(match name {
            "thread" => Self::Thread(serde_json::from_str(data)?),
            "warning" => Self::Warning(serde_json::from_str(data)?),
            "thinking" => Self::Thinking(serde_json::from_str(data)?),
            "tool-request" => Self::ToolRequest(serde_json::from_str(data)?),
            "tool-result" => Self::ToolResult(serde_json::from_str(data)?),
            "vector_summary" => Self::VectorSummary(serde_json::from_str(data)?),
            "answer" => Self::Answer(serde_json::from_str(data)?),
            "final" => Self::Final(serde_json::from_str(data)?),
            "error" => Self::Error(serde_json::from_str(data)?),
            _ => return Ok(None),
        }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFrame {
    pub conversation_id: ConversationId,
    pub model_id: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct WarningFrame {
    pub message: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct TextFrame {
    pub text: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ToolOrigin {
    pub source: ToolEntrySource,
    /// Name of the toolkit, if the tool belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
}

impl From<&codeinfo_chat::ToolOwner> for ToolOrigin {
    fn from(source: &codeinfo_chat::ToolOwner) -> Self {
        let toolkit = source.toolkit().map(ToString::to_string);
        let source = match source {
            codeinfo_chat::ToolOwner::Local => ToolEntrySource::Local,
            codeinfo_chat::ToolOwner::Mcp(_) => ToolEntrySource::Mcp,
        };
        Self { source, toolkit }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequestFrame {
    pub call_id: String,
    pub name: String,
    #[serde(flatten)]
    pub origin: ToolOrigin,
    pub timestamp: String,
    pub parameters: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultFrame {
    pub call_id: String,
    pub name: String,
    #[serde(flatten)]
    pub origin: ToolOrigin,
    pub timestamp: String,
    pub stage: ToolCallStage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct FilesFrame {
    pub files: Vec<FileSummary>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinalFrame {
    pub conversation_id: ConversationId,
    pub model_id: String,
    pub segments: Vec<Segment>,
    pub usage: Option<TokenUsage>,
    /// Results of the checks of the final answer's citations, in its order.
    pub citations: Vec<CheckedCitation>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorFrame {
    pub code: String,
    pub message: String,
    pub hint: String,
    pub conversation_id: ConversationId,
}
