//! Parses items of Codex: messages, reasoning and the kinds of tool calls.
#![warn(clippy::wildcard_enum_match_arm)]

use serde_json::{Value, json};

use super::{
    CodexEvent, CodexToolCall, MAX_TEXT_BYTES, UnknownNotification, estimate_value_bytes,
    find_text, require_text, truncate_text, truncate_value,
};

const OWN: &str = "codex";
const SHELL: &str = "shell";

/// Parses an item; returns `None` for ignored kinds.
pub(super) fn parse_item(params: &Value) -> Result<Option<CodexEvent>, UnknownNotification> {
    let item = params.get("item").ok_or(UnknownNotification)?;
    let id = require_text(item, "/id")?;
    let event = match require_text(item, "/type")?.as_str() {
        "agentMessage" => {
            CodexEvent::Answer { item: id, text: truncate_text(require_text(item, "/text")?) }
        }
        "reasoning" => CodexEvent::Thinking { item: id, text: truncate_text(join_reasoning(item)) },
        "mcpToolCall" => build_tool_event(mcp_call(id, item)?),
        "commandExecution" => build_tool_event(parse_command(id, item)),
        "fileChange" => {
            let outcome = parse_outcome(item, "the change was not applied")
                .map(|done| done.map(|()| Value::Null));
            build_tool_event(own_tool(
                id,
                "apply_patch",
                json!({ "changes": item.get("changes") }),
                outcome,
            ))
        }
        "webSearch" => build_tool_event(web_search(id, item, params)),
        kind @ ("collabAgentToolCall" | "subAgentActivity" | "sleep") => {
            CodexEvent::Unseen { kind: kind.to_owned() }
        }
        "userMessage" | "hookPrompt" | "functionCallOutput" | "plan" | "dynamicToolCall"
        | "imageView" | "imageGeneration" | "enteredReviewMode" | "exitedReviewMode"
        | "contextCompaction" => {
            return Ok(None);
        }
        _ => return Err(UnknownNotification),
    };
    Ok(Some(event))
}

fn build_tool_event(tool: CodexToolCall) -> CodexEvent {
    match tool.outcome {
        None => CodexEvent::ToolStarted(tool),
        Some(_) => CodexEvent::ToolEnded(tool),
    }
}

/// Uses the summary, else the raw text that some providers send.
fn join_reasoning(item: &Value) -> String {
    let parts = |field: &str| -> Vec<&str> {
        let parts = item.get(field).and_then(Value::as_array).into_iter().flatten();
        parts.filter_map(Value::as_str).filter(|part| !part.trim().is_empty()).collect()
    };
    let summary = parts("summary");
    if summary.is_empty() { parts("content") } else { summary }.join("\n\n")
}

fn mcp_call(call_id: String, item: &Value) -> Result<CodexToolCall, UnknownNotification> {
    let outcome = match require_text(item, "/status")?.as_str() {
        "inProgress" => None,
        "completed" => Some(Ok(mcp_result(item.get("result").cloned().unwrap_or_default()))),
        _ => Some(Err(truncate_text(mcp_failure(item)))),
    };
    Ok(CodexToolCall {
        call_id,
        source: require_text(item, "/server")?,
        name: require_text(item, "/tool")?,
        parameters: truncate_value(item.get("arguments").cloned().unwrap_or_default()),
        outcome,
    })
}

/// Truncates the model's part of the result; keeps the server's `_meta` whole or drops it, as a cut breaks it.
fn mcp_result(mut result: Value) -> Value {
    let meta = result.as_object_mut().and_then(|members| members.remove("_meta"));
    let kept_meta = meta.filter(|meta| estimate_value_bytes(meta) <= MAX_TEXT_BYTES);
    let mut bounded = truncate_value(result);
    if let (Some(meta), Some(members)) = (kept_meta, bounded.as_object_mut()) {
        members.insert("_meta".to_owned(), meta);
    }
    bounded
}

/// Returns the message of a failed call, from a protocol error or an error result.
fn mcp_failure(item: &Value) -> String {
    find_text(item, "/error/message")
        .or_else(|| find_text(item, "/result/content/0/text"))
        .unwrap_or_else(|| "the tool failed without saying why".to_owned())
}

fn parse_command(call_id: String, item: &Value) -> CodexToolCall {
    let parameters = json!({ "command": item.get("command"), "cwd": item.get("cwd") });
    let result =
        json!({ "exitCode": item.get("exitCode"), "output": item.get("aggregatedOutput") });
    // A failed command has an exit code and an output, which say more than `failed`.
    let outcome = match item.get("status").and_then(Value::as_str) {
        Some("declined") => Some(Err("the command was declined".to_owned())),
        Some("inProgress") | None => None,
        Some(_) => Some(Ok(truncate_value(result))),
    };
    own_tool(call_id, SHELL, parameters, outcome)
}

/// A web search has no status: it has ended once its item is completed.
fn web_search(call_id: String, item: &Value, params: &Value) -> CodexToolCall {
    let parameters = json!({ "query": item.get("query"), "action": item.get("action") });
    let completed = params.get("completedAtMs").is_some();
    own_tool(call_id, "web_search", parameters, completed.then_some(Ok(Value::Null)))
}

fn own_tool(
    call_id: String,
    name: &str,
    parameters: Value,
    outcome: Option<Result<Value, String>>,
) -> CodexToolCall {
    let parameters = truncate_value(parameters);
    CodexToolCall { call_id, source: OWN.to_owned(), name: name.to_owned(), parameters, outcome }
}

fn parse_outcome(item: &Value, failure: &str) -> Option<Result<(), String>> {
    match item.get("status").and_then(Value::as_str) {
        Some("inProgress") | None => None,
        Some("completed") => Some(Ok(())),
        Some(_) => Some(Err(failure.to_owned())),
    }
}
