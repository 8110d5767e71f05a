//! Frames of a turn, for `POST /chat` and `GET /turns/{turn}`.

use codeinfo_chat::{ChatEvent, TokenUsage, ToolCallStage, ToolOwner, TurnFailure, TurnOutcome};
use codeinfo_citations::CheckedCitation;
use codeinfo_core::{ConversationId, FileSummary, Segment};
use codeinfo_toolkits::ToolEntrySource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Frame: a server-sent event with a name and JSON data. Names and members are a wire promise.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "name", content = "data", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ChatFrame {
    Thread {
        conversation_id: ConversationId,
        model_id: String,
    },
    /// Something that the turn must do without.
    Warning {
        message: String,
    },
    Thinking {
        text: String,
    },
    ToolRequest {
        call_id: String,
        name: String,
        #[serde(flatten)]
        origin: ToolOrigin,
        timestamp: String,
        parameters: Value,
    },
    ToolResult {
        call_id: String,
        name: String,
        #[serde(flatten)]
        origin: ToolOrigin,
        timestamp: String,
        stage: ToolCallStage,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    #[serde(rename = "vector_summary")]
    VectorSummary {
        files: Vec<FileSummary>,
    },
    Answer {
        text: String,
    },
    /// Last frame of a successful turn.
    Final {
        conversation_id: ConversationId,
        model_id: String,
        segments: Vec<Segment>,
        usage: Option<TokenUsage>,
        /// Results of the checks of the final answer's citations, in its order.
        citations: Vec<CheckedCitation>,
    },
    /// Last frame of a failed turn.
    Error {
        code: String,
        message: String,
        hint: String,
        conversation_id: ConversationId,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ToolOrigin {
    pub source: ToolEntrySource,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
}

impl ChatFrame {
    pub(super) const NAMES: [&str; 9] = [
        "thread", "warning", "thinking", "tool-request", "tool-result", "vector_summary", "answer",
        "final", "error",
    ];

    /// Parses the data of an event; `None` for an unknown name.
    pub fn parse(name: &str, data: &str) -> serde_json::Result<Option<Self>> {
        if !Self::NAMES.contains(&name) {
            return Ok(None);
        }
        let data: Value = serde_json::from_str(data)?;
        serde_json::from_value(json!({ "name": name, "data": data })).map(Some)
    }

    pub(super) fn from_event(event: ChatEvent) -> Self {
        match event {
            ChatEvent::Thread { conversation, model_id } => {
                Self::Thread { conversation_id: conversation, model_id }
            }
            ChatEvent::Warning { text } => Self::Warning { message: text },
            ChatEvent::Thinking { text } => Self::Thinking { text },
            ChatEvent::ToolRequest { call_id, name, source, timestamp, parameters } => {
                let (origin, timestamp) = (ToolOrigin::from(&source), timestamp.to_string());
                Self::ToolRequest { call_id, name, origin, timestamp, parameters }
            }
            ChatEvent::ToolResult { call_id, name, source, timestamp, stage, result, error } => {
                let (origin, timestamp) = (ToolOrigin::from(&source), timestamp.to_string());
                Self::ToolResult { call_id, name, origin, timestamp, stage, result, error }
            }
            ChatEvent::VectorSummary { files } => Self::VectorSummary { files },
            ChatEvent::Answer { text } => Self::Answer { text },
            ChatEvent::Ended(outcome) => Self::from_outcome(outcome),
        }
    }

    fn from_outcome(outcome: TurnOutcome) -> Self {
        let TurnOutcome { conversation, model_id, segments, usage, citations, failure } = outcome;
        let conversation_id = conversation;
        match failure {
            Some(TurnFailure { code, message, hint }) => {
                Self::Error { code: code.to_string(), message, hint, conversation_id }
            }
            None => Self::Final { conversation_id, model_id, segments, usage, citations },
        }
    }

    /// Returns the name and the data. Every frame has a JSON form.
    pub fn into_parts(self) -> (&'static str, Value) {
        let mut frame = json!(self);
        let name = frame.get("name").and_then(Value::as_str).unwrap_or_default();
        let known = Self::NAMES.into_iter().find(|known| *known == name);
        (known.unwrap_or_default(), frame.get_mut("data").map(Value::take).unwrap_or_default())
    }
}

impl From<&ToolOwner> for ToolOrigin {
    fn from(owner: &ToolOwner) -> Self {
        let source = match owner {
            ToolOwner::Local => ToolEntrySource::Local,
            ToolOwner::Mcp(_) => ToolEntrySource::Mcp,
        };
        Self { source, toolkit: owner.toolkit().map(ToString::to_string) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeinfo_core::{Timestamp, error::ErrorCode};

    #[test]
    fn a_frame_has_a_name_and_its_members_in_order() {
        let source = ToolOwner::Mcp("git".parse().unwrap());
        let conversation: ConversationId = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17".parse().unwrap();
        let failure =
            TurnFailure { code: ErrorCode::Busy, message: "m".to_owned(), hint: "h".to_owned() };
        let outcome = TurnOutcome {
            conversation,
            model_id: "x".to_owned(),
            segments: Vec::new(),
            usage: None,
            citations: Vec::new(),
            failure: None,
        };
        for (event, name, data) in [
            (
                ChatEvent::ToolRequest {
                    call_id: "c".to_owned(),
                    name: "log".to_owned(),
                    source: source.clone(),
                    timestamp: Timestamp::EPOCH,
                    parameters: json!({ "n": 1 }),
                },
                "tool-request",
                r#"{"callId":"c","name":"log","source":"mcp","toolkit":"git","timestamp":"1970-01-01T00:00:00.000Z","parameters":{"n":1}}"#,
            ),
            (
                ChatEvent::ToolResult {
                    call_id: "c".to_owned(),
                    name: "log".to_owned(),
                    source: ToolOwner::Local,
                    timestamp: Timestamp::EPOCH,
                    stage: ToolCallStage::Error,
                    result: None,
                    error: Some("gone".to_owned()),
                },
                "tool-result",
                r#"{"callId":"c","name":"log","source":"local","timestamp":"1970-01-01T00:00:00.000Z","stage":"error","error":"gone"}"#,
            ),
            (ChatEvent::VectorSummary { files: Vec::new() }, "vector_summary", r#"{"files":[]}"#),
            (ChatEvent::Warning { text: "w".to_owned() }, "warning", r#"{"message":"w"}"#),
            (
                ChatEvent::Ended(outcome.clone()),
                "final",
                r#"{"conversationId":"0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17","modelId":"x","segments":[],"usage":null,"citations":[]}"#,
            ),
            (
                ChatEvent::Ended(TurnOutcome { failure: Some(failure), ..outcome }),
                "error",
                r#"{"code":"BUSY","message":"m","hint":"h","conversationId":"0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17"}"#,
            ),
        ] {
            let (its_name, its_data) = ChatFrame::from_event(event).into_parts();
            assert_eq!((its_name, its_data.to_string().as_str()), (name, data));
            let parsed = ChatFrame::parse(name, data).unwrap().unwrap();
            assert_eq!(parsed.into_parts(), (name, its_data));
        }
        assert!(ChatFrame::parse("question", "{}").unwrap().is_none());
    }
}
