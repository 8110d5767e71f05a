//! State and history of one client, and the decisions about its next start.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use codeinfo_core::{Principal, Timestamp, task::Tasks};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    ConnectionTiming, OwnerName, PoolState, StopGrace, ToolCatalogue, ToolkitError,
    ToolkitLauncher,
    messages::MessageRedactor,
    session::{ToolkitSession, ToolkitSessionGuard},
};
use crate::spec::{ToolkitName, ToolkitSpec, ToolkitTransport};

/// Number of ends within [`ConnectionTiming::window`] after which a server is not restarted automatically.
const MAX_ENDS: usize = 5;
/// Maximum concurrent calls of one toolkit; further ones wait.
pub(super) const MAX_CALLS: usize = 8;

/// State of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolkitState {
    /// Switched off by its spec.
    Disabled,
    Stopped,
    Starting,
    Ready,
    /// Ended too often, and starts only manually.
    Failing,
}

/// Status of a client for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolkitStatus {
    pub state: ToolkitState,
    /// `stdio` or `http`.
    pub transport: &'static str,
    pub tools: usize,
    pub last_error: Option<String>,
    /// Number of restarts after an unexpected end.
    pub restarts: u64,
    /// Time of the last change of state.
    pub since: Timestamp,
    /// Identifier of the running process.
    pub pid: Option<u32>,
    /// Starts that returned a catalogue, and starts that failed.
    pub starts: u64,
    pub failed_starts: u64,
    /// Lines of standard output that were not messages.
    pub malformed_lines: u64,
}

#[derive(Clone)]
pub(super) enum ClientPhase {
    Stopped,
    Starting,
    Ready(Arc<ToolkitSession>),
    /// Being stopped, with the error if its start failed.
    Stopping(Option<ToolkitError>),
    Failing,
}

/// Client state shared by callers and the supervising task.
pub(super) struct ClientInner {
    pub(super) owner: Option<OwnerName>,
    pub(super) name: ToolkitName,
    pub(super) spec: ToolkitSpec,
    pub(super) launcher: Arc<dyn ToolkitLauncher>,
    pub(super) tasks: Tasks,
    pub(super) timing: ConnectionTiming,
    pub(super) grace: StopGrace,
    pub(super) redactor: MessageRedactor,
    pub(super) processes: Arc<Semaphore>,
    /// Process slots of its owner, if limited.
    pub(super) share: Option<Arc<Semaphore>>,
    pub(super) calls: Semaphore,
    /// Set once its settings are no longer stored; nothing starts it afterwards.
    pub(super) is_retired: AtomicBool,
    pub(super) phase: watch::Sender<ClientPhase>,
    known: Mutex<ClientHistory>,
    starts: AtomicU64,
    failed_starts: AtomicU64,
    restarts: AtomicU64,
    malformed_lines: AtomicU64,
}

struct ClientHistory {
    catalogue: Option<Arc<ToolCatalogue>>,
    generation: u64,
    last_error: Option<ToolkitError>,
    since: Timestamp,
    /// Unexpected ends and failed starts of a process, within the window.
    ends: VecDeque<Instant>,
    /// Consecutive failures to reach a remote server.
    unreached: u32,
    /// Earliest time of the next start.
    not_before: Option<Instant>,
    /// Cancelling this ends the current run.
    run: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartDecision {
    Restart(Duration),
    Fail,
}

impl ClientInner {
    pub(super) fn new(
        owner: Option<OwnerName>,
        name: ToolkitName,
        spec: ToolkitSpec,
        share: Option<Arc<Semaphore>>,
        pool: &PoolState,
    ) -> Self {
        Self {
            redactor: MessageRedactor::from_spec(&spec),
            owner,
            name,
            spec,
            launcher: Arc::clone(&pool.launcher),
            tasks: pool.tasks.clone(),
            grace: StopGrace::new(&pool.timing),
            timing: pool.timing.clone(),
            processes: Arc::clone(&pool.processes),
            share,
            calls: Semaphore::new(MAX_CALLS),
            is_retired: AtomicBool::new(false),
            phase: watch::Sender::new(ClientPhase::Stopped),
            known: Mutex::new(ClientHistory {
                catalogue: None,
                generation: 0,
                last_error: None,
                since: Timestamp::now(),
                ends: VecDeque::new(),
                unreached: 0,
                not_before: None,
                run: CancellationToken::new(),
            }),
            starts: AtomicU64::new(0),
            failed_starts: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            malformed_lines: AtomicU64::new(0),
        }
    }

    pub(super) fn is_owned_by_token(&self) -> bool {
        self.owner.as_deref().is_some_and(|owner| owner != Principal::owner().as_str())
    }

    pub(super) fn known_catalogue(&self) -> Option<Arc<ToolCatalogue>> {
        self.lock_history().catalogue.clone()
    }

    pub(super) fn publish_catalogue(&self, catalogue: ToolCatalogue) {
        let mut known = self.lock_history();
        known.generation += 1;
        let generation = known.generation;
        known.catalogue = Some(Arc::new(ToolCatalogue { generation, ..catalogue }));
    }

    pub(super) fn enter_phase(&self, phase: ClientPhase) {
        self.lock_history().since = Timestamp::now();
        self.phase.send_replace(phase);
    }

    /// Returns a guard of the session if the server is ready. The guard keeps it from becoming idle.
    pub(super) fn acquire_ready_session(&self) -> Option<ToolkitSessionGuard> {
        match &*self.phase.borrow() {
            ClientPhase::Ready(session) => Some(session.acquire()),
            ClientPhase::Stopped
            | ClientPhase::Starting
            | ClientPhase::Stopping(_)
            | ClientPhase::Failing => None,
        }
    }

