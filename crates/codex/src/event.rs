//! Parses notifications of Codex into events of a turn, and bounds their size.

#![warn(clippy::wildcard_enum_match_arm)]

mod item;

use codeinfo_core::{ConversationId, MAX_TOOL_VALUE_BYTES, truncate_marked};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::TurnError;

/// Event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum CodexEvent {
    ToolStarted(CodexToolCall),
    ToolEnded(CodexToolCall),
    /// Part of a reasoning summary, or of raw reasoning if there is no summary.
    ThinkingDelta {
        item: String,
        part: u64,
        text: String,
    },
    /// A reasoning item is complete; its text may be blank.
    Thinking {
        item: String,
        text: String,
    },
    AnswerDelta {
        item: String,
        text: String,
    },
    Answer {
        item: String,
        text: String,
    },
    /// The model began work that no segment shows: a subagent or a pause.
    Unseen {
        kind: String,
    },
    /// Tokens were counted. Codex repeats the last count when a response fails.
    Counted {
        thread_total: u64,
        last: TokenUsage,
    },
    /// Another model answers from now on.
    Rerouted {
        model: String,
    },
    /// The response failed and is requested again.
    Retrying,
    Ended(CodexTurnEnd),
}

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexTurnEnd {
    Completed,
    Interrupted,
    Failed(TurnError),
    /// The Codex process is gone, or its events came too fast. The text says which and is safe to show.
    Lost(String),
}

/// Tool call by the model.
#[derive(Debug, Clone, PartialEq)]
pub struct CodexToolCall {
    pub call_id: String,
    /// Name of the MCP server, or `codex` for Codex's own tools.
    pub source: String,
    pub name: String,
    pub parameters: Value,
    /// Result or error; `None` while the call runs.
    pub outcome: Option<Result<Value, String>>,
}

/// Tokens spent, as counted by Codex. The field names are part of the `POST /chat` contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
    pub total_tokens: u64,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_output_tokens += other.reasoning_output_tokens;
        self.total_tokens += other.total_tokens;
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CodexNotification {
    pub(super) thread: ConversationId,
    pub(super) turn: Option<String>,
    pub(super) event: CodexEvent,
}

/// Error for a notification or item of unknown kind or form, sent by a newer Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnknownNotification;

/// Parses the notification `method` with its `params`; returns `None` for ignored ones.
pub(super) fn parse_notification(
    method: &str,
    params: &Value,
) -> Result<Option<CodexNotification>, UnknownNotification> {
    let event = match method {
        "item/started" => {
            item::parse_item(params)?.filter(|event| is_tool_start(event) || is_unseen(event))
        }
        "item/completed" => item::parse_item(params)?.filter(|event| !is_tool_start(event)),
        "item/reasoning/summaryTextDelta" => Some(thinking_delta(params, "summaryIndex")?),
        "item/reasoning/textDelta" => Some(thinking_delta(params, "contentIndex")?),
        "item/agentMessage/delta" => Some(answer_delta(params)?),
        "thread/tokenUsage/updated" => Some(parse_token_count(params)?),
        "model/rerouted" => Some(CodexEvent::Rerouted { model: require_text(params, "/toModel")? }),
        // `turn/completed` reports an error that ends the turn.
        "error" if params.get("willRetry") == Some(&Value::Bool(true)) => {
            Some(CodexEvent::Retrying)
        }
        "error" => None,
        "turn/completed" => Some(parse_turn_end(params)?),
        _ if is_ignored(method) => None,
        _ => return Err(UnknownNotification),
    };
    let Some(event) = event else { return Ok(None) };
    let thread = require_text(params, "/threadId")?.parse().map_err(|_| UnknownNotification)?;
    let turn = find_text(params, "/turnId").or_else(|| find_text(params, "/turn/id"));
    Ok(Some(CodexNotification { thread, turn, event }))
}

/// Parses the name of the permission profile that is now in force in a thread.
pub(super) fn read_permissions(method: &str, params: &Value) -> Option<(ConversationId, String)> {
    let settings = params.get("threadSettings").filter(|_| method == "thread/settings/updated")?;
    let profile = find_text(settings, "/activePermissionProfile/id")?;
    Some((find_text(params, "/threadId")?.parse().ok()?, profile))
}

