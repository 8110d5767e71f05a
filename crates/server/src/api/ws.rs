//! `/ws`: turns over a WebSocket, one at a time.

mod frame;

use std::{future::pending, sync::Arc, time::Instant};

use codeinfo_chat::Event;
use codeinfo_core::{error::Code, telemetry};
use codeinfo_http::{Admission, Happened, HttpError, WebSocket};
use codeinfo_mcp::{Schema, SchemaError};
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use serde_json::{Value, json};
use tracing::{debug, error, info};

use self::frame::Frame;
use super::{
    Parts,
    chat::{self, Arguments},
    error::{ApiError, note_end},
};

/// What validates the messages of clients.
pub(super) struct Schemas {
    message: Schema,
    stop: Schema,
}

impl Schemas {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let stop = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["type"],
            "properties": { "type": { "type": "string" } },
        });
        Ok(Self { message: Schema::new(chat::message_schema())?, stop: Schema::new(stop)? })
    }

    /// Reads a message of a client; returns the frame that refuses it.
    fn read(&self, text: &str) -> Result<Asked, Frame> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let message = format!("the message is not JSON: {error}");
            Frame::error(HttpError::InvalidJson(String::new()).code(), message)
        })?;
        let wrong =
            |faults: Vec<String>| Frame::error(Code::ValidationFailed.as_str(), faults.join("; "));
        match value.get("type").and_then(Value::as_str) {
            Some("message") => self.message.read(value).map(Asked::Message).map_err(wrong),
            Some("stop") => {
                let stop: Result<Value, _> = self.stop.read(value);
                stop.map(|_| Asked::Stop).map_err(wrong)
            }
            _ => Err(wrong(vec!["`type` must be `message` or `stop`".to_owned()])),
        }
    }
}

/// Where sockets are opened.
const PATH: &str = "/ws";

/// What a client asks for.
enum Asked {
    Message(Box<Arguments>),
    Stop,
}

/// A turn that is asked for or runs. Dropping it interrupts Codex.
type Turn = BoxStream<'static, Result<Event, ApiError>>;

struct Session {
    parts: Arc<Parts>,
    /// Who asks, as the upgrade proved it.
    admission: Admission,
    socket: WebSocket,
    turn: Option<Turn>,
    is_stopping: bool,
}

/// Answers a client until it leaves or the server stops.
pub(super) async fn talk(parts: Arc<Parts>, admission: Admission, socket: WebSocket) {
    let opened = Instant::now();
    let mut session = Session { parts, admission, socket, turn: None, is_stopping: false };
    session.socket.rests();
    session.run().await;
    let Session { socket, turn, .. } = session;
    // Interrupted before the client is waited for.
    drop(turn);
    socket.close().await;
    info!(elapsed_ms = telemetry::milliseconds(opened.elapsed()), "socket closed");
}

impl Session {
    async fn run(&mut self) {
        loop {
            if self.is_stopping && self.turn.is_none() && self.socket.is_sent() {
                return;
            }
            tokio::select! {
                biased;
                happened = self.socket.next() => match happened {
                    Happened::Text(text) => {
                        if !self.take(&text).await {
                            return;
                        }
                    }
                    Happened::Binary => {
                        let code = Code::ValidationFailed.as_str();
                        self.send(&Frame::error(code, "messages must be text"));
                    }
                    Happened::TooLarge => {
                        let limit = self.parts.http.max_body_bytes;
                        let code = HttpError::BodyTooLarge { limit }.code();
                        let message = format!("the message has more than {limit} bytes");
                        self.send(&Frame::error(code, message));
                        return;
                    }
                    Happened::Sent => {}
                    Happened::Stopping => self.is_stopping = true,
                    Happened::Over => return,
                },
                // Only when the client has taken what came before.
                event = next(&mut self.turn), if self.socket.is_sent() => self.report(event),
            }
        }
    }

    /// Takes a message of the client; returns whether the connection may go on.
    async fn take(&mut self, text: &str) -> bool {
        let asked = self.parts.ws.read(text);
        let name = match &asked {
            Ok(Asked::Message(_)) => "message",
            Ok(Asked::Stop) => "stop",
            Err(_) => "unknown",
        };
        info!(frame.name = name, frame.bytes = text.len(), "frame received");
        debug!(frame.payload = text, "frame payload");
        match asked {
            Ok(Asked::Message(_)) if self.turn.is_some() => {
                let message = "a turn is running: wait for its end, or send `stop`";
                self.send(&Frame::error(Code::Busy.as_str(), message));
            }
            Ok(Asked::Message(_)) if self.is_stopping => {
                self.send(&Frame::error(Code::Cancelled.as_str(), "the server is stopping"));
            }
            Ok(Asked::Message(arguments)) => {
                if !self.socket.works().await {
                    return false;
                }
                let admission = self.admission.clone();
                self.turn = Some(begun(Arc::clone(&self.parts), *arguments, admission));
            }
            // A turn that has just ended is not there to be stopped.
            Ok(Asked::Stop) => {
                if self.turn.is_some() {
                    self.end(&Frame::error(Code::Cancelled.as_str(), "the turn was stopped"));
                }
            }
            Err(refusal) => self.send(&refusal),
        }
        true
    }

    /// Reports what came of the turn.
    fn report(&mut self, event: Option<Result<Event, ApiError>>) {
        match event {
            Some(Ok(event)) => {
                note_end(&self.parts.services.failures, &event, PATH);
                let is_end = matches!(event, Event::Ended(_));
                match Frame::of(event) {
                    Some(frame) if is_end => self.end(&frame),
                    Some(frame) => self.send(&frame),
                    None => {}
                }
            }
            Some(Err(failure)) => {
                self.parts.services.note(&failure, PATH);
                let (code, message) = failure.in_words();
                self.end(&Frame::error(code, message));
            }
            // Only when the whole server is being dropped.
            None => self.end(&Frame::error(Code::Cancelled.as_str(), "the server is stopping")),
        }
    }

    /// Ends the turn with its last frame.
    fn end(&mut self, frame: &Frame) {
        self.turn = None;
        self.socket.rests();
        self.send(frame);
    }

    /// Sends a frame, and logs its name and size; its words at debug only.
    fn send(&mut self, frame: &Frame) {
        match serde_json::to_string(frame) {
            Ok(text) => {
                info!(frame.name = frame.name(), frame.bytes = text.len(), "frame");
                debug!(frame.payload = text, "frame payload");
                self.socket.send(text);
            }
            // Nothing in a frame is without a form in JSON.
            Err(cause) => error!(%cause, "frame cannot be written as JSON"),
        }
    }
}

/// Asks, and returns what comes of it.
fn begun(parts: Arc<Parts>, arguments: Arguments, admission: Admission) -> Turn {
    let asking = async move {
        chat::ask(&parts.services, arguments, &admission).await.map_err(in_words_of_messages)
    };
    stream::once(asking).map_ok(|turn| turn.map(Ok)).try_flatten().boxed()
}

/// Calls the question what a message calls it.
fn in_words_of_messages(failure: ApiError) -> ApiError {
    match failure {
        ApiError::Arguments(faults) => {
            let faults = faults.iter().map(|fault| fault.replace("`question`", "`content`"));
            ApiError::Arguments(faults.collect())
        }
        failure => failure,
    }
}

/// Waits for what comes of the turn; forever while there is none.
async fn next(turn: &mut Option<Turn>) -> Option<Result<Event, ApiError>> {
    match turn {
        Some(turn) => turn.next().await,
        None => pending().await,
    }
}
