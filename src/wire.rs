//! An MCP endpoint on a listener: one POST of `net` answered by `rpc`. Both edges have one.

use std::sync::Arc;

use hyper::StatusCode;

use crate::{
    config::Http,
    net::{self, Request, Response, reply, sse},
    rpc::{self, Endpoint, Post},
};

/// Answers a POST to `endpoint`.
///
/// # Errors
/// A body that is not taken: too large, cut short, or not declared as JSON.
pub async fn post(
    endpoint: &Arc<dyn Endpoint>,
    request: &mut Request,
    http: &Http,
) -> Result<Response, net::Fault> {
    let body = request.json().await?;
    let post = Post::new(|name| request.header(name), &body);
    Ok(match rpc::answer(endpoint, post, http).await {
        rpc::Reply::Accepted => reply::empty(StatusCode::ACCEPTED),
        rpc::Reply::Json { status, text } => reply::json_text(status, text),
        rpc::Reply::Late(text) => net::late(text, http.keep_alive).await,
        rpc::Reply::Events(messages) => sse::messages(messages, http.keep_alive),
    })
}
