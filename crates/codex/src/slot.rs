//! Holds the current Codex process, started on demand and replaced when it died or is outdated.
//!
//! A process that ends by itself is replaced at once. If processes end within 30 s of their start, each next start
//! waits longer, up to 5 s, and questions wait with it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::task::{BackoffSchedule, Tasks};
use tokio::sync::Mutex;
use tracing::{info, warn};

use super::{
    error::{CodexError, UnavailableReason},
    files::{self, CodexConfigStamp},
    server::{CodexCounters, CodexServer},
};
use crate::CodexSettings;

/// Lifetime after which the end of a process does not delay the next start.
const STEADY: Duration = Duration::from_secs(30);
/// Waits after the second and later ends in a row. No question waits longer for a start.
const BACKOFF: BackoffSchedule =
    BackoffSchedule { first: Duration::from_millis(500), longest: Duration::from_secs(5) };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerRequirement {
    /// The running process, if it has read the current sign-in and configuration.
    Any,
    StartedNow,
}

/// Slot of the current process. Former processes live until their last turn ends.
pub(super) struct ServerSlot {
    settings: CodexSettings,
    tasks: Tasks,
    counters: Arc<CodexCounters>,
    /// Callback for the end of a process that had started well.
    on_end: Arc<dyn Fn(String) + Send + Sync>,
    /// Held during a start on purpose: other callers wait for the same start.
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    current: Option<Arc<CodexServer>>,
    is_invalid: bool,
    /// Consecutive processes that ended soon after their start.
    ends: u32,
    not_before: Option<Instant>,
    /// Reason of the last such end.
    last: Option<UnavailableReason>,
}

impl ServerSlot {
    pub(super) fn new(
        settings: CodexSettings,
        tasks: Tasks,
        counters: Arc<CodexCounters>,
        on_end: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Self {
        Self { settings, tasks, counters, on_end, state: Mutex::default() }
    }

    /// Returns a running process. One that ends at its start is started again within the longest backoff.
    pub(super) async fn acquire_server_in_time(&self) -> Result<Arc<CodexServer>, CodexError> {
        let deadline = Instant::now() + BACKOFF.longest;
        loop {
            let error = match self.acquire_server(ServerRequirement::Any).await {
                Err(error @ (CodexError::Gone(_) | CodexError::Unstable { .. })) => error,
                known => return known,
            };
            let next = self.state.lock().await.not_before.unwrap_or_else(Instant::now);
            if next > deadline {
                return Err(error);
            }
            tokio::select! {
                () = self.tasks.stop_token().cancelled() => return Err(CodexError::Stopping),
                () = tokio::time::sleep_until(next.into()) => {}
            }
        }
    }

    pub(super) async fn acquire_server(
        &self,
        need: ServerRequirement,
    ) -> Result<Arc<CodexServer>, CodexError> {
        if self.tasks.stop_token().is_cancelled() {
            return Err(CodexError::Stopping);
        }
        let mut state = self.state.lock().await;
        if let Some(server) = state.current.take() {
            if let Some(end) = server.end_reason() {
                state.record_end(CodexError::Gone(end).unavailable_reason(), server.started);
            } else if need == ServerRequirement::Any
                && !state.is_invalid
                && server.is_running()
                && server.is_responsive()
                && !self.is_stale(&server).await
            {
                state.current = Some(Arc::clone(&server));
                return Ok(server);
            } else {
                info!("codex is restarted");
                // A process with running turns lives until the last of them ends.
                match Arc::try_unwrap(server) {
                    Ok(idle) => idle.stop().await,
                    Err(busy) => self.tasks.spawn(async move { busy.retire().await }),
                }
            }
        }
        let server = Arc::new(self.start_server(&mut state).await?);
        state.current = Some(Arc::clone(&server));
        state.is_invalid = false;
        Ok(server)
    }

    /// Marks the process for replacement before its next use.
    pub(super) async fn invalidate(&self) {
        self.state.lock().await.is_invalid = true;
    }

    async fn is_stale(&self, server: &CodexServer) -> bool {
        CodexConfigStamp::from_home(&server.home).await != server.stamp
    }

    async fn start_server(&self, state: &mut SlotState) -> Result<CodexServer, CodexError> {
        let binary = files::find_binary(&self.settings).await?;
        files::require_interpreter(&self.settings, &binary).await?;
        if state.not_before.is_some_and(|moment| Instant::now() < moment)
            && let Some(last) = state.last.clone()
        {
            return Err(CodexError::Unstable { ends: state.ends, last });
        }
        let began = Instant::now();
        let counters = Arc::clone(&self.counters);
        let on_end = Arc::clone(&self.on_end);
        let on_end = Box::new(move |end| on_end(end));
        let started =
            CodexServer::start(binary, &self.settings, counters, &self.tasks, on_end).await;
        if let Err(error) = &started {
            warn!(error = error as &dyn std::error::Error, "codex does not start");
            state.record_end(error.unavailable_reason(), began);
        }
        started
    }
}

impl SlotState {
    /// The first end in a row causes no delay, so that one crash does not delay a question.
    fn record_end(&mut self, how: UnavailableReason, started: Instant) {
        self.ends = if started.elapsed() < STEADY { self.ends + 1 } else { 1 };
        self.last = Some(how);
        self.not_before =
            (self.ends > 1).then(|| Instant::now() + BACKOFF.wait_after(self.ends - 1));
    }
}
