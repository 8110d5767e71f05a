//! Builds replies: JSON, text, errors, empty and streamed ones.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
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
use tracing::error;

use super::{HttpError, QuietReply, Response};

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

/// Returns a reply whose body is streamed.
pub(super) fn stream_response(
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

fn json_bytes(status: StatusCode, body: Bytes) -> Response {
    let mut response = bytes_response("application/json", body);
    *response.status_mut() = status;
    response
}
