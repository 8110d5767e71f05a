//! An MCP endpoint on a listener: one POST of `net` answered by `codeinfo-mcp`. Both edges have one.

use std::sync::Arc;

use codeinfo_mcp::{Bounds, Endpoint, Post, Reply};
use hyper::StatusCode;

use crate::{
    config::Http,
    net::{self, Request, Response, reply, sse},
};

/// Answers a POST to `endpoint`.
///
/// # Errors
/// A body that is not taken: too large, cut short, or not declared as JSON.
pub async fn post(
    endpoint: &Arc<dyn Endpoint>,
    request: &mut Request,
    http: &Http,
) -> Result<Response, net::HttpError> {
    let body = request.json().await?;
    let post = Post::new(|name| request.header(name), &body);
    let bounds = Bounds { max_batch: http.max_batch, keep_alive: http.keep_alive };
    Ok(match codeinfo_mcp::answer(endpoint, post, &bounds).await {
        Reply::Accepted => reply::empty(StatusCode::ACCEPTED),
        Reply::Json { status, text } => reply::json_text(status, text),
        Reply::Deferred(text) => net::delayed_json(text, http.keep_alive).await,
        Reply::Events(messages) => sse::messages(messages, http.keep_alive),
    })
}
