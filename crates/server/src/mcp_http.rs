//! An MCP endpoint on a listener: one POST of `net` answered by `codeinfo-mcp`. Both edges have one.

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

/// Where a client is given a session, and repeats it. It distinguishes the calls of one client from those of
/// another, and names the client: any session is accepted, and a restart loses nothing.
const SESSION: &str = "mcp-session-id";

/// Returns what holds for all messages to an edge.
pub fn build_message_bounds(http: &HttpSettings) -> McpContext {
    let HttpSettings { max_batch, keep_alive, .. } = *http;
    McpContext { max_batch, keep_alive, calls: CallRegistry::default() }
}

/// Answers the handshake of a relay, and what comes over its connection to the `endpoint` for where it stands.
///
/// # Errors
/// What is no handshake, and one for which the server makes room.
pub fn accept_relay(
    endpoint: impl FnOnce(Option<Arc<ClientFolder>>) -> Arc<dyn Endpoint>,
    request: &mut Request,
    (relays, bounds): (&RelayServices, &McpContext),
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
/// A body that is not taken: too large, cut short, or not declared as JSON.
pub async fn answer_post(
    endpoint: &Arc<dyn Endpoint>,
    request: &mut Request,
    bounds: &McpContext,
) -> Result<Response, codeinfo_http::HttpError> {
    let body = request.read_json_body().await?;
    let post = McpPost::new(|name| request.header(name), &body);
    let post = post.sent_by(request.peer_address(), request.principal().map(Principal::as_str));
    Ok(match codeinfo_mcp::answer_post(endpoint, post, bounds).await {
        McpReply::Accepted => reply::empty_response(StatusCode::ACCEPTED),
        McpReply::Greeting { text, client } => {
            with_session(reply::json_text(200, text), client.as_deref())
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
/// The client is offered no such stream.
pub fn answer_get(
    endpoint: &dyn Endpoint,
    request: &Request,
    bounds: &McpContext,
) -> Result<Response, codeinfo_http::HttpError> {
    let get = McpPost::new(|name| request.header(name), b"");
    let changes = codeinfo_mcp::open_change_stream(endpoint, &get);
    let changes = changes.ok_or(codeinfo_http::HttpError::MethodNotAllowed { allow: "POST" })?;
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

fn with_session(mut greeting: Response, client: Option<&str>) -> Response {
    let session = codeinfo_mcp::name_session(&Uuid::new_v4().to_string(), client);
    if let Ok(id) = HeaderValue::from_str(&session) {
        greeting.headers_mut().insert(SESSION, id);
    }
    greeting
}
