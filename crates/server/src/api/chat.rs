//! `POST /chat`: one turn as server-sent events; and what can be asked with.

use std::path::PathBuf;

use codeinfo_chat::{ChatEvent, Turn, TurnFailure, TurnOutcome, TurnRequest};
use codeinfo_codex::{CodexAvailability, EFFORTS};
use codeinfo_core::{ConversationId, MAX_QUESTION_BYTES, Question};
use codeinfo_http::{AuthContext, Response, reply, sse};
use futures_util::StreamExt;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{debug, error, info};

use super::{
    ApiServices,
    error::{ApiError, note_end},
};
use crate::replies::{
    ChatFrame, ErrorFrame, FilesFrame, FinalFrame, TextFrame, ThreadFrame, ToolOrigin,
    ToolRequestFrame, ToolResultFrame, WarningFrame,
};

/// What a question over `POST /chat` or `/ws` carries.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatArguments {
    #[serde(alias = "content")]
    question: String,
    #[serde(alias = "conversation_id")]
    conversation_id: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    #[serde(alias = "claim_check")]
    claim_check: Option<bool>,
    repository: Option<String>,
    folder: Option<PathBuf>,
    toolkits: Option<Value>,
}

impl ChatArguments {
    /// Returns the id of the conversation to continue, as it was sent.
    pub(super) fn conversation_id(&self) -> Option<&str> {
        self.conversation_id.as_deref()
    }

    /// Returns the question, and what it is confined to.
    pub(super) fn question_and_repository(&self) -> (String, Option<String>) {
        (self.question.clone(), self.repository.clone())
    }
}

pub(super) fn chat_schema() -> Value {
    let name = json!({ "type": "string", "minLength": 1, "maxLength": 200 });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["question"],
        "properties": {
            "question": { "type": "string", "minLength": 1, "maxLength": MAX_QUESTION_BYTES },
            "conversationId": { "type": "string", "minLength": 1 },
            "model": name,
            "effort": { "type": "string", "enum": EFFORTS },
            "claimCheck": { "type": "boolean" },
            // A path, perhaps; its bound is that of the system.
            "repository": { "type": "string", "minLength": 1, "maxLength": 4096 },
            "folder": { "type": "string", "minLength": 1, "maxLength": 4096 },
            // What is in it has a schema of its own.
            "toolkits": { "type": ["object", "array"] },
        },
    })
}

/// Returns the schema of a message over `/ws`: the same members, as far as a message has them, under
/// its names.
pub(super) fn message_schema() -> Value {
    let named = [
        ("question", "content"),
        ("conversationId", "conversation_id"),
        ("claimCheck", "claim_check"),
        ("toolkits", "toolkits"),
    ];
    let (schema, mut properties) = (chat_schema(), json!({ "type": { "type": "string" } }));
    for (name, over_ws) in named {
        let property = schema.pointer(&format!("/properties/{name}")).cloned();
        if let (Some(property), Some(properties)) = (property, properties.as_object_mut()) {
            properties.insert(over_ws.to_owned(), property);
        }
    }
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["type", "content"],
        "properties": properties,
    })
}

/// Asks, and returns the turn that has begun. Whatever keeps it from beginning is a plain reply.
pub(super) async fn ask_question(
    services: &ApiServices,
    arguments: ChatArguments,
    admission: &AuthContext,
) -> Result<Turn, ApiError> {
    let AuthContext { principal, revoked, .. } = admission.clone();
    // Known to be away, Codex comes before the arguments, as it does over MCP.
    if let CodexAvailability::Unavailable(why) = services.chat.codex_presence().await {
        return Err(ApiError::Unavailable(why));
    }
    let question: Question = arguments.question.parse()?;
    let conversation: Option<ConversationId> =
        arguments.conversation_id.map(|id| id.parse()).transpose()?;
    let ChatArguments { model, effort, claim_check, repository, folder, toolkits, .. } = arguments;
    let folder = folder.filter(|_| repository.is_none());
    let (tree, notice) = services.find_client_tree(folder.as_deref()).await;
    let requested = |toolkits| services.chat.parse_toolkits(toolkits, principal.as_ref());
    let toolkits = toolkits.map(requested).transpose()?;
    let ask = TurnRequest::new(question, conversation);
    let ask = TurnRequest { model, effort, claim_check, repository, tree, notice, toolkits, ..ask };
    let ask = TurnRequest { principal, revoked, ..ask };
    Ok(services.chat.ask(ask).await?)
}

