//! Codex's notifications as events of a turn. Nothing here knows what becomes of them.
#![warn(clippy::wildcard_enum_match_arm)]

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fault::Fault;
use crate::domain::ConversationId;

/// What happened in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A tool call began.
    ToolStarted(Tool),
    /// A tool call ended.
    ToolEnded(Tool),
    /// A piece of a reasoning summary, or of raw reasoning where there is no summary.
    ThinkingDelta { item: String, part: u64, text: String },
    /// A reasoning item is whole; its text may be blank.
    Thinking { item: String, text: String },
    /// A piece of a message.
    AnswerDelta { item: String, text: String },
    /// A message is whole.
    Answer { item: String, text: String },
    /// Tokens were counted. Codex repeats the last count when a response fails.
    Counted { thread_total: u64, last: Usage },
    /// Another model than the one asked for answers from here on.
    Rerouted { model: String },
    /// The response failed and is asked for again.
    Retrying,
    /// The turn is over.
    Ended(Ending),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Interrupted,
    Failed(Fault),
    /// The Codex process is gone, or its events came faster than they were taken.
    Lost,
}

/// A call of a tool by the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub call_id: String,
    /// The MCP server, or `codex` for Codex's own tools.
    pub source: String,
    pub name: String,
    pub parameters: Value,
    /// What came out; `None` while it runs.
    pub outcome: Option<Result<Value, String>>,
}

/// Tokens spent, as Codex counts them. Field names are a wire promise of `POST /chat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
    pub total_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_output_tokens += other.reasoning_output_tokens;
        self.total_tokens += other.total_tokens;
    }
}

/// What to do with a notification.
#[derive(Debug, PartialEq)]
pub(super) enum Reading {
    /// It belongs to a thread, and to a turn where it names one.
    Event { thread: ConversationId, turn: Option<String>, event: Event },
    /// Known, and of no interest.
    Ignored,
    /// Not known, or not in the known form: Codex is newer than this program.
    Unknown,
}

/// Reads the notification `method` with its `params`.
pub(super) fn read(method: &str, params: &Value) -> Reading {
    let event = match method {
        "item/started" => item(params).map(|item| item.filter(is_tool_start)),
        "item/completed" => item(params).map(|item| item.filter(|item| !is_tool_start(item))),
        "item/reasoning/summaryTextDelta" => thinking_delta(params, "summaryIndex").map(Some),
        "item/reasoning/textDelta" => thinking_delta(params, "contentIndex").map(Some),
        "item/agentMessage/delta" => answer_delta(params).map(Some),
        "thread/tokenUsage/updated" => counted(params).map(Some),
        "model/rerouted" => text(params, "/toModel").map(|model| Some(Event::Rerouted { model })),
        "error" => Some(retrying(params)),
        "turn/completed" => ended(params).map(Some),
        _ if is_ignored(method) => Some(None),
        _ => None,
    };
    match event {
        None => Reading::Unknown,
        Some(None) => Reading::Ignored,
        Some(Some(event)) => match text(params, "/threadId").and_then(|id| id.parse().ok()) {
            None => Reading::Unknown,
            Some(thread) => {
                let turn = text(params, "/turnId").or_else(|| text(params, "/turn/id"));
                Reading::Event { thread, turn, event }
            }
        },
    }
}

/// Notifications that are known to say nothing about what the model did.
fn is_ignored(method: &str) -> bool {
    const FAMILIES: [&str; 22] = [
        "account/",
        "app/",
        "command/",
        "configWarning",
        "deprecationNotice",
        "fs/",
        "guardianWarning",
        "hook/",
        "item/autoApprovalReview/",
        "item/commandExecution/",
        "item/fileChange/",
        "item/mcpToolCall/",
        "item/plan/",
        "item/reasoning/summaryPartAdded",
        "mcpServer/",
        "model/",
        "modelProvider/",
        "process/",
        "remoteControl/",
        "skills/",
        "thread/",
        "turn/",
    ];
    method == "warning"
        || method == "serverRequest/resolved"
        || FAMILIES.iter().any(|family| method.starts_with(family))
}

