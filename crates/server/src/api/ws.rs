//! `/ws`: turns over a WebSocket, one at a time.

mod frame;

use std::{future::pending, sync::Arc, time::Instant};

use codeinfo_chat::ChatEvent;
use codeinfo_core::{error::ErrorCode, telemetry};
use codeinfo_http::{AuthContext, HttpError, WebSocket, WebSocketEvent};
use codeinfo_mcp::{Schema, SchemaError};
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use serde_json::{Value, json};
use tracing::{debug, error, info};

use self::frame::WebSocketFrame;
use super::{
    ApiState,
    chat::{self, ChatArguments},
    error::{ApiError, note_end},
};

pub(super) struct MessageSchemas {
    message: Schema,
    stop: Schema,
}

impl MessageSchemas {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let stop = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["type"],
            "properties": { "type": { "type": "string" } },
        });
        Ok(Self { message: Schema::new(chat::message_schema())?, stop: Schema::new(stop)? })
    }

    fn parse_message(&self, text: &str) -> Result<ClientMessage, WebSocketFrame> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let message = format!("the message is not JSON: {error}");
            WebSocketFrame::error(HttpError::InvalidJson(String::new()).code(), message)
        })?;
        let wrong = |faults: Vec<String>| {
            WebSocketFrame::error(ErrorCode::ValidationFailed.as_str(), faults.join("; "))
        };
        match value.get("type").and_then(Value::as_str) {
            Some("message") => {
                self.message.validate_and_parse(value).map(ClientMessage::Message).map_err(wrong)
            }
            Some("stop") => {
                let stop: Result<Value, _> = self.stop.validate_and_parse(value);
                stop.map(|_| ClientMessage::Stop).map_err(wrong)
            }
            _ => Err(wrong(vec!["`type` must be `message` or `stop`".to_owned()])),
        }
    }
}

const PATH: &str = "/ws";

enum ClientMessage {
    Message(Box<ChatArguments>),
    Stop,
}

/// Events of a requested or running turn. Dropping them interrupts Codex.
type TurnEvents = BoxStream<'static, Result<ChatEvent, ApiError>>;

struct ChatSession {
    parts: Arc<ApiState>,
    /// Caller, as the upgrade proved it.
    admission: AuthContext,
    socket: WebSocket,
    turn: Option<TurnEvents>,
    is_stopping: bool,
}

/// Serves a client until it leaves or the server stops.
pub(super) async fn serve_socket(parts: Arc<ApiState>, admission: AuthContext, socket: WebSocket) {
    let opened = Instant::now();
    let mut session = ChatSession { parts, admission, socket, turn: None, is_stopping: false };
    session.socket.allow_eviction();
    session.run().await;
    let ChatSession { socket, turn, .. } = session;
    // Interrupts the turn before waiting for the client.
    drop(turn);
    socket.close().await;
    info!(elapsed_ms = telemetry::to_milliseconds(opened.elapsed()), "socket closed");
}

impl ChatSession {
    async fn run(&mut self) {
        loop {
            if self.is_stopping && self.turn.is_none() && self.socket.is_sent() {
                return;
            }
            tokio::select! {
                biased;
                happened = self.socket.next() => match happened {
                    WebSocketEvent::Text(text) => {
                        if !self.handle_message(&text).await {
                            return;
                        }
                    }
                    WebSocketEvent::Binary => {
                        let code = ErrorCode::ValidationFailed.as_str();
                        self.send_frame(&WebSocketFrame::error(code, "messages must be text"));
                    }
                    WebSocketEvent::TooLarge => {
                        let limit = self.parts.http.max_body_bytes;
                        let code = HttpError::BodyTooLarge { limit }.code();
                        let message = format!("the message has more than {limit} bytes");
                        self.send_frame(&WebSocketFrame::error(code, message));
                        return;
                    }
                    WebSocketEvent::Sent => {}
                    WebSocketEvent::Stopping => self.is_stopping = true,
                    WebSocketEvent::Over => return,
                },
                // Only after the client has received what came before.
                event = next_event(&mut self.turn), if self.socket.is_sent() => self.handle_event(event),
            }
        }
    }

