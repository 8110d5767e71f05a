//! What the model says and calls as the Messages API streams it, for clients that speak it.

use serde_json::{Value, json};

use super::Item;

/// Returns the stream of a message with the last of `items`, which is said or called.
pub(super) fn stream_message(number: usize, items: &[Item]) -> String {
    let (block, delta, reason) = match items.last() {
        Some(Item::Calls(_, name, arguments)) => (
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": arguments.to_string() }),
            "tool_use",
        ),
        Some(Item::Says(text)) => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        other => panic!("no message of this API: {other:?}"),
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "mock-model",
        "content": [], "stop_reason": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ];
    let write =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(write).collect()
}
