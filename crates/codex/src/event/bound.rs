//! How much of what Codex says is kept of one event, whatever it says.

use serde_json::Value;

use super::{CodexEvent, CodexToolCall};

/// Most bytes of the text of one event. It is cut without a mark: what shows texts bounds them
/// lower, and so sees that there was more.
pub const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// Most bytes that are kept of the parameters of a tool call, and of its result: more than the model
/// is given of it, which is 48,000 bytes.
pub(super) const MAX_TOOL_BYTES: usize = 64 * 1024;
/// What stands where something was left out.
const CUT: &str = "[cut: more than 64 KiB]";
/// What one entry of a value costs beside its text.
const ENTRY_BYTES: usize = 16;

/// Cuts a text that is too long, between two characters.
pub(super) fn truncate_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// Cuts a JSON value that is too large: the last text that finds room is cut and marked, and what
/// follows it is left out.
pub(super) fn truncate_value(mut value: Value) -> Value {
    truncate_within(&mut value, &mut MAX_TOOL_BYTES.clone());
    value
}

fn truncate_within(value: &mut Value, room: &mut usize) {
    *room = room.saturating_sub(ENTRY_BYTES);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if text.len() > *room {
                text.truncate(text.floor_char_boundary(*room));
                text.push_str(CUT);
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
    /// Returns about how many bytes the event holds.
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

/// Returns about how many bytes a value holds.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_cut_where_they_get_too_large_and_marked() {
        let small = json!({ "a": ["b", 1, null, { "c": true }] });
        assert_eq!(truncate_value(small.clone()), small);
        let long = "é".repeat(MAX_TOOL_BYTES);
        let many: Vec<Value> = (0..MAX_TOOL_BYTES).map(Value::from).collect();
        for large in [
            json!({ "content": [{ "text": long }, { "text": "more" }] }),
            json!({ "a": long, "b": long }),
            json!([long, long]),
            json!(long),
        ] {
            let cut = truncate_value(large);
            assert!(
                cut.to_string().contains(CUT) && estimate_value_bytes(&cut) < MAX_TOOL_BYTES + 200,
                "{}",
                estimate_value_bytes(&cut)
            );
        }
        assert!(estimate_value_bytes(&truncate_value(json!(many))) <= MAX_TOOL_BYTES + ENTRY_BYTES);
        assert_eq!(truncate_text("é".repeat(MAX_TEXT_BYTES)).len(), MAX_TEXT_BYTES);
    }
}
