//! Session of one connection: its users, the last answer, the reason of its end, and the handler of notices.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        self, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
        ClientConfig, ClientRequest, ErrorData, Implementation, ListRootsRequestMethod,
        PingRequest,
    },
    service::{NotificationContext, Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::{Map, Value};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{ConnectionTiming, messages::MessageRedactor, process::ToolkitOutput};

/// Maximum wait for the reason of a broken connection.
pub(super) const MAX_EXPLANATION_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

pub(super) struct ToolkitSession {
    pub(super) peer: Peer<RoleClient>,
    pub(super) process: Option<u32>,
    pub(super) output: Option<Arc<ToolkitOutput>>,
    /// Requests a ping after a fault.
    pub(super) suspect: Notify,
    users: AtomicUsize,
    last_use: Mutex<Instant>,
    last_response: Mutex<Instant>,
    ended: CancellationToken,
    reason: OnceLock<String>,
}

pub(super) enum ToolCallFault {
    /// The outcome of the call is unknown.
    Transport(String),
    TimedOut,
    Refused(String),
    Unsuitable(&'static str),
}

/// Guard that keeps a session from being stopped as idle.
pub(super) struct ToolkitSessionGuard(Arc<ToolkitSession>);

impl ToolkitSession {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        process: Option<u32>,
        output: Option<Arc<ToolkitOutput>>,
    ) -> Self {
        let now = Instant::now();
        Self {
            peer,
            process,
            output,
            suspect: Notify::new(),
            users: AtomicUsize::new(0),
            last_use: Mutex::new(now),
            last_response: Mutex::new(now),
            ended: CancellationToken::new(),
            reason: OnceLock::new(),
        }
    }

    pub(super) fn acquire(self: &Arc<Self>) -> ToolkitSessionGuard {
        self.users.fetch_add(1, Ordering::AcqRel);
        ToolkitSessionGuard(Arc::clone(self))
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0
    }

    pub(super) fn last_used_at(&self) -> Instant {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last_response_at(&self) -> Instant {
        let last_response = *self.last_response.lock().unwrap_or_else(PoisonError::into_inner);
        self.output
            .as_ref()
            .map_or(last_response, |output| output.last_response_at().max(last_response))
    }

    fn record_response(&self) {
        *self.last_response.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Records why the connection ended; broken calls report this reason.
    pub(super) fn mark_ended(&self, reason: String) {
        drop(self.reason.set(reason));
        self.ended.cancel();
    }

    /// Pings the server. Returns a reason if it does not answer.
    pub(super) async fn ping(
        &self,
        timing: &ConnectionTiming,
        redactor: &MessageRedactor,
    ) -> Option<String> {
        let options = PeerRequestOptions::with_timeout(timing.pong);
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = match self.peer.send_request_with_option(ping, options).await {
            Ok(asked) => asked.await_response().await,
            Err(error) => Err(error),
        };
        match answered {
            // A server that rejects the request is alive.
            Ok(_) | Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => {
                self.record_response();
                None
            }
            // A server that handles one request at a time may be busy.
            Err(ServiceError::Timeout { .. }) if self.is_in_use() => None,
            Err(ServiceError::Timeout { timeout }) => {
                Some(format!("it did not answer a ping within {} s", timeout.as_secs_f32()))
            }
            Err(error) => Some(redactor.describe_fault(&error)),
        }
    }

    /// Calls a tool once. Dropping the future cancels the call.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        redactor: &MessageRedactor,
    ) -> Result<CallToolResult, ToolCallFault> {
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let error = match self.peer.call_tool_once(asked).await {
            Ok(CallToolResponse::Complete(result)) => {
                self.record_response();
                return Ok(result);
            }
            Ok(CallToolResponse::InputRequired(_)) => {
                return Err(ToolCallFault::Unsuitable(
                    "it asks for input, which a turn cannot give",
                ));
            }
            Ok(_) => {
                return Err(ToolCallFault::Unsuitable("it answers later, which is not supported"));
            }
            Err(error) => error,
        };
        match error {
            ServiceError::McpError(error) => {
                self.record_response();
                Err(ToolCallFault::Refused(redactor.redact_refusal(&error.message)))
            }
            ServiceError::UnexpectedResponse => {
                Err(ToolCallFault::Unsuitable("its answer is no result of a tool"))
            }
            // Without a process, no better reason will follow.
            error @ ServiceError::TransportSend(_) if self.process.is_none() => {
                self.suspect.notify_one();
                Err(ToolCallFault::Transport(redactor.describe_fault(&error)))
            }
            _ => {
                self.suspect.notify_one();
                drop(timeout(MAX_EXPLANATION_WAIT, self.ended.cancelled()).await);
                let reason = self.reason.get().map_or("the connection broke", String::as_str);
                Err(ToolCallFault::Transport(reason.to_owned()))
            }
        }
    }
}

impl std::ops::Deref for ToolkitSessionGuard {
    type Target = ToolkitSession;

    fn deref(&self) -> &ToolkitSession {
        &self.0
    }
}

impl Drop for ToolkitSessionGuard {
    fn drop(&mut self) {
        *self.0.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.users.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Handler that declines sampling and elicitation (by default) and listing roots.
#[derive(Debug, Clone)]
pub(super) struct ToolkitClientHandler {
    pub(super) changed: Arc<Notify>,
}

impl ClientHandler for ToolkitClientHandler {
    fn get_info(&self) -> ClientConfig {
        let ourselves = Implementation::new("codeinfo", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), ourselves)
    }

    #[expect(deprecated, reason = "servers of today still ask")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
