//! The MCP server (port 5011): one tool, `codebase_question`.

mod outcome;
mod progress;
mod question;
mod result;

use std::{sync::Arc, time::Duration};

use codeinfo_chat::Chat;
use codeinfo_codex::{CodexAvailability, UnavailableReason};
use codeinfo_core::{error::format_error_chain, plain_name, telemetry::FailureLog};
use codeinfo_http::{HttpError, HttpSettings, Request, RequestHandler, Response};
use codeinfo_mcp::{
    Endpoint, EndpointInfo, JsonRpcError, McpContext, McpTool, SchemaError, StartedCall,
    ToolCallError,
};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture, stream::BoxStream};
use hyper::Method;
use serde_json::{Map, Value};
use tokio::time::timeout;
use tracing::warn;

use self::question::ErrorWording;
use crate::mcp_http::{self, CallContext, RelayServices};

const MAX_NAMED: usize = 8;
const MAX_NAME_CHARS: usize = 60;
/// Maximum duration of a Codex check for a client that connects; a client that asks waits longer.
const MAX_CHECK: Duration = Duration::from_secs(1);

/// Advice on when to use the server, at most 180 characters. Some clients show a model only this
/// line, cut at 250 characters, so the names of repositories follow it.
const FIRST_LINE: &str = "\
Before grep or reading files, ask codebase_question how this code works, where something is, what uses it or what a change affects: \
it answers from the whole index with path:lines.";
const _: () = assert!(FIRST_LINE.len() <= 180);

const INSTRUCTIONS: &str = "\
An answer takes one to three minutes. It cites files and lines, and `checked` says which citations are confirmed. \
For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; it says why and what to do.";

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

    async fn dispatch_request(&self, request: &mut Request) -> Result<Response, HttpError> {
        let context = CallContext::from_request(request);
        match (request.method(), request.path()) {
            (&Method::POST, "/" | "/mcp") => {
                let questions: Arc<dyn Endpoint> = Arc::new(self.questions.with_context(context));
                mcp_http::answer_post(&questions, request, &self.bounds).await
            }
            (&Method::GET, "/" | "/mcp") => {
                let questions = self.questions.with_context(context);
                mcp_http::answer_get(&questions, request, &self.bounds)
            }
            (&Method::GET, mcp_http::PATH) => mcp_http::accept_relay(
                |context| Arc::new(self.questions.for_relay(context)),
                request,
                &self.relays,
                &self.bounds,
            ),
            (_, mcp_http::PATH) => Err(HttpError::MethodNotAllowed { allow: "GET" }),
            (_, "/" | "/mcp") => Err(HttpError::MethodNotAllowed { allow: "POST" }),
            _ => Err(HttpError::RouteNotFound),
        }
    }
}

impl RequestHandler for McpApi {
    async fn handle_request(&self, request: &mut Request) -> Response {
        self.dispatch_request(request).await.unwrap_or_else(Response::from)
    }
}

/// Endpoint with `codebase_question`. Clones share everything but the context.
#[derive(Clone)]
struct QuestionEndpoint {
    chat: Chat,
    info: Arc<EndpointInfo>,
    max_bytes: usize,
    /// True if the tool is listed while Codex is unavailable.
    lists_away: bool,
    wording: ErrorWording,
    failures: FailureLog,
    relays: RelayServices,
    context: CallContext,
}

impl QuestionEndpoint {
    fn new(
        chat: Chat,
        http: &HttpSettings,
        relays: RelayServices,
        failures: FailureLog,
    ) -> Result<Self, SchemaError> {
        let max_bytes = http.max_result_bytes;
        let tools = vec![question::codebase_question(max_bytes)?];
        let info = EndpointInfo {
            title: "CodeInfo".to_owned(),
            instructions: build_instructions(&[], None),
            tools,
            shared: true,
        };
        Ok(Self {
            chat,
            info: Arc::new(info),
            max_bytes,
            lists_away: http.lists_away,
            wording: ErrorWording::Code,
            failures,
            relays,
            context: CallContext::default(),
        })
    }

