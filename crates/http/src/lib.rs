//! HTTP/1.1 on a bound listener: connections, limits, guards and replies.
//!
//! Deliberately absent: routes, JSON-RPC and what a WebSocket carries. A handler gets a [`Request`]
//! that passed the guard and returns a [`Response`]; everything a stranger can do to a socket is dealt
//! with here.

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

/// The one body type of replies.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// A reply on its way out.
pub type Response = hyper::Response<ResponseBody>;

/// Answers requests. Both listeners are handlers.
pub trait RequestHandler: Clone + Send + Sync + 'static {
    /// Answers one request. The future is dropped as soon as the client goes away, and so is the
    /// body of a streamed reply: whatever work it owns must end with it.
    fn handle_request(&self, request: &mut Request) -> impl Future<Output = Response> + Send;
}