    /// Prevents new uses of a server that has been unused for long enough.
    pub(super) fn leave_if_idle(&self, session: &ToolkitSession) -> bool {
        let left = self.phase.send_if_modified(|phase| {
            let is_idle =
                !session.is_in_use() && session.last_used_at().elapsed() >= self.timing.idle;
            if is_idle {
                *phase = ClientPhase::Stopping(None);
            }
            is_idle
        });
        if left {
            self.lock_history().since = Timestamp::now();
        }
        left
    }

    /// Returns the cancellation token of a new run, or `None` if another caller has begun one.
    pub(super) fn begin_run(&self) -> Result<Option<CancellationToken>, ToolkitError> {
        let mut known = self.lock_history();
        if let (Some(until), Some(error)) = (known.not_before, &known.last_error)
            && Instant::now() < until
        {
            return Err(error.clone());
        }
        let begun = self.phase.send_if_modified(|phase| {
            let is_stopped = matches!(phase, ClientPhase::Stopped);
            if is_stopped {
                *phase = ClientPhase::Starting;
            }
            is_stopped
        });
        if !begun {
            return Ok(None);
        }
        known.since = Timestamp::now();
        known.run = self.tasks.stop_token().child_token();
        Ok(Some(known.run.clone()))
    }

    /// Clears recorded failures, so that the next start is immediate.
    pub(super) fn reset_failures(&self) {
        let mut known = self.lock_history();
        known.ends.clear();
        known.not_before = None;
        self.phase.send_if_modified(|phase| {
            let is_failing = matches!(phase, ClientPhase::Failing);
            if is_failing {
                *phase = ClientPhase::Stopped;
            }
            is_failing
        });
    }

    pub(super) fn cancel_run(&self) {
        self.lock_history().run.cancel();
    }

    pub(super) fn record_error(&self, error: ToolkitError) {
        self.lock_history().last_error = Some(error);
    }

    pub(super) fn stopped_error(&self) -> ToolkitError {
        self.lock_history().last_error.clone().unwrap_or_else(|| self.not_running("it was stopped"))
    }

    /// Returns the error for callers while the server is not restarted automatically.
    pub(super) fn failing_error(&self) -> ToolkitError {
        let name = self.name.to_string();
        let reason = match self.lock_history().last_error.clone() {
            Some(ToolkitError::NotRunning { reason, .. }) => reason,
            Some(error) => error.to_string(),
            None => "the reason is unknown".to_owned(),
        };
        ToolkitError::Failing { name, reason }
    }

    pub(super) fn record_start(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut known = self.lock_history();
        (known.not_before, known.unreached) = (None, 0);
    }

    /// Only processes count a failed start as an end: a remote server may be away for hours and come back.
    pub(super) fn record_failed_start(&self, error: &ToolkitError) -> RestartDecision {
        self.failed_starts.fetch_add(1, Ordering::Relaxed);
        if let ToolkitTransport::Stdio { .. } = self.spec.transport {
            return self.record_end(error.clone());
        }
        let mut known = self.lock_history();
        known.last_error = Some(error.clone());
        known.unreached = known.unreached.saturating_add(1);
        let wait = self.timing.restart.wait_after(known.unreached);
        known.not_before = Some(Instant::now() + wait);
        RestartDecision::Restart(wait)
    }

    pub(super) fn record_end(&self, error: ToolkitError) -> RestartDecision {
        let mut known = self.lock_history();
        let now = Instant::now();
        while known.ends.front().is_some_and(|end| now - *end > self.timing.window) {
            known.ends.pop_front();
        }
        known.ends.push_back(now);
        known.last_error = Some(error);
        let count = known.ends.len();
        let wait = self.timing.restart.wait_after(u32::try_from(count).unwrap_or(u32::MAX));
        known.not_before = Some(now + wait);
        if count >= MAX_ENDS { RestartDecision::Fail } else { RestartDecision::Restart(wait) }
    }

    pub(super) fn record_restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn record_malformed(&self, lines: u64) {
        self.malformed_lines.fetch_add(lines, Ordering::Relaxed);
    }

    pub(super) fn status(&self) -> ToolkitStatus {
        let (state, session) = match &*self.phase.borrow() {
            _ if !self.spec.enabled => (ToolkitState::Disabled, None),
            ClientPhase::Stopped | ClientPhase::Stopping(_) => (ToolkitState::Stopped, None),
            ClientPhase::Starting => (ToolkitState::Starting, None),
            ClientPhase::Ready(session) => (ToolkitState::Ready, Some(Arc::clone(session))),
            ClientPhase::Failing => (ToolkitState::Failing, None),
        };
        let output = session.as_ref().and_then(|session| session.output.as_ref());
        let present_lines = output.map_or(0, |output| output.malformed_lines());
        let known = self.lock_history();
        ToolkitStatus {
            state,
            transport: self.spec.transport.kind(),
            tools: known.catalogue.as_ref().map_or(0, |catalogue| catalogue.tools.len()),
            last_error: known.last_error.as_ref().map(ToString::to_string),
            restarts: self.restarts.load(Ordering::Relaxed),
            since: known.since,
            pid: session.and_then(|session| session.process),
            starts: self.starts.load(Ordering::Relaxed),
            failed_starts: self.failed_starts.load(Ordering::Relaxed),
            malformed_lines: self.malformed_lines.load(Ordering::Relaxed) + present_lines,
        }
    }

    pub(super) fn not_running(&self, reason: impl Into<String>) -> ToolkitError {
        ToolkitError::NotRunning { name: self.name.to_string(), reason: reason.into() }
    }

    fn lock_history(&self) -> MutexGuard<'_, ClientHistory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
