//! The MCP server (port 5011): one tool, `codebase_question`.

mod client_bounds;
mod error;
mod plain;
mod progress;
mod protocol;
mod result;
mod tool;

use std::sync::Arc;

use codeinfo_mcp::{Bounds, Endpoint, SchemaError};
use hyper::Method;

use crate::mcp_http::{self, Relays};
use codeinfo_chat::Chat;
use codeinfo_core::telemetry::Failures;
use codeinfo_http::{Handler, HttpSettings, Request, Response};
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
    pub fn new(
        chat: Chat,
        http: &HttpSettings,
        relays: Relays,
        failures: Failures,
    ) -> Result<Self, SchemaError> {
        Ok(Self {
            questions: Questions::new(chat, http, relays.clone(), failures)?,
            bounds: mcp_http::bounds(http),
            relays,
        })
    }

    async fn exchange(&self, request: &mut Request) -> Result<Response, codeinfo_http::HttpError> {
        // As the one who asks has it, until the server stops.
        let questions = self.questions.asked_by(request.admission(), request.stopping());
        match (request.method(), request.path()) {
            (&Method::POST, "/" | "/mcp") => {
                let questions: Arc<dyn Endpoint> = Arc::new(questions);
                mcp_http::post(&questions, request, &self.bounds).await
            }
            (&Method::GET, "/" | "/mcp") => mcp_http::get(&questions, request, &self.bounds),
            (&Method::GET, mcp_http::PATH) => {
                let parts = (&self.relays, &self.bounds);
                mcp_http::relay(|place| Arc::new(questions.serve_relay(place)), request, parts)
            }
            (_, mcp_http::PATH) => Err(codeinfo_http::HttpError::MethodNotAllowed { allow: "GET" }),
            (_, "/" | "/mcp") => Err(codeinfo_http::HttpError::MethodNotAllowed { allow: "POST" }),
            _ => Err(codeinfo_http::HttpError::RouteNotFound),
        }
    }
}

impl Handler for Mcp {
    async fn answer(&self, request: &mut Request) -> Response {
        self.exchange(request).await.unwrap_or_else(Response::from)
    }
}
