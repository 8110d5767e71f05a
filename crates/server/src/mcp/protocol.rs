//! The question server as an MCP endpoint: its instructions, its gate and its one tool.

use std::{path::Path, sync::Arc, time::Duration};

use codeinfo_chat::{Chat, TurnRequest};
use codeinfo_codex::{CodexAvailability, UnavailableReason};
use codeinfo_core::{
    FOLDER_META, Principal, error::format_error_chain, plain_name, telemetry::FailureLog,
};
use codeinfo_http::{AuthContext, HttpSettings};
use codeinfo_mcp::{
    Endpoint, EndpointInfo, JsonRpcError, McpTool, SchemaError, StartedCall, ToolCallError,
};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture, stream::BoxStream};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    client_bounds, error, progress,
    tool::{self, ErrorWording, ResponseForm, ResponseOptions},
};
use crate::mcp_http::{ClientFolder, RelayServices};

/// Maximum number of repositories that are named.
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

/// Text after the first line.
const INSTRUCTIONS: &str = "\
An answer takes one to three minutes. It cites files and lines, and `checked` says which citations are confirmed. \
For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; it says why and what to do.";

/// Endpoint with `codebase_question`. Clones share everything but the caller.
#[derive(Clone)]
pub(super) struct QuestionEndpoint {
    chat: Chat,
    about: Arc<EndpointInfo>,
    max_bytes: usize,
    /// True if the tool is listed while Codex is unavailable.
    lists_away: bool,
    /// Wording of the error for an unavailable Codex.
    wording: ErrorWording,
    failures: FailureLog,
    relays: RelayServices,
    /// The caller, if the request names one.
    principal: Option<Principal>,
    /// Cancelled when the caller's rights end.
    revoked: CancellationToken,
    /// Folder in which the client works, if a relay sends it.
    place: Option<Arc<ClientFolder>>,
    /// Ends streams that would otherwise last until the client leaves.
    stopping: CancellationToken,
}

impl QuestionEndpoint {
    pub(super) fn new(
        chat: Chat,
        http: &HttpSettings,
        relays: RelayServices,
        failures: FailureLog,
    ) -> Result<Self, SchemaError> {
        let max_bytes = http.max_result_bytes;
        let tools = vec![tool::codebase_question(max_bytes)?];
        let about = EndpointInfo {
            title: "CodeInfo".to_owned(),
            instructions: build_instructions(&[], None),
            tools,
            shared: true,
        };
        Ok(Self {
            chat,
            about: Arc::new(about),
            max_bytes,
            lists_away: http.lists_away,
            wording: ErrorWording::Code,
            failures,
            relays,
            principal: None,
            revoked: CancellationToken::new(),
            place: None,
            stopping: CancellationToken::new(),
        })
    }

    /// Returns the endpoint for an admitted caller, until the server is `stopping`.
    pub(super) fn with_caller(&self, admission: &AuthContext, stopping: CancellationToken) -> Self {
        let AuthContext { principal, revoked, .. } = admission.clone();
        Self { principal, revoked, stopping, ..self.clone() }
    }

    /// Returns the endpoint for the client of a relay, which always lists the tool and explains
    /// errors. With a `place`, results say what they miss of its repository.
    pub(super) fn serve_relay(self, place: Option<Arc<ClientFolder>>) -> Self {
        Self { place, lists_away: true, wording: ErrorWording::Explained, ..self }
    }

    /// Returns the names of the indexed repositories; none while the store fails.
    async fn repository_names(&self) -> Vec<String> {
        self.chat.repository_names().await.unwrap_or_else(|error| {
            warn!(error = format_error_chain(&error), "the repositories are not known");
            Vec::new()
        })
    }

    /// Returns why Codex is unavailable, waiting at most [`MAX_CHECK`]; `None` before the first
    /// check.
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

    /// Parses a call, or returns its faults.
    fn parse_call(
        &self,
        tool: &McpTool,
        arguments: Value,
        mut meta: Map<String, Value>,
    ) -> Result<(TurnRequest, ResponseForm), Vec<String>> {
        let wanted = ResponseOptions::parse(&meta);
        let sent_toolkits = tool::take_toolkits(&mut meta);
        let toolkits = sent_toolkits
            .map(|toolkits| self.chat.parse_toolkits(toolkits, self.principal.as_ref()));
        let asked = tool::parse_arguments(tool, arguments);
        let repository = tool::parse_repository(&meta);
        match (asked, repository, toolkits.transpose(), wanted) {
            (Ok((question, conversation)), Ok(repository), Ok(toolkits), Ok(segments)) => {
                let principal = self.principal.clone();
                let revoked = self.revoked.clone();
                let ask = TurnRequest::new(question, conversation);
                let folder = meta.get(FOLDER_META).and_then(Value::as_str).map(Path::new);
                let named = folder.map(|folder| Arc::new(self.relays.locate_client(folder)));
                let place = named.or_else(|| self.place.clone());
                let failures = self.failures.clone();
                let max_bytes = self.max_bytes.min(client_bounds::max_shown_bytes(&meta));
                let wording = self.wording;
                let is_follow_up = ask.conversation.is_some();
                let form =
                    ResponseForm { segments, max_bytes, place, is_follow_up, wording, failures };
                Ok((TurnRequest { repository, toolkits, principal, revoked, ..ask }, form))
            }
            (asked, repository, toolkits, wanted) => {
                let toolkit_fault =
                    toolkits.err().map(|error| format!("`_meta.{}`: {error}", tool::TOOLKITS_META));
                let faults = asked.err().into_iter().flatten();
                Err(faults
                    .chain(repository.err())
                    .chain(toolkit_fault)
                    .chain(wanted.err())
                    .collect())
            }
        }
    }
}

/// Joins the names of repositories, at most [`MAX_NAMED`]; empty if there are none.
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

impl Endpoint for QuestionEndpoint {
    fn endpoint_info(&self) -> &EndpointInfo {
        &self.about
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
            let description = tool::build_description(&repositories, self.max_bytes);
            let tools = self.about.tools.iter().cloned();
            tools.map(|tool| tool.with_listed_description(&description)).collect()
        }
        .boxed()
    }

    fn watch_tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        let stopped = self.stopping.clone().cancelled_owned();
        Some(self.chat.watch_availability().take_until(stopped).boxed())
    }

    fn gate_list(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        if self.lists_away { future::ready(Ok(())).boxed() } else { self.gate_calls() }
    }

    /// Refuses calls while Codex is unavailable. Checks again only while it is not known to be
    /// available.
    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        async move {
            match self.chat.codex_availability().await {
                CodexAvailability::Available { .. } => Ok(()),
                CodexAvailability::Unavailable(why) => {
                    error::note_away(&self.failures, &why);
                    Err(error::unavailable_error(&why, None, self.wording))
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
        let call = match self.parse_call(tool, arguments, meta) {
            Ok((ask, form)) => Ok(StartedCall::Running(
                progress::stream_updates(self.chat.clone(), ask, form).boxed(),
            )),
            Err(faults) => Err(ToolCallError::Arguments(faults)),
        };
        future::ready(call).boxed()
    }
}
