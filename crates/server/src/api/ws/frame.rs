//! Frames of `/ws`.

use codeinfo_chat::{ChatEvent, TurnFailure, TurnOutcome};
use codeinfo_core::{CUT_MARK, ConversationId, MAX_TOOL_VALUE_BYTES, truncate_marked};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::api::chat_frame::ToolOrigin;

/// Frame to a client. Names and order of members are a wire promise.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WebSocketFrame {
    ToolStart {
        tool_name: String,
        tool_input: String,
        #[serde(flatten)]
        origin: ToolOrigin,
        timestamp: String,
    },
    ToolComplete {
        tool_name: String,
        /// Result that the model received, or the reason why it is missing.
        tool_result: String,
        #[serde(flatten)]
        origin: ToolOrigin,
        timestamp: String,
    },
    /// Something that the turn must do without.
    Warning {
        message: String,
    },
    Thinking {
        content: String,
    },
    /// A whole message of the model.
    Token {
        content: String,
    },
    /// End of a successful turn.
    Complete {
        message_id: Uuid,
        conversation_id: ConversationId,
    },
    /// A message was refused, or the turn failed or was stopped.
    Error {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
    },
}

impl WebSocketFrame {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::ToolStart { .. } => "tool_start",
            Self::ToolComplete { .. } => "tool_complete",
            Self::Warning { .. } => "warning",
            Self::Thinking { .. } => "thinking",
            Self::Token { .. } => "token",
            Self::Complete { .. } => "complete",
            Self::Error { .. } => "error",
        }
    }

    pub(super) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::Error { message: message.into(), code: Some(code) }
    }

    pub(super) fn from_event(event: ChatEvent) -> Option<Self> {
        match event {
            ChatEvent::Warning { text } => Some(Self::Warning { message: text }),
            ChatEvent::Thinking { text } => Some(Self::Thinking { content: text }),
            ChatEvent::Answer { text } => Some(Self::Token { content: text }),
            ChatEvent::ToolRequest { name, source, timestamp, parameters, .. } => {
                Some(Self::ToolStart {
                    tool_name: name,
                    tool_input: parameters.to_string(),
                    origin: ToolOrigin::from(&source),
                    timestamp: timestamp.to_string(),
                })
            }
            ChatEvent::ToolResult { name, source, timestamp, result, error, .. } => {
                Some(Self::ToolComplete {
                    tool_name: name,
                    tool_result: truncate_result(
                        error.unwrap_or_else(|| render_tool_result(result.as_ref())),
                    ),
                    origin: ToolOrigin::from(&source),
                    timestamp: timestamp.to_string(),
                })
            }
            ChatEvent::Ended(outcome) => Some(Self::from_outcome(outcome)),
            ChatEvent::Thread { .. } | ChatEvent::VectorSummary { .. } => None,
        }
    }

    fn from_outcome(outcome: TurnOutcome) -> Self {
        match outcome.failure {
            None => {
                Self::Complete { message_id: Uuid::new_v4(), conversation_id: outcome.conversation }
            }
            Some(TurnFailure { code, message, hint }) => {
                Self::error(code.as_str(), format!("{message}; {hint}"))
            }
        }
    }
}

/// Returns a result as the model received it: the texts of an MCP tool, JSON for others.
fn render_tool_result(result: Option<&Value>) -> String {
    let Some(result) = result.filter(|result| !result.is_null()) else { return String::new() };
    let Some(content) = result.get("content").and_then(Value::as_array) else {
        return result.to_string();
    };
    let texts = content.iter().map(|item| {
        let member = |name: &str| item.get(name).and_then(Value::as_str);
        match (member("text"), member("type")) {
            (Some(text), _) => text.to_owned(),
            (None, kind) => format!("[{}]", kind.unwrap_or("unknown")),
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn truncate_result(mut text: String) -> String {
    if text.len() > MAX_TOOL_VALUE_BYTES {
        truncate_marked(&mut text, MAX_TOOL_VALUE_BYTES - CUT_MARK.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codeinfo_chat::{ToolCallStage, ToolOwner};
    use codeinfo_core::Timestamp;

    fn result(result: Value, error: Option<&str>) -> String {
        let event = ChatEvent::ToolResult {
            call_id: "c".to_owned(),
            name: "log".to_owned(),
            source: ToolOwner::Mcp("git".parse().unwrap()),
            timestamp: Timestamp::EPOCH,
            stage: ToolCallStage::Success,
            result: Some(result),
            error: error.map(str::to_owned),
        };
        serde_json::to_string(&WebSocketFrame::from_event(event).unwrap()).unwrap()
    }

    #[test]
    fn members_stand_in_their_order() {
        let event = ChatEvent::ToolRequest {
            call_id: "c".to_owned(),
            name: "log".to_owned(),
            source: ToolOwner::Mcp("git".parse().unwrap()),
            timestamp: Timestamp::EPOCH,
            parameters: json!({ "n": "1" }),
        };
        assert_eq!(
            serde_json::to_string(&WebSocketFrame::from_event(event).unwrap()).unwrap(),
            r#"{"type":"tool_start","tool_name":"log","tool_input":"{\"n\":\"1\"}","source":"mcp","toolkit":"git","timestamp":"1970-01-01T00:00:00.000Z"}"#
        );
        let texts = [json!({ "type": "text", "text": "a" }), json!({ "type": "image" })];
        assert_eq!(
            result(json!({ "content": texts }), None),
            r#"{"type":"tool_complete","tool_name":"log","tool_result":"a\n[image]","source":"mcp","toolkit":"git","timestamp":"1970-01-01T00:00:00.000Z"}"#
        );
        assert!(result(json!({}), Some("gone")).contains(r#""tool_result":"gone","source""#));
        assert!(result(Value::Null, None).contains(r#""tool_result":"","source""#));
        assert!(result(json!({ "exitCode": 0 }), None).contains(r#"{\"exitCode\":0}"#));
    }

    #[test]
    fn a_long_result_is_cut_between_two_characters() {
        let long = truncate_result("ü".repeat(MAX_TOOL_VALUE_BYTES));
        assert!(long.len() <= MAX_TOOL_VALUE_BYTES && long.ends_with(CUT_MARK));
        let whole = "x".repeat(MAX_TOOL_VALUE_BYTES);
        assert_eq!(truncate_result(whole.clone()), whole);
    }
}
