//! `POST /chat`: one turn as server-sent events; and what can be asked with.

use futures_util::StreamExt;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{debug, error, info};

use super::{Services, error::ApiError};
use crate::{
    chat::{Ask, Event, Outcome, Turn, Usage},
    codex::Presence,
    config::EFFORTS,
    domain::{ConversationId, MAX_QUESTION_BYTES, Question, Segment},
    error::Code,
    net::{
        Response, reply,
        sse::{self, Event as Frame},
    },
};

/// The body of `POST /chat`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arguments {
    question: String,
    conversation_id: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    repository: Option<String>,
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
            // A path, perhaps; its bound is that of the system.
            "repository": { "type": "string", "minLength": 1, "maxLength": 4096 },
        },
    })
}

/// Asks, and returns the turn that has begun. Whatever keeps it from beginning is a plain reply.
pub(super) async fn ask(services: &Services, arguments: Arguments) -> Result<Turn, ApiError> {
    // Known to be away, Codex comes before the arguments, as it does over MCP.
    if let Presence::Unavailable(why) = services.chat.presence().await {
        return Err(ApiError::Unavailable(why));
    }
    let question: Question = arguments.question.parse()?;
    let conversation: Option<ConversationId> =
        arguments.conversation_id.map(|id| id.parse()).transpose()?;
    let Arguments { model, effort, repository, .. } = arguments;
    Ok(services.chat.ask(Ask { question, conversation, model, effort, repository }).await?)
}

/// Streams a turn. Dropping the reply drops the turn, which interrupts Codex.
pub(super) fn streamed(turn: Turn, keep_alive: std::time::Duration) -> Response {
    sse::reply(turn.map(frame).inspect(log), keep_alive)
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
fn frame(event: Event) -> Frame {
    let (name, payload) = match event {
        Event::Thread { conversation, model_id } => {
            ("thread", json!({ "conversationId": conversation, "modelId": model_id }))
        }
        Event::Thinking { text } => ("thinking", json!({ "text": text })),
        Event::ToolRequest { call_id, name, source, parameters } => (
            "tool-request",
            json!({ "callId": call_id, "name": name, "source": source, "parameters": parameters }),
        ),
        Event::ToolResult { call_id, name, source, stage, result, error } => {
            let stage = stage.as_str();
            let mut payload =
                json!({ "callId": call_id, "name": name, "source": source, "stage": stage });
            for (key, value) in [("result", result), ("error", error.map(Value::String))] {
                if let (Some(value), Some(members)) = (value, payload.as_object_mut()) {
                    members.insert(key.to_owned(), value);
                }
            }
            ("tool-result", payload)
        }
        Event::VectorSummary { files } => ("vector_summary", json!({ "files": files })),
        Event::Answer { text } => ("answer", json!({ "text": text })),
        Event::Ended(outcome) => return end(&outcome),
    };
    Frame { name: Some(name), data: payload.to_string() }
}

/// The last frame of a turn that did not fail. Field names are a wire promise.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Final<'a> {
    conversation_id: ConversationId,
    model_id: &'a str,
    segments: &'a [Segment],
    usage: Option<Usage>,
}

fn end(outcome: &Outcome) -> Frame {
    let Outcome { conversation, model_id, segments, usage, failure } = outcome;
    let conversation_id = *conversation;
    if let Some(failure) = failure {
        return broken(failure.code, (&failure.message, &failure.hint), conversation_id);
    }
    let whole = Final { conversation_id, model_id, segments, usage: *usage };
    match serde_json::to_string(&whole) {
        Ok(data) => Frame { name: Some("final"), data },
        Err(cause) => {
            error!(%cause, "outcome cannot be written as JSON");
            broken(Code::Internal, ("an internal error happened", "see the log"), conversation_id)
        }
    }
}

fn broken(code: Code, (message, hint): (&str, &str), conversation: ConversationId) -> Frame {
    let payload = json!({
        "code": code.as_str(),
        "message": message,
        "hint": hint,
        "conversationId": conversation,
    });
    Frame { name: Some("error"), data: payload.to_string() }
}

/// Logs each frame with its name and size; its words at debug only.
fn log(frame: &Frame) {
    info!(frame.name = frame.name, frame.bytes = frame.data.len(), "frame");
    debug!(frame.payload = %frame.data, "frame payload");
}