/// Reads an item; `Some(None)` for a kind of no interest, `None` for an unknown kind.
fn item(params: &Value) -> Option<Option<Event>> {
    let item = params.get("item")?;
    let id = text(item, "/id")?;
    let event = match item.get("type")?.as_str()? {
        "agentMessage" => Event::Answer { item: id, text: text(item, "/text")? },
        "reasoning" => Event::Thinking { item: id, text: reasoning(item) },
        "mcpToolCall" => tool(mcp_call(id, item)?),
        "commandExecution" => tool(command(id, item)),
        "fileChange" => {
            let outcome =
                outcome(item, "the change was not applied").map(|done| done.map(|()| Value::Null));
            tool(own_tool(id, "apply_patch", json!({ "changes": item.get("changes") }), outcome))
        }
        "webSearch" => tool(web_search(id, item, params)),
        "userMessage"
        | "hookPrompt"
        | "functionCallOutput"
        | "plan"
        | "dynamicToolCall"
        | "collabAgentToolCall"
        | "subAgentActivity"
        | "imageView"
        | "sleep"
        | "imageGeneration"
        | "enteredReviewMode"
        | "exitedReviewMode"
        | "contextCompaction" => {
            return Some(None);
        }
        _ => return None,
    };
    Some(Some(event))
}

fn tool(tool: Tool) -> Event {
    match tool.outcome {
        None => Event::ToolStarted(tool),
        Some(_) => Event::ToolEnded(tool),
    }
}

fn is_tool_start(event: &Event) -> bool {
    matches!(event, Event::ToolStarted(_))
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

fn mcp_call(call_id: String, item: &Value) -> Option<Tool> {
    let outcome = match item.get("status")?.as_str()? {
        "inProgress" => None,
        "completed" => Some(Ok(item.get("result").cloned().unwrap_or_default())),
        _ => Some(Err(mcp_failure(item))),
    };
    Some(Tool {
        call_id,
        source: text(item, "/server")?,
        name: text(item, "/tool")?,
        parameters: item.get("arguments").cloned().unwrap_or_default(),
        outcome,
    })
}

/// A call fails by a protocol error, or with a result that says it is one.
fn mcp_failure(item: &Value) -> String {
    text(item, "/error/message")
        .or_else(|| text(item, "/result/content/0/text"))
        .unwrap_or_else(|| "the tool failed without saying why".to_owned())
}

fn command(call_id: String, item: &Value) -> Tool {
    let parameters = json!({ "command": item.get("command"), "cwd": item.get("cwd") });
    let result =
        json!({ "exitCode": item.get("exitCode"), "output": item.get("aggregatedOutput") });
    // A command that fails has an exit code and an output too, which tell more than `failed`.
    let outcome = match item.get("status").and_then(Value::as_str) {
        Some("declined") => Some(Err("the command was declined".to_owned())),
        Some("inProgress") | None => None,
        Some(_) => Some(Ok(result)),
    };
    own_tool(call_id, "shell", parameters, outcome)
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
    Tool { call_id, source: "codex".to_owned(), name: name.to_owned(), parameters, outcome }
}

fn outcome(item: &Value, failure: &str) -> Option<Result<(), String>> {
    match item.get("status").and_then(Value::as_str) {
        Some("inProgress") | None => None,
        Some("completed") => Some(Ok(())),
        Some(_) => Some(Err(failure.to_owned())),
    }
}

fn thinking_delta(params: &Value, index: &str) -> Option<Event> {
    Some(Event::ThinkingDelta {
        item: text(params, "/itemId")?,
        part: params.get(index)?.as_u64()?,
        text: text(params, "/delta")?,
    })
}

fn answer_delta(params: &Value) -> Option<Event> {
    Some(Event::AnswerDelta { item: text(params, "/itemId")?, text: text(params, "/delta")? })
}

fn counted(params: &Value) -> Option<Event> {
    Some(Event::Counted {
        thread_total: params.pointer("/tokenUsage/total/totalTokens")?.as_u64()?,
        last: Usage::deserialize(params.pointer("/tokenUsage/last")?).ok()?,
    })
}

/// An error that ends the turn is told again by `turn/completed`.
fn retrying(params: &Value) -> Option<Event> {
    let retries = params.get("willRetry").and_then(Value::as_bool).unwrap_or(false);
    retries.then_some(Event::Retrying)
}

fn ended(params: &Value) -> Option<Event> {
    let turn = params.get("turn")?;
    let ending = match turn.get("status")?.as_str()? {
        "completed" => Ending::Completed,
        "interrupted" => Ending::Interrupted,
        "failed" => Ending::Failed(Fault::read(turn.get("error").unwrap_or(&Value::Null))),
        _ => return None,
    };
    Some(Event::Ended(ending))
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}
