//! Bounds the size of each event.

use codeinfo_core::{MAX_TOOL_VALUE_BYTES, truncate_marked};
use serde_json::Value;

use super::{CodexEvent, CodexToolCall};

/// Maximum bytes of an event's text. The cut leaves no mark: code that shows texts has lower bounds and detects
/// the excess itself.
pub const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// Bytes counted for each value in addition to its text.
const ENTRY_BYTES: usize = 16;

/// Cuts a text to [`MAX_TEXT_BYTES`] at a character boundary.
pub(super) fn truncate_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// Cuts a JSON value to about [`MAX_TOOL_VALUE_BYTES`]. The text that exceeds the limit is cut and marked, and all
/// later entries are left out.
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
    /// Returns the approximate size of the event in bytes.
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

/// Returns the approximate size of a value in bytes.
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
    use codeinfo_core::CUT_MARK;
    use serde_json::json;

    use super::*;

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
