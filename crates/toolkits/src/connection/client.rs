//! A client as its callers see it.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    CallResult, Catalogue, ToolkitError, lifecycle,
    session::{Fault, InUse},
    state::{Inner, MAX_CALLS, Phase, Status},
};
use crate::spec::{ToolkitName, ToolkitSpec};

/// The connection to one toolkit, which is started when it is needed.
pub struct Client(Arc<Inner>);

impl Client {
    pub(super) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    pub fn name(&self) -> &ToolkitName {
        &self.0.name
    }

    /// Returns whose client it is; `None` where it is configured.
    pub fn owner(&self) -> Option<&str> {
        self.0.owner.as_deref()
    }

    pub fn spec(&self) -> &ToolkitSpec {
        &self.0.spec
    }

    /// Returns the tools, and starts the server if need be. Callers at the same time share one start.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, ToolkitError> {
        let _in_use = self.session().await?;
        let none = || self.0.not_running("it has no list of tools");
        self.0.known().ok_or_else(none)
    }

    /// Returns the tools that were known last, without starting anything.
    pub fn known(&self) -> Option<Arc<Catalogue>> {
        self.0.known()
    }

    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Calls a tool, and starts the server if need be. Dropping the future cancels the call. A tool that
    /// only reads is called again once where the connection broke.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallResult, ToolkitError> {
        let inner = &*self.0;
        let Ok(Ok(_room)) = timeout(inner.spec.timeout, inner.calls.acquire()).await else {
            return Err(ToolkitError::Busy { name: inner.name.to_string(), most: MAX_CALLS });
        };
        let session = self.session().await?;
        let found = inner.known();
        let reads = found.is_some_and(|found| found.tool(tool).is_some_and(|tool| tool.read_only));
        match self.call_once(session, tool, arguments.clone()).await {
            Err(ToolkitError::Ended { .. }) if reads => {
                let session = self.session().await?;
                self.call_once(session, tool, arguments).await
            }
            called => called,
        }
    }

    /// Starts the server, also where it failed too often.
    pub async fn start(&self) -> Result<Arc<Catalogue>, ToolkitError> {
        self.0.forgive();
        self.catalogue().await
    }

    /// Stops the server and waits until it is gone. It starts again when it is needed.
    pub async fn stop(&self) {
        let mut phase = self.0.phase.subscribe();
        self.0.dismiss();
        let stopped =
            phase.wait_for(|phase| matches!(phase, Phase::Stopped | Phase::Failing)).await;
        drop(stopped);
    }

    /// Stops the server for good: who still holds the client cannot start it any more.
    pub(super) async fn retire(&self) {
        self.0.is_retired.store(true, Ordering::Release);
        self.stop().await;
    }

    /// Stops the server for good, and soon: its owner is revoked.
    pub(super) async fn revoke(&self) {
        self.0.grace.revoke();
        self.retire().await;
    }

    /// Stops the server and starts it.
    pub async fn restart(&self) -> Result<Arc<Catalogue>, ToolkitError> {
        self.stop().await;
        self.start().await
    }

    async fn call_once(
        &self,
        session: InUse,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallResult, ToolkitError> {
        let inner = &*self.0;
        let (name, limit) = (inner.name.to_string(), inner.spec.timeout);
        let called = timeout(limit, session.call(tool, arguments, &inner.words)).await;
        let tool = tool.to_owned();
        match called.unwrap_or(Err(Fault::TimedOut)) {
            Ok(result) => Ok(result.into()),
            Err(Fault::Transport(reason)) => Err(ToolkitError::Ended { name, reason }),
            Err(Fault::TimedOut) => Err(ToolkitError::TimedOut { name, tool, after: limit }),
            Err(Fault::Refused(reason)) => Err(ToolkitError::Refused { name, tool, reason }),
            Err(Fault::Unsuitable(reason)) => Err(ToolkitError::Unsuitable { name, tool, reason }),
        }
    }

    /// Returns the session, and starts the server if need be.
    async fn session(&self) -> Result<InUse, ToolkitError> {
        let inner = &self.0;
        if !inner.spec.enabled {
            return Err(ToolkitError::Disabled(inner.name.to_string()));
        }
        let mut phase = inner.phase.subscribe();
        // The one who starts it knows more of why it is slow, and says so first.
        let deadline = Instant::now() + inner.timing.start + inner.timing.tick;
        let mut has_begun = false;
        loop {
            if let Some(session) = inner.ready() {
                return Ok(session);
            }
            let present = phase.borrow_and_update().clone();
            match present {
                Phase::Ready(_) => continue,
                Phase::Failing => return Err(inner.failing()),
                Phase::Stopping(Some(error)) => return Err(error),
                Phase::Stopped if has_begun => return Err(inner.stopped()),
                Phase::Stopped => {
                    self.begin()?;
                    has_begun = true;
                }
                Phase::Starting | Phase::Stopping(None) => {}
            }
            if timeout_at(deadline, phase.changed()).await.is_err() {
                let seconds = inner.timing.start.as_secs_f32();
                return Err(inner.not_running(format!("it did not start within {seconds} s")));
            }
        }
    }

    /// Begins a run unless somebody else did.
    fn begin(&self) -> Result<(), ToolkitError> {
        let inner = &self.0;
        if inner.tasks.stopping().is_cancelled() {
            return Err(ToolkitError::Stopping(inner.name.to_string()));
        }
        if inner.is_retired.load(Ordering::Acquire) {
            return Err(ToolkitError::Retired(inner.name.to_string()));
        }
        if let Some(run) = inner.begin()? {
            inner.tasks.spawn(lifecycle::supervise(Arc::clone(inner), run));
        }
        Ok(())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Client").field(&self.0.name).finish()
    }
}