/// Streams a turn. Dropping the reply drops the turn, which interrupts Codex.
pub(super) fn stream_turn(
    services: &ApiServices,
    turn: Turn,
    keep_alive: std::time::Duration,
) -> Response {
    let failures = services.failures.clone();
    let turn = turn.inspect(move |event| note_end(&failures, event, "/chat"));
    sse::stream_events(
        turn.map(|event| encode_event(&build_frame(event))).inspect(log_frame),
        keep_alive,
    )
}

/// Lists what can answer: Codex, and why not when it cannot.
pub(super) fn list_providers(services: &ApiServices) -> Response {
    let codex = match services.codex.availability() {
        CodexAvailability::Available { version, .. } => {
            json!({ "id": "codex", "available": true, "version": version })
        }
        CodexAvailability::Unavailable(why) => {
            json!({ "id": "codex", "available": false, "reason": why.reason, "hint": why.hint })
        }
    };
    reply::json_response(StatusCode::OK, &json!({ "providers": [codex] }))
}

/// Lists the models that Codex offers.
pub(super) async fn list_models(services: &ApiServices) -> Result<Response, ApiError> {
    let models = services.chat.list_models().await?.into_iter().map(|model| {
        json!({
            "id": model.id,
            "name": model.display_name,
            "description": model.description,
            "isDefault": model.is_default,
        })
    });
    let models: Vec<Value> = models.collect();
    Ok(reply::json_response(StatusCode::OK, &json!({ "models": models })))
}

/// Returns the frame of an event.
pub(super) fn build_frame(event: ChatEvent) -> ChatFrame {
    match event {
        ChatEvent::Thread { conversation, model_id } => {
            ChatFrame::Thread(ThreadFrame { conversation_id: conversation, model_id })
        }
        ChatEvent::Warning { text } => ChatFrame::Warning(WarningFrame { message: text }),
        ChatEvent::Thinking { text } => ChatFrame::Thinking(TextFrame { text }),
        ChatEvent::ToolRequest { call_id, name, source, timestamp, parameters } => {
            let (origin, timestamp) = (ToolOrigin::from(&source), timestamp.to_string());
            ChatFrame::ToolRequest(ToolRequestFrame {
                call_id,
                name,
                origin,
                timestamp,
                parameters,
            })
        }
        ChatEvent::ToolResult { call_id, name, source, timestamp, stage, result, error } => {
            let (origin, timestamp) = (ToolOrigin::from(&source), timestamp.to_string());
            ChatFrame::ToolResult(ToolResultFrame {
                call_id,
                name,
                origin,
                timestamp,
                stage,
                result,
                error,
            })
        }
        ChatEvent::VectorSummary { files } => ChatFrame::VectorSummary(FilesFrame { files }),
        ChatEvent::Answer { text } => ChatFrame::Answer(TextFrame { text }),
        ChatEvent::Ended(outcome) => build_end_frame(outcome),
    }
}

fn build_end_frame(outcome: TurnOutcome) -> ChatFrame {
    let TurnOutcome { conversation, model_id, segments, usage, citations, failure } = outcome;
    let conversation_id = conversation;
    match failure {
        Some(TurnFailure { code, message, hint }) => {
            let code = code.as_str().to_owned();
            ChatFrame::Error(ErrorFrame { code, message, hint, conversation_id })
        }
        None => {
            ChatFrame::Final(FinalFrame { conversation_id, model_id, segments, usage, citations })
        }
    }
}

/// Writes a frame as a server-sent event.
fn encode_event(frame: &ChatFrame) -> sse::SseEvent {
    let data = serde_json::to_string(frame).unwrap_or_else(|cause| {
        // Nothing in a frame is without a form in JSON.
        error!(%cause, "frame cannot be written as JSON");
        String::new()
    });
    sse::SseEvent { id: None, name: Some(frame.name()), data }
}

/// Logs each frame with its name and size; its words at debug only.
fn log_frame(frame: &sse::SseEvent) {
    info!(frame.name = frame.name, frame.bytes = frame.data.len(), "frame");
    debug!(frame.payload = %frame.data, "frame payload");
}
