//! `POST /chat` streams a turn as server-sent events; its siblings list providers and models.

use std::path::PathBuf;

use codeinfo_chat::{ChatEvent, Turn, TurnRequest};
use codeinfo_codex::{CodexAvailability, EFFORTS};
use codeinfo_core::{ConversationId, MAX_QUESTION_BYTES, Question};
use codeinfo_http::{AuthContext, Response, reply};
use futures_util::StreamExt;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{debug, info};

use super::{
    ApiServices,
    chat_frame::ChatFrame,
    error::{ApiError, note_end},
};

/// Arguments of a question, sent to `POST /chat`, `POST /turns` or `/ws`.
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
    pub(super) fn conversation_id(&self) -> Option<&str> {
        self.conversation_id.as_deref()
    }

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
            // May be a path; 4096 is `PATH_MAX` of Linux.
            "repository": { "type": "string", "minLength": 1, "maxLength": 4096 },
            "folder": { "type": "string", "minLength": 1, "maxLength": 4096 },
            // `Chat::parse_toolkits` validates the content.
            "toolkits": { "type": ["object", "array"] },
        },
    })
}

/// Returns the schema of a `/ws` message: some members of [`chat_schema`], under their `/ws` names.
pub(super) fn message_schema() -> Value {
    let named = [
        ("question", "content"),
        ("conversationId", "conversation_id"),
        ("claimCheck", "claim_check"),
        ("toolkits", "toolkits"),
    ];
    let schema = chat_schema();
    let mut properties = json!({ "type": { "type": "string" } });
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

pub(super) async fn ask_question(
    services: &ApiServices,
    arguments: ChatArguments,
    admission: &AuthContext,
) -> Result<Turn, ApiError> {
    let AuthContext { principal, revoked, .. } = admission.clone();
    // A missing Codex is reported before invalid arguments, as over MCP.
    if let CodexAvailability::Unavailable(why) = services.chat.codex_availability().await {
        return Err(ApiError::Unavailable(why));
    }
    let question: Question = arguments.question.parse()?;
    let conversation: Option<ConversationId> =
        arguments.conversation_id.map(|id| id.parse()).transpose()?;
    let ChatArguments { model, effort, claim_check, repository, .. } = arguments;
    let folder = arguments.folder.filter(|_| repository.is_none());
    let (tree, notice) = services.find_client_tree(folder.as_deref()).await;
    let requested = |toolkits| services.chat.parse_toolkits(toolkits, principal.as_ref());
    let toolkits = arguments.toolkits.map(requested).transpose()?;
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
    let events = turn.inspect(move |event| note_end(&failures, event, "/chat"));
    reply::stream_events(events.map(encode_event).inspect(log_frame), keep_alive)
}

/// Lists the providers: Codex, with a reason and a hint when it is unavailable.
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

pub(super) async fn list_models(services: &ApiServices) -> Result<Response, ApiError> {
    let offered = services.chat.list_models().await?;
    let models = offered.into_iter().map(|model| {
        json!({
            "id": model.id,
            "name": model.display_name,
            "description": model.description,
            "isDefault": model.is_default,
        })
    });
    Ok(reply::json_response(StatusCode::OK, &json!({ "models": models.collect::<Vec<Value>>() })))
}

fn encode_event(event: ChatEvent) -> reply::SseEvent {
    let (name, data) = ChatFrame::from_event(event).into_parts();
    reply::SseEvent { id: None, name: Some(name), data: data.to_string() }
}

/// Logs the name and size of a frame; its content at debug level only.
fn log_frame(frame: &reply::SseEvent) {
    info!(frame.name = frame.name, frame.bytes = frame.data.len(), "frame");
    debug!(frame.payload = %frame.data, "frame payload");
}