/// Returns true for known notifications that do not concern the model's work.
fn is_ignored(method: &str) -> bool {
    const PREFIXES: &str = "account/ app/ command/ configWarning deprecationNotice fs/ guardianWarning hook/ \
        item/autoApprovalReview/ item/commandExecution/ item/fileChange/ item/mcpToolCall/ \
        item/plan/ item/reasoning/summaryPartAdded mcpServer/ model/ modelProvider/ process/ \
        remoteControl/ skills/ thread/ turn/";
    method == "warning"
        || method == "serverRequest/resolved"
        || PREFIXES.split(' ').any(|prefix| method.starts_with(prefix))
}

fn is_tool_start(event: &CodexEvent) -> bool {
    matches!(event, CodexEvent::ToolStarted(_))
}

fn is_unseen(event: &CodexEvent) -> bool {
    matches!(event, CodexEvent::Unseen { .. })
}

fn thinking_delta(params: &Value, index: &str) -> Result<CodexEvent, UnknownNotification> {
    Ok(CodexEvent::ThinkingDelta {
        item: require_text(params, "/itemId")?,
        part: params.get(index).and_then(Value::as_u64).ok_or(UnknownNotification)?,
        text: truncate_text(require_text(params, "/delta")?),
    })
}

fn answer_delta(params: &Value) -> Result<CodexEvent, UnknownNotification> {
    let delta = truncate_text(require_text(params, "/delta")?);
    Ok(CodexEvent::AnswerDelta { item: require_text(params, "/itemId")?, text: delta })
}

fn parse_token_count(params: &Value) -> Result<CodexEvent, UnknownNotification> {
    let total = params.pointer("/tokenUsage/total/totalTokens").and_then(Value::as_u64);
    let last = params.pointer("/tokenUsage/last").ok_or(UnknownNotification)?;
    Ok(CodexEvent::Counted {
        thread_total: total.ok_or(UnknownNotification)?,
        last: TokenUsage::deserialize(last).map_err(|_| UnknownNotification)?,
    })
}

fn parse_turn_end(params: &Value) -> Result<CodexEvent, UnknownNotification> {
    let ending = match require_text(params, "/turn/status")?.as_str() {
        "completed" => CodexTurnEnd::Completed,
        "interrupted" => CodexTurnEnd::Interrupted,
        "failed" => CodexTurnEnd::Failed(TurnError::from_json(
            params.pointer("/turn/error").unwrap_or(&Value::Null),
        )),
        _ => return Err(UnknownNotification),
    };
    Ok(CodexEvent::Ended(ending))
}

fn require_text(value: &Value, pointer: &str) -> Result<String, UnknownNotification> {
    find_text(value, pointer).ok_or(UnknownNotification)
}

fn find_text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// Maximum bytes of an event's text. The cut leaves no mark: code that shows texts has lower bounds.
pub const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// Bytes counted for each value in addition to its text.
const ENTRY_BYTES: usize = 16;

/// Cuts a text to [`MAX_TEXT_BYTES`] at a character boundary.
pub(super) fn truncate_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// Cuts a JSON value to about [`MAX_TOOL_VALUE_BYTES`], with a mark at the cut text and without what follows.
pub(super) fn truncate_value(mut value: Value) -> Value {
    truncate_within(&mut value, &mut MAX_TOOL_VALUE_BYTES.clone());
    value
}

fn truncate_within(value: &mut Value, room: &mut usize) {
    *room = room.saturating_sub(ENTRY_BYTES);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if text.len() > *room {
                truncate_marked(text, *room);
                *room = 0;
            } else {
                *room -= text.len();
            }
        }
        Value::Array(elements) => {
            elements.retain_mut(|element| {
                let fits = *room > 0;
                if fits {
                    truncate_within(element, room);
                }
                fits
            });
        }
        Value::Object(members) => members.retain(|name, member| {
            let fits = *room > name.len();
            if fits {
                *room -= name.len();
                truncate_within(member, room);
            }
            fits
        }),
    }
}

impl CodexEvent {
    pub(crate) fn estimated_bytes(&self) -> usize {
        match self {
            Self::ToolStarted(tool) | Self::ToolEnded(tool) => tool.estimated_bytes(),
            Self::ThinkingDelta { item, text, .. }
            | Self::Thinking { item, text }
            | Self::AnswerDelta { item, text }
            | Self::Answer { item, text } => item.len() + text.len(),
            Self::Rerouted { model } => model.len(),
            Self::Unseen { kind } => kind.len(),
            Self::Counted { .. } | Self::Retrying | Self::Ended(_) => 0,
        }
    }
}

