//! The MCP server (port 5011): one tool, `codebase_question`.

mod error;
mod progress;
mod protocol;
mod tool;

use std::sync::Arc;

use codeinfo_mcp::{Bounds, Endpoint, SchemaError};
use hyper::Method;

use crate::{
    chat::Chat,
    config::Http,
    mcp_http::{self, Form, Relays},
    net::{self, Handler, Request, Response},
};
use protocol::Questions;

/// The handler of the MCP listener.
#[derive(Clone)]
pub struct Mcp {
    questions: Questions,
    bounds: Bounds,
    relays: Relays,
}

impl Mcp {
    /// Builds the handler; fails only when the tool's schema is invalid.
    pub fn new(chat: Chat, http: &Http, relays: Relays) -> Result<Self, SchemaError> {
        Ok(Self { questions: Questions::new(chat)?, bounds: mcp_http::bounds(http), relays })
    }

    async fn post(&self, request: &mut Request) -> Result<Response, net::HttpError> {
        match (request.method(), request.path()) {
            (&Method::POST, "/" | "/mcp") => {}
            (&Method::GET, mcp_http::PATH) => {
                let questions = self.questions.asked_by(request.principal().cloned());
                let parts = (&self.relays, &self.bounds);
                return mcp_http::relay(Arc::new(questions), Form::Json, request, parts);
            }
            (_, mcp_http::PATH) => return Err(net::HttpError::MethodNotAllowed { allow: "GET" }),
            (_, "/" | "/mcp") => return Err(net::HttpError::MethodNotAllowed { allow: "POST" }),
            _ => return Err(net::HttpError::RouteNotFound),
        }
        let questions = self.questions.asked_by(request.principal().cloned());
        let endpoint: Arc<dyn Endpoint> = Arc::new(questions);
        mcp_http::post(&endpoint, request, &self.bounds).await
    }
}

impl Handler for Mcp {
    async fn answer(&self, request: &mut Request) -> Response {
        self.post(request).await.unwrap_or_else(Response::from)
    }
}
