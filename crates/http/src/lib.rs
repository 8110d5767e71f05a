//! HTTP/1.1 on a bound listener: connections, limits, guards and replies.
//!
//! Routes, JSON-RPC and the content of a WebSocket are deliberately absent. A handler gets a
//! [`Request`] that passed the guard and returns a [`Response`]; this crate handles everything that
//! a stranger can do to a socket.

mod activity;
mod body;
mod delayed_json;
mod error;
mod framing;
mod gate;
mod guard;
mod path;
mod peer_account;
mod record;
pub mod reply;
mod request;
mod serve;
mod settings;
mod slots;
mod socket;
pub mod sse;
mod websocket;

use std::{convert::Infallible, future::Future};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

pub use activity::ServerActivity;
pub use delayed_json::delayed_json;
pub use error::HttpError;
pub use gate::{AccessRights, AuthContext, AuthGate, AuthRequest, SessionProof};
pub use path::split_path;
pub use record::QuietReply;
pub use request::{HttpRequestId, Request};
pub use serve::{Listener, serve};
pub use settings::{AllowedNames, HttpSettings};
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