    fn with_context(&self, context: CallContext) -> Self {
        Self { context, ..self.clone() }
    }

    /// Returns the endpoint for a relay's client, which always lists the tool and explains errors.
    fn for_relay(&self, context: CallContext) -> Self {
        let wording = ErrorWording::Explained;
        Self { context, lists_away: true, wording, ..self.clone() }
    }

    /// Returns the names of the indexed repositories; none while the store fails.
    async fn repository_names(&self) -> Vec<String> {
        self.chat.repository_names().await.unwrap_or_else(|error| {
            warn!(error = format_error_chain(&error), "the repositories are not known");
            Vec::new()
        })
    }

    /// Returns why Codex is unavailable, within [`MAX_CHECK`]; `None` before the first check.
    async fn find_unavailability(&self) -> Option<UnavailableReason> {
        let Some(CodexAvailability::Unavailable(known)) = self.chat.known_availability() else {
            return None;
        };
        match timeout(MAX_CHECK, self.chat.codex_availability()).await {
            Ok(CodexAvailability::Available { .. }) => None,
            Ok(CodexAvailability::Unavailable(why)) => Some(why),
            Err(_) => Some(known),
        }
    }
}

impl Endpoint for QuestionEndpoint {
    fn endpoint_info(&self) -> &EndpointInfo {
        &self.info
    }

    fn load_instructions(&self) -> BoxFuture<'_, String> {
        async move {
            build_instructions(
                &self.repository_names().await,
                self.find_unavailability().await.as_ref(),
            )
        }
        .boxed()
    }

    fn list_tools(&self) -> BoxFuture<'_, Vec<McpTool>> {
        async move {
            let repositories = match join_names(&self.repository_names().await) {
                names if names.is_empty() => String::new(),
                names => format!(" ({names})"),
            };
            let description = question::build_description(&repositories, self.max_bytes);
            let tools = self.info.tools.iter().cloned();
            tools.map(|tool| tool.with_listed_description(&description)).collect()
        }
        .boxed()
    }

    fn watch_tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        let stopped = self.context.stopping.clone().cancelled_owned();
        Some(self.chat.watch_availability().take_until(stopped).boxed())
    }

    fn gate_list(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        if self.lists_away { future::ready(Ok(())).boxed() } else { self.gate_calls() }
    }

    /// Refuses calls while Codex is unavailable; checks again unless it is known to be available.
    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        async move {
            match self.chat.codex_availability().await {
                CodexAvailability::Available { .. } => Ok(()),
                CodexAvailability::Unavailable(why) => {
                    outcome::record_unavailability(&self.failures, &why);
                    Err(outcome::unavailable_error(&why, None, self.wording))
                }
            }
        }
        .boxed()
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>> {
        let question = self.parse_question(tool, arguments, meta);
        let updates = question.map(|question| question.stream_updates(self.chat.clone()).boxed());
        let started = updates.map(StartedCall::Running).map_err(ToolCallError::Arguments);
        future::ready(started).boxed()
    }
}

fn join_names(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(MAX_NAMED).map(|name| plain_name(name, MAX_NAME_CHARS)).collect();
    match (shown.join(", "), names.len().saturating_sub(MAX_NAMED)) {
        (shown, 0) => shown,
        (shown, more) => format!("{shown} and {more} more"),
    }
}

/// Builds the instructions. Their first line alone says what the server is for.
fn build_instructions(names: &[String], away: Option<&UnavailableReason>) -> String {
    let repositories = match join_names(names) {
        names if names.is_empty() => String::new(),
        names => format!(" Indexed: {names}."),
    };
    let state = away.map(|UnavailableReason { reason, hint }| {
        format!(
            "\nAt the moment codebase_question cannot answer, because Codex cannot be used: {reason}. Tell the \
             user what to do: {hint}. `codeinfo doctor` checks every part."
        )
    });
    format!("{FIRST_LINE}{repositories}\n{INSTRUCTIONS}{}", state.unwrap_or_default())
}
