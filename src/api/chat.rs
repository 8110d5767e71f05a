//! `POST /chat`: a question answered as server-sent events, and what can be asked.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::{Services, fault::Fault};
use crate::{
    chat::{Ask, Event, Failure, Outcome, Turn},
    codex::Presence,
    domain::{ConversationId, Question, Segment},
    net::{Response, reply, sse},
};

/// What to ask.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatArguments {
    question: String,
    conversation_id: Option<String>,
    model: Option<String>,
    effort: Option<String>,
}

/// Returns the schema of [`ChatArguments`].
pub(super) fn chat_schema() -> Value {
    let name = json!({ "type": "string", "minLength": 1, "maxLength": 200 });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["question"],
        "properties": {
            "question": { "type": "string", "minLength": 1 },
            "conversationId": { "type": "string", "minLength": 1 },
            "model": name,
            "effort": name,
        },
    })
}

/// Asks, and streams the turn. Closing the stream interrupts it.
pub(super) async fn chat(
    services: &Services,
    arguments: ChatArguments,
    keep_alive: Duration,
) -> Result<Response, Fault> {
    let ask = ask(arguments)?;
    usable(services).await?;
    let turn = services.chat.ask(ask).await?;
    Ok(sse::reply(events(turn), keep_alive))
}

/// Says whether Codex can be used.
pub(super) async fn providers(services: &Services) -> Response {
    let codex = match services.codex.usable().await {
        Presence::Available { version, model } => {
            json!({ "id": "codex", "available": true, "version": version, "model": model })
        }
        Presence::Unavailable(why) => json!({
            "id": "codex", "available": false, "reason": why.reason, "hint": why.hint,
        }),
    };
    reply::json(StatusCode::OK, &json!({ "providers": [codex] }))
}

/// Lists the models that Codex offers.
pub(super) async fn models(services: &Services) -> Result<Response, Fault> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        id: String,
        name: String,
        description: String,
        is_default: bool,
    }
    usable(services).await?;
    let models = services.codex.models().await?.into_iter().map(|model| Wire {
        id: model.id,
        name: model.display_name,
        description: model.description,
        is_default: model.is_default,
    });
    let models: Vec<Wire> = models.collect();
    Ok(reply::json(StatusCode::OK, &json!({ "models": models })))
}

async fn usable(services: &Services) -> Result<(), Fault> {
    match services.codex.usable().await {
        Presence::Available { .. } => Ok(()),
        Presence::Unavailable(why) => Err(Fault::Unavailable(why)),
    }
}

fn ask(arguments: ChatArguments) -> Result<Ask, Fault> {
    let ChatArguments { question, conversation_id, model, effort } = arguments;
    let question =
        question.parse::<Question>().map_err(|fault| Fault::Arguments(vec![fault.to_string()]))?;
    let conversation = conversation_id.map(|id| id.parse::<ConversationId>()).transpose()?;
    Ok(Ask { question, conversation, model, effort })
}

fn events(turn: Turn) -> impl Stream<Item = sse::Event> + Send + 'static {
    turn.flat_map(|event| stream::iter([event_of(event)]))
}

/// Writes an event and logs that it is passed on, with names and sizes only.
fn event_of(event: Event) -> sse::Event {
    let (name, data) = match event {
        Event::Thread { conversation, model_id } => {
            ("thread", json!({ "conversationId": conversation, "modelId": model_id }))
        }
        Event::Thinking { text } => ("thinking", json!({ "text": text })),
        Event::Answer { text } => ("answer", json!({ "text": text })),
        Event::ToolRequest { call_id, name, source, parameters } => (
            "tool-request",
            json!({ "callId": call_id, "name": name, "source": source, "parameters": parameters }),
        ),
        Event::ToolResult { call_id, name, source, stage, result, error } => (
            "tool-result",
            json!({
                "callId": call_id, "name": name, "source": source, "stage": stage.as_str(),
                "result": result, "error": error,
            }),
        ),
        Event::VectorSummary { files } => {
            ("vector_summary", json!(Segment::VectorSummary { files }))
        }
        Event::Ended(outcome) => end(outcome),
    };
    let data = data.to_string();
    info!(event.name = name, event.bytes = data.len(), "event sent");
    debug!(event.data = %data, "event data");
    sse::Event { name: Some(name), data }
}

fn end(outcome: Outcome) -> (&'static str, Value) {
    let Outcome { conversation, model_id, segments, usage, failure } = outcome;
    let mut data = json!({
        "conversationId": conversation, "modelId": model_id, "segments": segments, "usage": usage,
    });
    let Some(Failure { code, message, hint }) = failure else {
        return ("final", data);
    };
    warn!(%code, reason = %message, "turn failed");
    if let Some(data) = data.as_object_mut() {
        data.insert("code".to_owned(), code.as_str().into());
        data.insert("message".to_owned(), message.into());
        data.insert("hint".to_owned(), hint.into());
    }
    ("error", data)
}