impl CodexToolCall {
    fn estimated_bytes(&self) -> usize {
        let outcome = match &self.outcome {
            Some(Ok(result)) => estimate_value_bytes(result),
            Some(Err(error)) => error.len(),
            None => 0,
        };
        self.call_id.len() + self.name.len() + estimate_value_bytes(&self.parameters) + outcome
    }
}

pub(super) fn estimate_value_bytes(value: &Value) -> usize {
    ENTRY_BYTES
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(elements) => elements.iter().map(estimate_value_bytes).sum(),
            Value::Object(members) => {
                members.iter().map(|(name, member)| name.len() + estimate_value_bytes(member)).sum()
            }
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeinfo_core::CUT_MARK;
    use serde_json::json;

    const THREAD: &str = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17";

    fn completed(item: &Value) -> Result<Option<CodexEvent>, UnknownNotification> {
        let params = json!({ "threadId": THREAD, "turnId": "t", "item": item });
        Ok(parse_notification("item/completed", &params)?.map(|notice| notice.event))
    }

    #[test]
    fn what_is_not_known_is_told_from_what_is_of_no_interest() {
        assert_eq!(completed(&json!({ "type": "plan", "id": "i" })), Ok(None));
        for kind in ["collabAgentToolCall", "subAgentActivity", "sleep"] {
            let unseen = Ok(Some(CodexEvent::Unseen { kind: kind.to_owned() }));
            assert_eq!(completed(&json!({ "type": kind, "id": "i" })), unseen);
        }
        assert_eq!(completed(&json!({ "type": "dream", "id": "i" })), Err(UnknownNotification));
        assert_eq!(parse_notification("thread/moved", &json!({})), Ok(None));
        assert_eq!(parse_notification("brandNew/thing", &json!({})), Err(UnknownNotification));
        assert_eq!(
            parse_notification("turn/completed", &json!({ "threadId": THREAD })),
            Err(UnknownNotification)
        );
    }

    #[test]
    fn raw_reasoning_stands_in_for_a_summary() {
        let thinking = |summary: Value, content: Value| {
            let item =
                json!({ "type": "reasoning", "id": "r", "summary": summary, "content": content });
            completed(&item)
        };
        let expected = |text: &str| {
            Ok(Some(CodexEvent::Thinking { item: "r".to_owned(), text: text.to_owned() }))
        };
        assert_eq!(thinking(json!(["a", " ", "b"]), json!(["raw"])), expected("a\n\nb"));
        assert_eq!(thinking(json!([]), json!(["raw"])), expected("raw"));
    }

    #[test]
    fn usage_has_its_wire_form() {
        let usage = TokenUsage { input_tokens: 3, total_tokens: 5, ..TokenUsage::default() };
        assert_eq!(
            json!(usage).to_string(),
            r#"{"inputTokens":3,"cachedInputTokens":0,"outputTokens":0,"reasoningOutputTokens":0,"totalTokens":5}"#
        );
    }

    #[test]
    fn values_are_cut_where_they_get_too_large_and_marked() {
        let small = json!({ "a": ["b", 1, null, { "c": true }] });
        assert_eq!(truncate_value(small.clone()), small);
        let long = "é".repeat(MAX_TOOL_VALUE_BYTES);
        let many: Vec<Value> = (0..MAX_TOOL_VALUE_BYTES).map(Value::from).collect();
        for large in [
            json!({ "content": [{ "text": long }, { "text": "more" }] }),
            json!({ "a": long, "b": long }),
            json!([long, long]),
            json!(long),
        ] {
            let cut = truncate_value(large);
            assert!(
                cut.to_string().contains(CUT_MARK)
                    && estimate_value_bytes(&cut) < MAX_TOOL_VALUE_BYTES + 200,
                "{}",
                estimate_value_bytes(&cut)
            );
        }
        assert!(
            estimate_value_bytes(&truncate_value(json!(many)))
                <= MAX_TOOL_VALUE_BYTES + ENTRY_BYTES
        );
        assert_eq!(truncate_text("é".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
    }
}
