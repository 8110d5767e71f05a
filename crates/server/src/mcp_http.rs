//! Connects an MCP endpoint to a listener, for both edges.

mod frames;
mod relays;

use std::{path::Path, sync::Arc};

use codeinfo_core::{FOLDER_META, Principal};
use codeinfo_http::{AuthContext, HttpSettings, Request, Response, reply};
use codeinfo_mcp::{CallRegistry, Endpoint, McpContext, McpPost, McpReply};
use futures_util::stream::BoxStream;
use hyper::{StatusCode, header::HeaderValue};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use self::relays::{
    ClientFolder, HEADER, PATH, RelayServices, name_ingest_command, quote_path,
};

/// Header in which a client receives a session and repeats it. It separates the calls of clients
/// and names the client. Any session is accepted, and a restart loses nothing.
const SESSION: &str = "mcp-session-id";

/// Who calls a tool, from where, and until when.
#[derive(Clone, Default)]
pub struct CallContext {
    /// The caller, if it has proved a name.
    pub principal: Option<Principal>,
    /// Cancelled when the rights of the caller end.
    pub revoked: CancellationToken,
    /// Cancelled when the server stops. Ends streams that would last until the client leaves.
    pub stopping: CancellationToken,
    /// Folder in which the client works, if it is known.
    pub folder: Option<Arc<ClientFolder>>,
}

impl CallContext {
    pub fn from_request(request: &Request) -> Self {
        let AuthContext { principal, revoked, .. } = request.auth_context().clone();
        Self { principal, revoked, stopping: request.shutdown_token(), folder: None }
    }

    /// Returns the context of one call. A folder in its `_meta` replaces that of the connection.
    #[must_use]
    pub fn for_call(&self, meta: &Map<String, Value>, relays: &RelayServices) -> Self {
        let named = meta.get(FOLDER_META).and_then(Value::as_str).map(Path::new);
        let folder = named.map(|folder| Arc::new(relays.locate_client(folder)));
        Self { folder: folder.or_else(|| self.folder.clone()), ..self.clone() }
    }
}

/// Returns the bounds for all messages to an edge.
pub fn build_message_bounds(http: &HttpSettings) -> McpContext {
    let HttpSettings { max_batch, keep_alive, .. } = *http;
    McpContext { max_batch, keep_alive, calls: CallRegistry::default() }
}

/// Accepts the handshake of a relay, and answers its messages with the `endpoint` for its context.
///
/// # Errors
/// The request is not a handshake, or the server is stopping in favour of another one.
pub fn accept_relay(
    endpoint: impl FnOnce(CallContext) -> Arc<dyn Endpoint>,
    request: &mut Request,
    relays: &RelayServices,
    bounds: &McpContext,
) -> Result<Response, codeinfo_http::HttpError> {
    let (session, is_greeted, folder) = relays.admit_relay(request)?;
    if let Some(folder) = folder.clone() {
        relays.tasks.spawn(async move { folder.index_if_missing().await });
    }
    let context = CallContext { folder, ..CallContext::from_request(request) };
    frames::serve_websocket(endpoint(context), request, bounds, session, is_greeted)
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
        McpReply::Deferred(text) => reply::delayed_json(text, bounds.keep_alive).await,
        McpReply::Events(messages) => reply::stream_messages(messages, bounds.keep_alive),
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
    reply::stream_messages(messages, bounds.keep_alive)
}

fn add_session_header(mut greeting: Response, client: Option<&str>) -> Response {
    let session = codeinfo_mcp::name_session(&Uuid::new_v4().to_string(), client);
    if let Ok(id) = HeaderValue::from_str(&session) {
        greeting.headers_mut().insert(SESSION, id);
    }
    greeting
}
