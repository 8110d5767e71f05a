//! An MCP endpoint on a listener: one POST of `net` answered by `codeinfo-mcp`. Both edges have one.

mod frames;
mod placed;
mod relays;

use std::sync::Arc;

use codeinfo_core::Principal;
use codeinfo_http::{HttpSettings, Request, Response, reply, sse};
use codeinfo_mcp::{Bounds, Calls, Endpoint, Post, Reply};
use futures_util::stream::BoxStream;
use hyper::{StatusCode, header::HeaderValue};
use uuid::Uuid;

pub use self::{
    placed::Placed,
    relays::{HEADER, PATH, Place, Relay, Relays, name_ingest_command, quote_path},
};

/// Where a client is given a session, and repeats it. It distinguishes the calls of one client from those of
/// another, and names the client: any session is accepted, and a restart loses nothing.
const SESSION: &str = "mcp-session-id";

/// Returns what holds for all messages to an edge.
pub fn bounds(http: &HttpSettings) -> Bounds {
    let HttpSettings { max_batch, keep_alive, .. } = *http;
    Bounds { max_batch, keep_alive, calls: Calls::default() }
}

/// Answers the handshake of a relay, and what comes over its connection to the `endpoint` for where it stands.
///
/// # Errors
/// What is no handshake, and one for which the server makes room.
pub fn relay(
    endpoint: impl FnOnce(Option<Arc<Place>>) -> Arc<dyn Endpoint>,
    request: &mut Request,
    (relays, bounds): (&Relays, &Bounds),
) -> Result<Response, codeinfo_http::HttpError> {
    let (session, is_greeted, place) = relays.admit(request)?;
    if let Some(preparing) = place.clone() {
        relays.spawn(async move { preparing.prepare().await });
    }
    frames::frames(endpoint(place), request, bounds, session, is_greeted)
}

/// Answers a POST to `endpoint`.
///
/// # Errors
/// A body that is not taken: too large, cut short, or not declared as JSON.
pub async fn post(
    endpoint: &Arc<dyn Endpoint>,
    request: &mut Request,
    bounds: &Bounds,
) -> Result<Response, codeinfo_http::HttpError> {
    let body = request.json().await?;
    let post = Post::new(|name| request.header(name), &body);
    let post = post.sent_by(request.peer(), request.principal().map(Principal::as_str));
    Ok(match codeinfo_mcp::answer(endpoint, post, bounds).await {
        Reply::Accepted => reply::empty(StatusCode::ACCEPTED),
        Reply::Greeting { text, client } => {
            with_session(reply::json_text(200, text), client.as_deref())
        }
        Reply::Json { status, text } => reply::json_text(status, text),
        Reply::Deferred(text) => codeinfo_http::delayed_json(text, bounds.keep_alive).await,
        Reply::Events(messages) => sse::messages(messages, bounds.keep_alive),
        Reply::Listening(messages) => listening(request, messages, bounds),
    })
}

/// Answers a GET to `endpoint`, which opens the stream that carries changes of its tools.
///
/// # Errors
/// The client is offered no such stream.
pub fn get(
    endpoint: &dyn Endpoint,
    request: &Request,
    bounds: &Bounds,
) -> Result<Response, codeinfo_http::HttpError> {
    let get = Post::new(|name| request.header(name), b"");
    let changes = codeinfo_mcp::listen(endpoint, &get);
    let changes = changes.ok_or(codeinfo_http::HttpError::MethodNotAllowed { allow: "POST" })?;
    Ok(listening(request, changes, bounds))
}

fn listening(request: &Request, messages: BoxStream<'static, String>, bounds: &Bounds) -> Response {
    request.rests();
    sse::messages(messages, bounds.keep_alive)
}

fn with_session(mut greeting: Response, client: Option<&str>) -> Response {
    let session = codeinfo_mcp::name_session(&Uuid::new_v4().to_string(), client);
    if let Ok(id) = HeaderValue::from_str(&session) {
        greeting.headers_mut().insert(SESSION, id);
    }
    greeting
}
