//! Builds replies: JSON, text, errors, empty and streamed ones.

use std::{convert::Infallible, future::Future, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::{
    StatusCode,
    body::Frame,
    header::{
        ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER,
        SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE,
    },
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tracing::error;

use super::{HttpError, QuietReply, Response};

/// White space before a JSON text. Parsers ignore it, and it keeps the connection alive.
const SPACE: Bytes = Bytes::from_static(b" ");

/// A server-sent event. Only events of a resumable stream have ids: clients would try to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Value of `id:`, if the stream can be resumed after the event.
    pub id: Option<usize>,
    /// Value of `event:`; `None` omits the line.
    pub name: Option<&'static str>,
    /// Payload, usually JSON.
    pub data: String,
}

pub fn json_response(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => json_bytes(status, body.into()),
        Err(cause) => {
            error!(%cause, "reply cannot be written as JSON");
            HttpError::Internal.into()
        }
    }
}

/// Returns text that is JSON already. An invalid status is a bug and becomes an internal error.
pub fn json_text(status: u16, text: String) -> Response {
    match StatusCode::from_u16(status) {
        Ok(status) => json_bytes(status, text.into()),
        Err(cause) => {
            error!(%cause, "reply has no valid status");
            HttpError::Internal.into()
        }
    }
}

/// Returns text of another type, such as `text/plain`.
pub fn text_response(content_type: &'static str, text: String) -> Response {
    bytes_response(content_type, text.into())
}

/// Returns bytes of this type, which the client must not store.
pub fn bytes_response(content_type: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Full::new(body).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Form of all errors. Field names are a wire promise.
#[derive(Debug, Serialize, Deserialize)]
pub struct ErrorReply {
    pub error: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// Builds the reply that reports an error.
pub fn error_response(
    status: StatusCode,
    code: &str,
    message: &str,
    details: &[String],
) -> Response {
    json_response(
        status,
        &ErrorReply {
            error: code.to_owned(),
            message: message.to_owned(),
            details: details.to_vec(),
        },
    )
}

impl From<HttpError> for Response {
    fn from(refusal: HttpError) -> Self {
        let mut response =
            error_response(refusal.status(), refusal.code(), &refusal.to_string(), &[]);
        match refusal {
            HttpError::MethodNotAllowed { allow } => {
                response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
            }
            HttpError::UpgradeRequired => {
                let headers = response.headers_mut();
                headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
                headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            HttpError::Unauthorized(_) => {
                let headers = response.headers_mut();
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            HttpError::TooManyWrongTokens { retry_after_s } => {
                response.headers_mut().insert(RETRY_AFTER, retry_after_s.into());
                response.extensions_mut().insert(QuietReply);
            }
            _ => {}
        }
        response
    }
}

/// Returns a reply without a body and without a content type.
pub fn empty_response(status: StatusCode) -> Response {
    let mut response = Response::new(Empty::new().boxed_unsync());
    *response.status_mut() = status;
    response
}

/// Sends JSON that may take minutes to clients that accept only JSON. After `keep_alive`, the reply
/// starts with white space, repeated until the text is ready. The status is 200 in any case.
pub async fn delayed_json(
    text: impl Future<Output = String> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let mut text = Box::pin(text);
    if let Ok(text) = tokio::time::timeout(keep_alive, text.as_mut()).await {
        return json_text(200, text);
    }
    let pieces = with_ticks(text.map(Bytes::from).into_stream(), keep_alive, SPACE);
    let first = stream::once(std::future::ready(SPACE));
    stream_response("application/json", first.chain(pieces))
}

/// Streams `events` until they end, with a comment every `keep_alive`.
pub fn stream_events(
    events: impl Stream<Item = SseEvent> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let pieces = events.map(|event| Bytes::from(render_event(&event)));
    let comment = Bytes::from_static(b": keep-alive\n\n");
    stream_response("text/event-stream", with_ticks(pieces, keep_alive, comment))
}

/// Streams unnamed events, one for each text.
pub fn stream_messages(
    texts: impl Stream<Item = String> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    stream_events(texts.map(|data| SseEvent { id: None, name: None, data }), keep_alive)
}

fn stream_response(
    content_type: &'static str,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let frames = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Asks proxies not to buffer.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Inserts `tick` between the pieces every `period` until the pieces end.
fn with_ticks(
    pieces: impl Stream<Item = Bytes> + Send + 'static,
    period: Duration,
    tick: Bytes,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    stream::unfold((Box::pin(pieces), ticks), move |(mut pieces, mut ticks)| {
        let tick = tick.clone();
        async move {
            let piece = tokio::select! {
                biased;
                piece = pieces.next() => piece?,
                _ = ticks.tick() => tick,
            };
            Some((piece, (pieces, ticks)))
        }
    })
}

/// Renders an event. Each line break in the payload starts another `data:` line.
fn render_event(event: &SseEvent) -> String {
    let mut text = String::with_capacity(event.data.len() + 32);
    if let Some(id) = event.id {
        text.extend(["id: ", &id.to_string(), "\n"]);
    }
    if let Some(name) = event.name {
        text.extend(["event: ", name, "\n"]);
    }
    for line in event.data.replace("\r\n", "\n").split(['\n', '\r']) {
        text.extend(["data: ", line, "\n"]);
    }
    text.push('\n');
    text
}

fn json_bytes(status: StatusCode, body: Bytes) -> Response {
    let mut response = bytes_response("application/json", body);
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::{SseEvent, render_event};

    #[test]
    fn a_payload_of_several_lines_stays_one_event() {
        let data = "one\r\ntwo\rthree\n".to_owned();
        let event = SseEvent { id: None, name: Some("answer"), data };
        let numbered = SseEvent { id: Some(7), ..event.clone() };
        assert_eq!(render_event(&numbered), format!("id: 7\n{}", render_event(&event)));
        assert_eq!(
            render_event(&event),
            "event: answer\ndata: one\ndata: two\ndata: three\ndata: \n\n"
        );
    }
}
