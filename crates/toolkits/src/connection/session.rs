//! One connection while it lasts: who uses it, when its server answered last, and how it ended.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, PingRequest},
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{ConnectionTiming, pipes::ToolkitOutput, words::MessageRedactor};

/// How long the end of a connection may take to be explained.
pub(super) const EXPLAINED: std::time::Duration = std::time::Duration::from_secs(2);

pub(super) struct ToolkitSession {
    pub(super) peer: Peer<RoleClient>,
    pub(super) process: Option<u32>,
    /// Where there is a process.
    pub(super) output: Option<Arc<ToolkitOutput>>,
    /// Asks for a ping, after a fault.
    pub(super) suspect: Notify,
    users: AtomicUsize,
    used: Mutex<Instant>,
    heard: Mutex<Instant>,
    ended: CancellationToken,
    reason: OnceLock<String>,
}

/// What a call failed for.
pub(super) enum ToolCallFault {
    /// Nobody knows what became of the call.
    Transport(String),
    TimedOut,
    Refused(String),
    Unsuitable(&'static str),
}

/// A session that is being used, and not stopped for being idle.
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
            used: Mutex::new(now),
            heard: Mutex::new(now),
            ended: CancellationToken::new(),
            reason: OnceLock::new(),
        }
    }

    pub(super) fn use_it(self: &Arc<Self>) -> ToolkitSessionGuard {
        self.users.fetch_add(1, Ordering::AcqRel);
        ToolkitSessionGuard(Arc::clone(self))
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0
    }

    pub(super) fn last_used_at(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the server answered last.
    pub(super) fn last_response_at(&self) -> Instant {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        self.output.as_ref().map_or(heard, |output| output.last_response_at().max(heard))
    }

    fn note_response(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes how the connection ended; calls that broke off with it say so.
    pub(super) fn mark_ended(&self, reason: String) {
        drop(self.reason.set(reason));
        self.ended.cancel();
    }

    /// Returns what is wrong if the server does not answer.
    pub(super) async fn ping(
        &self,
        timing: &ConnectionTiming,
        words: &MessageRedactor,
    ) -> Option<String> {
        let options = PeerRequestOptions::with_timeout(timing.pong);
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = match self.peer.send_request_with_option(ping, options).await {
            Ok(asked) => asked.await_response().await,
            Err(error) => Err(error),
        };
        match answered {
            // One that does not know the question is there, too.
            Ok(_) | Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => {
                self.note_response();
                None
            }
            // A server that does one thing after the other may be at work.
            Err(ServiceError::Timeout { .. }) if self.is_in_use() => None,
            Err(ServiceError::Timeout { timeout }) => {
                Some(format!("it did not answer a ping within {} s", timeout.as_secs_f32()))
            }
            Err(error) => Some(words.describe_fault(&error)),
        }
    }

    /// Calls a tool once. Dropped, the call is cancelled.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        words: &MessageRedactor,
    ) -> Result<CallToolResult, ToolCallFault> {
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let error = match self.peer.call_tool_once(asked).await {
            Ok(CallToolResponse::Complete(result)) => {
                self.note_response();
                return Ok(result);
            }
            Ok(CallToolResponse::InputRequired(_)) => {
                return Err(ToolCallFault::Unsuitable(
                    "it asks for input, and nobody is there to give any",
                ));
            }
            Ok(_) => {
                return Err(ToolCallFault::Unsuitable("it answers later, which nobody waits for"));
            }
            Err(error) => error,
        };
        match error {
            ServiceError::McpError(error) => {
                self.note_response();
                Err(ToolCallFault::Refused(words.redact_refusal(&error.message)))
            }
            ServiceError::UnexpectedResponse => {
                Err(ToolCallFault::Unsuitable("its answer is no result of a tool"))
            }
            // A process says itself why it ended.
            error @ ServiceError::TransportSend(_) if self.process.is_none() => {
                self.suspect.notify_one();
                Err(ToolCallFault::Transport(words.describe_fault(&error)))
            }
            _ => {
                self.suspect.notify_one();
                drop(timeout(EXPLAINED, self.ended.cancelled()).await);
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
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.users.fetch_sub(1, Ordering::AcqRel);
    }
}
