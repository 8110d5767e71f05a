//! The MCP server (port 5011): one tool, `codebase_question`.

mod client_bounds;
mod error;
mod plain;
mod progress;
mod protocol;
mod result;
mod tool;

use std::sync::Arc;

use codeinfo_mcp::{Endpoint, McpContext, SchemaError};
use hyper::Method;

use crate::mcp_http::{self, RelayServices};
use codeinfo_chat::Chat;
use codeinfo_core::telemetry::FailureLog;
use codeinfo_http::{HttpSettings, Request, RequestHandler, Response};
use protocol::QuestionEndpoint;

#[derive(Clone)]
pub struct McpApi {
    questions: QuestionEndpoint,
    bounds: McpContext,
    relays: RelayServices,
}

impl McpApi {
    /// Builds the handler. Fails only when the tool's schema is invalid.
    pub fn new(
        chat: Chat,
        http: &HttpSettings,
        relays: RelayServices,
        failures: FailureLog,
    ) -> Result<Self, SchemaError> {
        Ok(Self {
            questions: QuestionEndpoint::new(chat, http, relays.clone(), failures)?,
            bounds: mcp_http::build_message_bounds(http),
            relays,
        })
    }

    async fn dispatch_request(
        &self,
        request: &mut Request,
    ) -> Result<Response, codeinfo_http::HttpError> {
        // For the caller of this request, until the server stops.
        let questions =
            self.questions.with_caller(request.auth_context(), request.shutdown_token());
        match (request.method(), request.path()) {
            (&Method::POST, "/" | "/mcp") => {
                let questions: Arc<dyn Endpoint> = Arc::new(questions);
                mcp_http::answer_post(&questions, request, &self.bounds).await
            }
            (&Method::GET, "/" | "/mcp") => mcp_http::answer_get(&questions, request, &self.bounds),
            (&Method::GET, mcp_http::PATH) => mcp_http::accept_relay(
                |place| Arc::new(questions.serve_relay(place)),
                request,
                &self.relays,
                &self.bounds,
            ),
            (_, mcp_http::PATH) => Err(codeinfo_http::HttpError::MethodNotAllowed { allow: "GET" }),
            (_, "/" | "/mcp") => Err(codeinfo_http::HttpError::MethodNotAllowed { allow: "POST" }),
            _ => Err(codeinfo_http::HttpError::RouteNotFound),
        }
    }
}

impl RequestHandler for McpApi {
    async fn handle_request(&self, request: &mut Request) -> Response {
        self.dispatch_request(request).await.unwrap_or_else(Response::from)
    }
}
