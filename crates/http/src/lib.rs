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

pub use activity::Activity;
pub use delayed_json::delayed_json;
pub use error::HttpError;
pub use gate::{Admission, Asked, Gate, Rights, SessionProof};
pub use path::segments;
pub use record::Quiet;
pub use request::{Request, RequestId};
pub use serve::{Listener, serve};
pub use settings::{AllowedNames, HttpSettings};
pub use websocket::{Happened, WebSocket, websocket};

/// The one body type of replies.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A reply on its way out.
pub type Response = hyper::Response<Body>;

/// Answers requests. Both listeners are handlers.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request. The future is dropped as soon as the client goes away, and so is the
    /// body of a streamed reply: whatever work it owns must end with it.
    fn answer(&self, request: &mut Request) -> impl Future<Output = Response> + Send;
}