    /// Handles a message of the client; returns whether the connection continues.
    async fn handle_message(&mut self, text: &str) -> bool {
        let asked = self.parts.ws.parse_message(text);
        let name = match &asked {
            Ok(ClientMessage::Message(_)) => "message",
            Ok(ClientMessage::Stop) => "stop",
            Err(_) => "unknown",
        };
        info!(frame.name = name, frame.bytes = text.len(), "frame received");
        debug!(frame.payload = text, "frame payload");
        match asked {
            Ok(ClientMessage::Message(_)) if self.turn.is_some() => {
                let message = "a turn is running: wait for its end, or send `stop`";
                self.send_frame(&WebSocketFrame::error(ErrorCode::Busy.as_str(), message));
            }
            Ok(ClientMessage::Message(_)) if self.is_stopping => {
                self.send_frame(&WebSocketFrame::error(
                    ErrorCode::Cancelled.as_str(),
                    "the server is stopping",
                ));
            }
            Ok(ClientMessage::Message(arguments)) => {
                if !self.socket.begin_work().await {
                    return false;
                }
                let admission = self.admission.clone();
                self.turn = Some(begin_turn(Arc::clone(&self.parts), *arguments, admission));
            }
            // Without a running turn, it has just ended and needs no answer.
            Ok(ClientMessage::Stop) => {
                if self.turn.is_some() {
                    self.end_turn(&WebSocketFrame::error(
                        ErrorCode::Cancelled.as_str(),
                        "the turn was stopped",
                    ));
                }
            }
            Err(refusal) => self.send_frame(&refusal),
        }
        true
    }

    fn handle_event(&mut self, event: Option<Result<ChatEvent, ApiError>>) {
        match event {
            Some(Ok(event)) => {
                note_end(&self.parts.services.failures, &event, PATH);
                let is_end = matches!(event, ChatEvent::Ended(_));
                match WebSocketFrame::from_event(event) {
                    Some(frame) if is_end => self.end_turn(&frame),
                    Some(frame) => self.send_frame(&frame),
                    None => {}
                }
            }
            Some(Err(failure)) => {
                self.parts.services.record_failure(&failure, PATH);
                let (code, message) = failure.into_code_and_message();
                self.end_turn(&WebSocketFrame::error(code, message));
            }
            // Happens only while the whole server is dropped.
            None => self.end_turn(&WebSocketFrame::error(
                ErrorCode::Cancelled.as_str(),
                "the server is stopping",
            )),
        }
    }

    fn end_turn(&mut self, frame: &WebSocketFrame) {
        self.turn = None;
        self.socket.allow_eviction();
        self.send_frame(frame);
    }

    /// Sends a frame, and logs its name and size; its content at debug level only.
    fn send_frame(&mut self, frame: &WebSocketFrame) {
        match serde_json::to_string(frame) {
            Ok(text) => {
                info!(frame.name = frame.name(), frame.bytes = text.len(), "frame");
                debug!(frame.payload = text, "frame payload");
                self.socket.send(text);
            }
            // Every frame has a JSON form.
            Err(cause) => error!(%cause, "frame cannot be written as JSON"),
        }
    }
}

fn begin_turn(
    parts: Arc<ApiState>,
    arguments: ChatArguments,
    admission: AuthContext,
) -> TurnEvents {
    let asking = async move {
        chat::ask_question(&parts.services, arguments, &admission)
            .await
            .map_err(rename_question_in_faults)
    };
    stream::once(asking).map_ok(|turn| turn.map(Ok)).try_flatten().boxed()
}

/// Replaces `question` by `content`, its name in a message.
fn rename_question_in_faults(failure: ApiError) -> ApiError {
    match failure {
        ApiError::Arguments(faults) => {
            let renamed = faults.iter().map(|fault| fault.replace("`question`", "`content`"));
            ApiError::Arguments(renamed.collect())
        }
        failure => failure,
    }
}

/// Waits for the next event of the turn; forever without a turn.
async fn next_event(turn: &mut Option<TurnEvents>) -> Option<Result<ChatEvent, ApiError>> {
    match turn {
        Some(turn) => turn.next().await,
        None => pending().await,
    }
}
