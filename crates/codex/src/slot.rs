//! Holds the Codex process in use: started on need, replaced when it died or went stale.
//!
//! A process that ends by itself is replaced at once. One that ends within 30 s of its start waits
//! longer each time, up to 5 s, and questions wait with it. The reason is the exit status or
//! signal and, with an exit status, the last line of standard error that is no warning.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::task::{BackoffSchedule, Tasks};
use tokio::sync::Mutex;
use tracing::{info, warn};

use super::{
    error::CodexError,
    files::{self, CodexConfigStamp},
    presence::UnavailableReason,
    server::{CodexCounters, CodexServer},
};

/// A process that lived this long has started well; its end does not slow the next start.
const STEADY: Duration = Duration::from_secs(30);
/// Waits after the second end in a row and further ones. No question waits longer for a start.
const BACKOFF: BackoffSchedule =
    BackoffSchedule { first: Duration::from_millis(500), longest: Duration::from_secs(5) };

/// Which process will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerRequirement {
    /// The one that runs, if it has read the present sign-in and configuration.
    Any,
    /// One that starts now.
    StartedNow,
}

/// The process in use. Former processes live on until their last turn ends.
pub(super) struct ServerSlot {
    settings: crate::CodexSettings,
    tasks: Tasks,
    counters: Arc<CodexCounters>,
    /// Hears how a process that had started well ended.
    on_end: Arc<dyn Fn(String) + Send + Sync>,
    /// Held across a start on purpose: those who need the process meanwhile wait for that start.
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    current: Option<Arc<CodexServer>>,
    is_invalid: bool,
    /// Processes that ended soon after their start, in a row.
    ends: u32,
    not_before: Option<Instant>,
    /// How the last of them ended.
    last: Option<UnavailableReason>,
}

impl ServerSlot {
    pub(super) fn new(
        settings: crate::CodexSettings,
        tasks: Tasks,
        counters: Arc<CodexCounters>,
        on_end: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Self {
        Self { settings, tasks, counters, on_end, state: Mutex::default() }
    }

    /// Returns a process to talk to. One that ends at its start is started again, each time after its
    /// wait, as long as that takes no longer than the longest wait.
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

    /// Returns a process to talk to.
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
                // With turns still on it, it lives until the last of them ends.
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

    /// Has the process replaced before it is used again.
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
    /// Notes that a process ended, and when the next may start: at once after the first end, so
    /// that one crash costs no question.
    fn record_end(&mut self, how: UnavailableReason, started: Instant) {
        self.ends = if started.elapsed() < STEADY { self.ends + 1 } else { 1 };
        self.last = Some(how);
        self.not_before =
            (self.ends > 1).then(|| Instant::now() + BACKOFF.wait_after(self.ends - 1));
    }
}
