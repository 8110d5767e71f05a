//! Connects an MCP endpoint to a listener, for both edges.

mod frames;
mod placed;
mod relays;

use std::sync::Arc;

use codeinfo_core::Principal;
use codeinfo_http::{HttpSettings, Request, Response, reply, sse};
use codeinfo_mcp::{CallRegistry, Endpoint, McpContext, McpPost, McpReply};
use futures_util::stream::BoxStream;
use hyper::{StatusCode, header::HeaderValue};
use uuid::Uuid;

pub use self::{
    placed::FolderEndpoint,
    relays::{
        ClientFolder, HEADER, PATH, RelayHandshake, RelayServices, name_ingest_command, quote_path,
    },
};

/// Header in which a client receives a session and repeats it. It separates the calls of clients
/// and names the client. Any session is accepted, and a restart loses nothing.
const SESSION: &str = "mcp-session-id";

/// Returns the bounds for all messages to an edge.
pub fn build_message_bounds(http: &HttpSettings) -> McpContext {
    let HttpSettings { max_batch, keep_alive, .. } = *http;
    McpContext { max_batch, keep_alive, calls: CallRegistry::default() }
}

/// Accepts the handshake of a relay, and answers its messages with the `endpoint` for its folder.
///
/// # Errors
/// The request is not a handshake, or the server is stopping in favour of another one.
pub fn accept_relay(
    endpoint: impl FnOnce(Option<Arc<ClientFolder>>) -> Arc<dyn Endpoint>,
    request: &mut Request,
    relays: &RelayServices,
    bounds: &McpContext,
) -> Result<Response, codeinfo_http::HttpError> {
    let (session, is_greeted, place) = relays.admit_relay(request)?;
    if let Some(preparing) = place.clone() {
        relays.spawn(async move { preparing.index_if_missing().await });
    }
    frames::serve_websocket(endpoint(place), request, bounds, session, is_greeted)
}

/// Answers a POST to `endpoint`.
///
/// # Errors
/// The body is too large, cut short, or not declared as JSON.
pub async fn answer_post(
    endpoint: &Arc<dyn Endpoint>,
    request: &mut Request,
    bounds: &McpContext,
) -> Result<Response, codeinfo_http::HttpError> {
    let body = request.read_json_body().await?;
    let post = McpPost::new(|name| request.header(name), &body);
    let sent_post =
        post.sent_by(request.peer_address(), request.principal().map(Principal::as_str));
    Ok(match codeinfo_mcp::answer_post(endpoint, sent_post, bounds).await {
        McpReply::Accepted => reply::empty_response(StatusCode::ACCEPTED),
        McpReply::Greeting { text, client } => {
            add_session_header(reply::json_text(200, text), client.as_deref())
        }
        McpReply::Json { status, text } => reply::json_text(status, text),
        McpReply::Deferred(text) => codeinfo_http::delayed_json(text, bounds.keep_alive).await,
        McpReply::Events(messages) => sse::stream_messages(messages, bounds.keep_alive),
        McpReply::Listening(messages) => stream_changes(request, messages, bounds),
    })
}

/// Answers a GET to `endpoint`, which opens the stream that carries changes of its tools.
///
/// # Errors
/// The endpoint offers the client no such stream.
pub fn answer_get(
    endpoint: &dyn Endpoint,
    request: &Request,
    bounds: &McpContext,
) -> Result<Response, codeinfo_http::HttpError> {
    let get = McpPost::new(|name| request.header(name), b"");
    let opened = codeinfo_mcp::open_change_stream(endpoint, &get);
    let changes = opened.ok_or(codeinfo_http::HttpError::MethodNotAllowed { allow: "POST" })?;
    Ok(stream_changes(request, changes, bounds))
}

fn stream_changes(
    request: &Request,
    messages: BoxStream<'static, String>,
    bounds: &McpContext,
) -> Response {
    request.allow_eviction();
    sse::stream_messages(messages, bounds.keep_alive)
}

fn add_session_header(mut greeting: Response, client: Option<&str>) -> Response {
    let session = codeinfo_mcp::name_session(&Uuid::new_v4().to_string(), client);
    if let Ok(id) = HeaderValue::from_str(&session) {
        greeting.headers_mut().insert(SESSION, id);
    }
    greeting
}
