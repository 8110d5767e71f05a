//! `POST /chat`: one turn as server-sent events; and what can be asked with.

use std::path::PathBuf;

use codeinfo_chat::{Ask, Event, Failure, Outcome, Turn};
use codeinfo_codex::{EFFORTS, Presence};
use codeinfo_core::{ConversationId, MAX_QUESTION_BYTES, Question};
use codeinfo_http::{Admission, Response, reply, sse};
use futures_util::StreamExt;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{debug, error, info};

use super::{
    Services,
    error::{ApiError, note_end},
};
use crate::replies::{
    Answered, Begun, FilesFound, Frame, Origin, Text, ToolRequest, ToolResult, Unanswered, Warned,
};

/// What a question over `POST /chat` or `/ws` carries.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arguments {
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

impl Arguments {
    /// Returns the id of the conversation to continue, as it was sent.
    pub(super) fn conversation(&self) -> Option<&str> {
        self.conversation_id.as_deref()
    }

    /// Returns the question, and what it is confined to.
    pub(super) fn asked(&self) -> (String, Option<String>) {
        (self.question.clone(), self.repository.clone())
    }
}

pub(super) fn schema() -> Value {
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
    let (schema, mut properties) = (schema(), json!({ "type": { "type": "string" } }));
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
pub(super) async fn ask(
    services: &Services,
    arguments: Arguments,
    admission: &Admission,
) -> Result<Turn, ApiError> {
    let Admission { principal, revoked, .. } = admission.clone();
    // Known to be away, Codex comes before the arguments, as it does over MCP.
    if let Presence::Unavailable(why) = services.chat.presence().await {
        return Err(ApiError::Unavailable(why));
    }
    let question: Question = arguments.question.parse()?;
    let conversation: Option<ConversationId> =
        arguments.conversation_id.map(|id| id.parse()).transpose()?;
    let Arguments { model, effort, claim_check, repository, folder, toolkits, .. } = arguments;
    let folder = folder.filter(|_| repository.is_none());
    let (tree, notice) = services.standing(folder.as_deref()).await;
    let requested = |toolkits| services.chat.requested(toolkits, principal.as_ref());
    let toolkits = toolkits.map(requested).transpose()?;
    let ask = Ask::new(question, conversation);
    let ask = Ask { model, effort, claim_check, repository, tree, notice, toolkits, ..ask };
    let ask = Ask { principal, revoked, ..ask };
    Ok(services.chat.ask(ask).await?)
}

/// Streams a turn. Dropping the reply drops the turn, which interrupts Codex.
pub(super) fn streamed(
    services: &Services,
    turn: Turn,
    keep_alive: std::time::Duration,
) -> Response {
    let failures = services.failures.clone();
    let turn = turn.inspect(move |event| note_end(&failures, event, "/chat"));
    sse::reply(turn.map(|event| written(&frame(event))).inspect(log), keep_alive)
}

/// Lists what can answer: Codex, and why not when it cannot.
pub(super) fn providers(services: &Services) -> Response {
    let codex = match services.codex.presence() {
        Presence::Available { version, .. } => {
            json!({ "id": "codex", "available": true, "version": version })
        }
        Presence::Unavailable(why) => {
            json!({ "id": "codex", "available": false, "reason": why.reason, "hint": why.hint })
        }
    };
    reply::json(StatusCode::OK, &json!({ "providers": [codex] }))
}

/// Lists the models that Codex offers.
pub(super) async fn models(services: &Services) -> Result<Response, ApiError> {
    let models = services.chat.models().await?.into_iter().map(|model| {
        json!({
            "id": model.id,
            "name": model.display_name,
            "description": model.description,
            "isDefault": model.is_default,
        })
    });
    let models: Vec<Value> = models.collect();
    Ok(reply::json(StatusCode::OK, &json!({ "models": models })))
}

/// Returns the frame of an event.
pub(super) fn frame(event: Event) -> Frame {
    match event {
        Event::Thread { conversation, model_id } => {
            Frame::Thread(Begun { conversation_id: conversation, model_id })
        }
        Event::Warning { text } => Frame::Warning(Warned { message: text }),
        Event::Thinking { text } => Frame::Thinking(Text { text }),
        Event::ToolRequest { call_id, name, source, timestamp, parameters } => {
            let (origin, timestamp) = (Origin::from(&source), timestamp.to_string());
            Frame::ToolRequest(ToolRequest { call_id, name, origin, timestamp, parameters })
        }
        Event::ToolResult { call_id, name, source, timestamp, stage, result, error } => {
            let (origin, timestamp) = (Origin::from(&source), timestamp.to_string());
            Frame::ToolResult(ToolResult { call_id, name, origin, timestamp, stage, result, error })
        }
        Event::VectorSummary { files } => Frame::VectorSummary(FilesFound { files }),
        Event::Answer { text } => Frame::Answer(Text { text }),
        Event::Ended(outcome) => end(outcome),
    }
}

fn end(outcome: Outcome) -> Frame {
    let Outcome { conversation, model_id, segments, usage, citations, failure } = outcome;
    let conversation_id = conversation;
    match failure {
        Some(Failure { code, message, hint }) => {
            let code = code.as_str().to_owned();
            Frame::Error(Unanswered { code, message, hint, conversation_id })
        }
        None => Frame::Final(Answered { conversation_id, model_id, segments, usage, citations }),
    }
}

/// Writes a frame as a server-sent event.
fn written(frame: &Frame) -> sse::Event {
    let data = serde_json::to_string(frame).unwrap_or_else(|cause| {
        // Nothing in a frame is without a form in JSON.
        error!(%cause, "frame cannot be written as JSON");
        String::new()
    });
    sse::Event { id: None, name: Some(frame.name()), data }
}

/// Logs each frame with its name and size; its words at debug only.
fn log(frame: &sse::Event) {
    info!(frame.name = frame.name, frame.bytes = frame.data.len(), "frame");
    debug!(frame.payload = %frame.data, "frame payload");
}
