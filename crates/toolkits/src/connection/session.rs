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

use super::{Timing, pipes::Output, words::Words};

/// How long the end of a connection may take to be explained.
pub(super) const EXPLAINED: std::time::Duration = std::time::Duration::from_secs(2);

pub(super) struct Session {
    pub(super) peer: Peer<RoleClient>,
    pub(super) process: Option<u32>,
    /// Where there is a process.
    pub(super) output: Option<Arc<Output>>,
    /// Asks for a ping, after a fault.
    pub(super) suspect: Notify,
    users: AtomicUsize,
    used: Mutex<Instant>,
    heard: Mutex<Instant>,
    ended: CancellationToken,
    reason: OnceLock<String>,
}

/// What a call failed for.
pub(super) enum Fault {
    /// Nobody knows what became of the call.
    Transport(String),
    TimedOut,
    Refused(String),
    Unsuitable(&'static str),
}

/// A session that is being used, and not stopped for being idle.
pub(super) struct InUse(Arc<Session>);

impl Session {
    pub(super) fn new(
        peer: Peer<RoleClient>,
        process: Option<u32>,
        output: Option<Arc<Output>>,
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

    pub(super) fn use_it(self: &Arc<Self>) -> InUse {
        self.users.fetch_add(1, Ordering::AcqRel);
        InUse(Arc::clone(self))
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.users.load(Ordering::Acquire) > 0
    }

    pub(super) fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the server answered last.
    pub(super) fn heard(&self) -> Instant {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        self.output.as_ref().map_or(heard, |output| output.heard().max(heard))
    }

    fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes how the connection ended; calls that broke off with it say so.
    pub(super) fn finish(&self, reason: String) {
        drop(self.reason.set(reason));
        self.ended.cancel();
    }

    /// Returns what is wrong if the server does not answer.
    pub(super) async fn ping(&self, timing: &Timing, words: &Words) -> Option<String> {
        let options = PeerRequestOptions::with_timeout(timing.pong);
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = match self.peer.send_request_with_option(ping, options).await {
            Ok(asked) => asked.await_response().await,
            Err(error) => Err(error),
        };
        match answered {
            // One that does not know the question is there, too.
            Ok(_) | Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => {
                self.hear();
                None
            }
            // A server that does one thing after the other may be at work.
            Err(ServiceError::Timeout { .. }) if self.is_in_use() => None,
            Err(ServiceError::Timeout { timeout }) => {
                Some(format!("it did not answer a ping within {} s", timeout.as_secs_f32()))
            }
            Err(error) => Some(words.fault(&error)),
        }
    }

    /// Calls a tool once. Dropped, the call is cancelled.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        words: &Words,
    ) -> Result<CallToolResult, Fault> {
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let error = match self.peer.call_tool_once(asked).await {
            Ok(CallToolResponse::Complete(result)) => {
                self.hear();
                return Ok(result);
            }
            Ok(CallToolResponse::InputRequired(_)) => {
                return Err(Fault::Unsuitable(
                    "it asks for input, and nobody is there to give any",
                ));
            }
            Ok(_) => {
                return Err(Fault::Unsuitable("it answers later, which nobody waits for"));
            }
            Err(error) => error,
        };
        match error {
            ServiceError::McpError(error) => {
                self.hear();
                Err(Fault::Refused(words.refusal(&error.message)))
            }
            ServiceError::UnexpectedResponse => {
                Err(Fault::Unsuitable("its answer is no result of a tool"))
            }
            // A process says itself why it ended.
            error @ ServiceError::TransportSend(_) if self.process.is_none() => {
                self.suspect.notify_one();
                Err(Fault::Transport(words.fault(&error)))
            }
            _ => {
                self.suspect.notify_one();
                drop(timeout(EXPLAINED, self.ended.cancelled()).await);
                let reason = self.reason.get().map_or("the connection broke", String::as_str);
                Err(Fault::Transport(reason.to_owned()))
            }
        }
    }
}

impl std::ops::Deref for InUse {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.users.fetch_sub(1, Ordering::AcqRel);
    }
}
