//! Codex's items: messages, reasoning and the many kinds of tool calls.
#![warn(clippy::wildcard_enum_match_arm)]

use serde_json::{Value, json};

use super::{Event, Tool, Unknown, bound, find, text};

/// The source of Codex's own tools.
const OWN: &str = "codex";
/// The name of those that are commands.
const SHELL: &str = "shell";

/// Reads an item; `None` for a kind of no interest.
pub(super) fn read(params: &Value) -> Result<Option<Event>, Unknown> {
    let item = params.get("item").ok_or(Unknown)?;
    let id = text(item, "/id")?;
    let event = match text(item, "/type")?.as_str() {
        "agentMessage" => Event::Answer { item: id, text: bound::text(text(item, "/text")?) },
        "reasoning" => Event::Thinking { item: id, text: bound::text(reasoning(item)) },
        "mcpToolCall" => tool(mcp_call(id, item)?),
        "commandExecution" => tool(command(id, item)),
        "fileChange" => {
            let outcome =
                outcome(item, "the change was not applied").map(|done| done.map(|()| Value::Null));
            tool(own_tool(id, "apply_patch", json!({ "changes": item.get("changes") }), outcome))
        }
        "webSearch" => tool(web_search(id, item, params)),
        kind @ ("collabAgentToolCall" | "subAgentActivity" | "sleep") => {
            Event::Unseen { kind: kind.to_owned() }
        }
        "userMessage" | "hookPrompt" | "functionCallOutput" | "plan" | "dynamicToolCall"
        | "imageView" | "imageGeneration" | "enteredReviewMode" | "exitedReviewMode"
        | "contextCompaction" => {
            return Ok(None);
        }
        _ => return Err(Unknown),
    };
    Ok(Some(event))
}

fn tool(tool: Tool) -> Event {
    match tool.outcome {
        None => Event::ToolStarted(tool),
        Some(_) => Event::ToolEnded(tool),
    }
}

/// Joins the parts of a reasoning item by a blank line: the summary where there is one, else the
/// raw text that some providers give.
fn reasoning(item: &Value) -> String {
    let parts = |field: &str| -> Vec<&str> {
        let parts = item.get(field).and_then(Value::as_array).into_iter().flatten();
        parts.filter_map(Value::as_str).filter(|part| !part.trim().is_empty()).collect()
    };
    let summary = parts("summary");
    if summary.is_empty() { parts("content") } else { summary }.join("\n\n")
}

fn mcp_call(call_id: String, item: &Value) -> Result<Tool, Unknown> {
    let outcome = match text(item, "/status")?.as_str() {
        "inProgress" => None,
        "completed" => Some(Ok(mcp_result(item.get("result").cloned().unwrap_or_default()))),
        _ => Some(Err(bound::text(mcp_failure(item)))),
    };
    Ok(Tool {
        call_id,
        source: text(item, "/server")?,
        name: text(item, "/tool")?,
        parameters: bound::value(item.get("arguments").cloned().unwrap_or_default()),
        outcome,
    })
}

/// What the model was given is bounded; what a server says beside it is whole, or it could not be read.
fn mcp_result(mut result: Value) -> Value {
    let meta = result.as_object_mut().and_then(|members| members.remove("_meta"));
    let meta = meta.filter(|meta| bound::size(meta) <= bound::MAX_TEXT_BYTES);
    let mut result = bound::value(result);
    if let (Some(meta), Some(members)) = (meta, result.as_object_mut()) {
        members.insert("_meta".to_owned(), meta);
    }
    result
}

/// A call fails by a protocol error, or with a result that says it is one.
fn mcp_failure(item: &Value) -> String {
    find(item, "/error/message")
        .or_else(|| find(item, "/result/content/0/text"))
        .unwrap_or_else(|| "the tool failed without saying why".to_owned())
}

fn command(call_id: String, item: &Value) -> Tool {
    let parameters = json!({ "command": item.get("command"), "cwd": item.get("cwd") });
    let result =
        json!({ "exitCode": item.get("exitCode"), "output": item.get("aggregatedOutput") });
    // A command that fails has an exit code and an output too, which say more than `failed`.
    let outcome = match item.get("status").and_then(Value::as_str) {
        Some("declined") => Some(Err("the command was declined".to_owned())),
        Some("inProgress") | None => None,
        Some(_) => Some(Ok(bound::value(result))),
    };
    own_tool(call_id, SHELL, parameters, outcome)
}

/// A web search has no state of its own: it is over when its item is completed.
fn web_search(call_id: String, item: &Value, params: &Value) -> Tool {
    let parameters = json!({ "query": item.get("query"), "action": item.get("action") });
    let completed = params.get("completedAtMs").is_some();
    own_tool(call_id, "web_search", parameters, completed.then_some(Ok(Value::Null)))
}

fn own_tool(
    call_id: String,
    name: &str,
    parameters: Value,
    outcome: Option<Result<Value, String>>,
) -> Tool {
    let parameters = bound::value(parameters);
    Tool { call_id, source: OWN.to_owned(), name: name.to_owned(), parameters, outcome }
}

fn outcome(item: &Value, failure: &str) -> Option<Result<(), String>> {
    match item.get("status").and_then(Value::as_str) {
        Some("inProgress") | None => None,
        Some("completed") => Some(Ok(())),
        Some(_) => Some(Err(failure.to_owned())),
    }
}
