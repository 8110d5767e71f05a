//! HTTP/1.1 on a bound listener: connections, limits, guards and replies.
//!
//! Routes, JSON-RPC and the content of a WebSocket are deliberately absent. A handler gets a
//! [`Request`] that passed the guard; this crate handles all that a stranger can do to a socket.

mod error;
mod framing;
mod gate;
mod guard;
mod peer_account;
mod record;
pub mod reply;
mod request;
mod serve;
mod slots;
mod socket;
mod websocket;

use std::{convert::Infallible, future::Future, time::Duration};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

pub use error::HttpError;
pub use gate::{AccessRights, AuthContext, AuthGate, AuthRequest, SessionProof};
pub use guard::AllowedNames;
pub use record::{QuietReply, ServerActivity};
pub use reply::{ErrorReply, error_response};
pub use request::{HttpRequestId, Request, split_path};
pub use serve::{Listener, serve};
pub use websocket::{WebSocket, WebSocketEvent, accept_websocket};

pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// Reply to a request.
pub type Response = hyper::Response<ResponseBody>;

/// Answers requests. Both listeners use it.
pub trait RequestHandler: Clone + Send + Sync + 'static {
    /// Answers one request. The future, and the body of a streamed reply, are dropped as soon as
    /// the client disconnects; the work that they own must end then.
    fn handle_request(&self, request: &mut Request) -> impl Future<Output = Response> + Send;
}

/// Bounds of both listeners.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: usize,
    /// Maximum open connections of one listener; further ones wait to be accepted.
    pub max_connections: usize,
    /// Maximum JSON-RPC messages in one batch.
    pub max_batch: usize,
    /// Maximum bytes of a result of `codebase_question`, unless the answer alone has more.
    pub max_result_bytes: usize,
    /// True if port 5011 lists `codebase_question` while Codex is unavailable.
    pub lists_away: bool,
    /// Maximum time until the first byte of a new connection.
    pub first_byte_timeout: Duration,
    /// Maximum time for a client to send its headers or its body, or to begin another request.
    pub read_timeout: Duration,
    /// Maximum time in which a client reads nothing of a waiting reply.
    pub write_timeout: Duration,
    /// Interval of keep-alive data in a silent long reply.
    pub keep_alive: Duration,
}

impl HttpSettings {
    /// Lowers the maximum connections of one listener to `max_connections`, but at least 1.
    pub fn limit_connections(&mut self, max_connections: u64) {
        let max_connections = usize::try_from(max_connections).unwrap_or(usize::MAX).max(1);
        self.max_connections = self.max_connections.min(max_connections);
    }
}
