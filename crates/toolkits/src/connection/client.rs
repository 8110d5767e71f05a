//! Client of one toolkit, as its callers use it.

use std::sync::{Arc, atomic::Ordering};

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    CallResult, ToolCatalogue, ToolkitError, lifecycle,
    session::{ToolCallFault, ToolkitSessionGuard},
    state::{ClientInner, ClientPhase, MAX_CALLS, ToolkitStatus},
};
use crate::spec::{ToolkitName, ToolkitSpec};

/// Connection to one toolkit, started on demand.
pub struct ToolkitClient(Arc<ClientInner>);

impl ToolkitClient {
    pub(super) fn new(inner: ClientInner) -> Self {
        Self(Arc::new(inner))
    }

    pub fn name(&self) -> &ToolkitName {
        &self.0.name
    }

    /// Returns the owner; `None` if a file configures the toolkit.
    pub fn owner(&self) -> Option<&str> {
        self.0.owner.as_deref()
    }

    pub fn spec(&self) -> &ToolkitSpec {
        &self.0.spec
    }

    /// Returns the tools; starts the server if needed. Concurrent callers share one start.
    pub async fn load_catalogue(&self) -> Result<Arc<ToolCatalogue>, ToolkitError> {
        let _in_use = self.acquire_session().await?;
        let none = || self.0.not_running("it has no list of tools");
        self.0.known_catalogue().ok_or_else(none)
    }

    /// Returns the last known tools without starting the server.
    pub fn known_catalogue(&self) -> Option<Arc<ToolCatalogue>> {
        self.0.known_catalogue()
    }

    pub fn status(&self) -> ToolkitStatus {
        self.0.status()
    }

    /// Calls a tool; starts the server if needed. Dropping the future cancels the call. A read-only tool is
    /// called a second time if the connection broke.
    pub async fn call_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallResult, ToolkitError> {
        let inner = &*self.0;
        let Ok(Ok(_room)) = timeout(inner.spec.timeout, inner.calls.acquire()).await else {
            return Err(ToolkitError::Busy { name: inner.name.to_string(), most: MAX_CALLS });
        };
        let session = self.acquire_session().await?;
        let found = inner.known_catalogue();
        let reads =
            found.is_some_and(|found| found.find_tool(tool).is_some_and(|tool| tool.read_only));
        match self.call_once(session, tool, arguments.clone()).await {
            Err(ToolkitError::Ended { .. }) if reads => {
                let session = self.acquire_session().await?;
                self.call_once(session, tool, arguments).await
            }
            called => called,
        }
    }

    /// Starts the server, even if it failed too often.
    pub async fn start(&self) -> Result<Arc<ToolCatalogue>, ToolkitError> {
        self.0.reset_failures();
        self.load_catalogue().await
    }

    /// Stops the server and waits for its end. The next use starts it again.
    pub async fn stop(&self) {
        let mut phase = self.0.phase.subscribe();
        self.0.cancel_run();
        let stopped = phase
            .wait_for(|phase| matches!(phase, ClientPhase::Stopped | ClientPhase::Failing))
            .await;
        drop(stopped);
    }

    /// Stops the server permanently; remaining handles cannot restart it.
    pub(super) async fn retire(&self) {
        self.0.is_retired.store(true, Ordering::Release);
        self.stop().await;
    }

    /// Stops the server permanently and quickly, because its owner is revoked.
    pub(super) async fn revoke(&self) {
        self.0.grace.mark_revoked();
        self.retire().await;
    }

    /// Stops the server and starts it again.
    pub async fn restart(&self) -> Result<Arc<ToolCatalogue>, ToolkitError> {
        self.stop().await;
        self.start().await
    }

    async fn call_once(
        &self,
        session: ToolkitSessionGuard,
        tool_name: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallResult, ToolkitError> {
        let inner = &*self.0;
        let name = inner.name.to_string();
        let limit = inner.spec.timeout;
        let called = timeout(limit, session.call_tool(tool_name, arguments, &inner.redactor)).await;
        let tool = tool_name.to_owned();
        match called.unwrap_or(Err(ToolCallFault::TimedOut)) {
            Ok(result) => Ok(result.into()),
            Err(ToolCallFault::Transport(reason)) => Err(ToolkitError::Ended { name, reason }),
            Err(ToolCallFault::TimedOut) => {
                Err(ToolkitError::TimedOut { name, tool, after: limit })
            }
            Err(ToolCallFault::Refused(reason)) => {
                Err(ToolkitError::Refused { name, tool, reason })
            }
            Err(ToolCallFault::Unsuitable(reason)) => {
                Err(ToolkitError::Unsuitable { name, tool, reason })
            }
        }
    }

    async fn acquire_session(&self) -> Result<ToolkitSessionGuard, ToolkitError> {
        let inner = &self.0;
        if !inner.spec.enabled {
            return Err(ToolkitError::Disabled(inner.name.to_string()));
        }
        let mut phase = inner.phase.subscribe();
        // The task that starts the server knows better why it is slow, so its error comes first.
        let deadline = Instant::now() + inner.timing.start + inner.timing.tick;
        let mut has_begun = false;
        loop {
            if let Some(session) = inner.acquire_ready_session() {
                return Ok(session);
            }
            let present = phase.borrow_and_update().clone();
            match present {
                ClientPhase::Ready(_) => continue,
                ClientPhase::Failing => return Err(inner.failing_error()),
                ClientPhase::Stopping(Some(error)) => return Err(error),
                ClientPhase::Stopped if has_begun => return Err(inner.stopped_error()),
                ClientPhase::Stopped => {
                    self.begin_run()?;
                    has_begun = true;
                }
                ClientPhase::Starting | ClientPhase::Stopping(None) => {}
            }
            if timeout_at(deadline, phase.changed()).await.is_err() {
                let seconds = inner.timing.start.as_secs_f32();
                return Err(inner.not_running(format!("it did not start within {seconds} s")));
            }
        }
    }

    fn begin_run(&self) -> Result<(), ToolkitError> {
        let inner = &self.0;
        if inner.tasks.stop_token().is_cancelled() {
            return Err(ToolkitError::Stopping(inner.name.to_string()));
        }
        if inner.is_retired.load(Ordering::Acquire) {
            return Err(ToolkitError::Retired(inner.name.to_string()));
        }
        if let Some(run) = inner.begin_run()? {
            inner.tasks.spawn(lifecycle::supervise_client(Arc::clone(inner), run));
        }
        Ok(())
    }
}
