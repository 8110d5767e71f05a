//! What is known of one client at a time, and what may come next.

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
    ConnectionTiming, OwnerName, ToolCatalogue, ToolkitError, ToolkitLauncher,
    session::{ToolkitSession, ToolkitSessionGuard},
    timing::StopGrace,
    words::MessageRedactor,
};
use crate::spec::{ToolkitName, ToolkitSpec, ToolkitTransport};

/// A server that ended so often within [`Timing::window`] is not started again by itself.
const MAX_ENDS: usize = 5;
/// Most calls of one toolkit at a time; others wait.
pub(super) const MAX_CALLS: usize = 8;

/// Where a client is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolkitState {
    /// Its spec says so.
    Disabled,
    /// It starts when it is needed.
    Stopped,
    Starting,
    Ready,
    /// It ended too often, and starts only by hand.
    Failing,
}

/// What is said of a client to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolkitStatus {
    pub state: ToolkitState,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// How many tools are known.
    pub tools: usize,
    pub last_error: Option<String>,
    /// How often it was started again after it had ended by itself.
    pub restarts: u64,
    /// When the state changed last.
    pub since: Timestamp,
    /// The process, if one runs.
    pub pid: Option<u32>,
    /// Starts that brought a catalogue, and those that did not.
    pub starts: u64,
    pub failed_starts: u64,
    /// Lines of standard output that were no messages.
    pub malformed_lines: u64,
}

/// What a caller meets.
#[derive(Clone)]
pub(super) enum ClientPhase {
    Stopped,
    Starting,
    Ready(Arc<ToolkitSession>),
    /// On the way to being stopped, with why it did not start.
    Stopping(Option<ToolkitError>),
    Failing,
}

/// One client, shared by its callers and by the task that serves it.
pub(super) struct ClientInner {
    pub(super) owner: Option<OwnerName>,
    pub(super) name: ToolkitName,
    pub(super) spec: ToolkitSpec,
    pub(super) launcher: Arc<dyn ToolkitLauncher>,
    pub(super) tasks: Tasks,
    pub(super) timing: ConnectionTiming,
    pub(super) grace: StopGrace,
    pub(super) words: MessageRedactor,
    /// Room for processes, shared by all clients.
    pub(super) processes: Arc<Semaphore>,
    /// What its owner may have of it, where that is bounded.
    pub(super) share: Option<Arc<Semaphore>>,
    pub(super) calls: Semaphore,
    /// Set when its settings are no longer stored: nothing starts it any more.
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
    /// When the server ended by itself, and when its process did not start, within the window.
    ends: VecDeque<Instant>,
    /// How often in a row a server elsewhere could not be reached.
    unreached: u32,
    /// No start is tried before.
    not_before: Option<Instant>,
    /// Cancelled, the present run ends.
    run: CancellationToken,
}

/// What follows an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartDecision {
    Restart(Duration),
    Fail,
}

impl ClientInner {
    pub(super) fn new(
        (owner, name, spec): (Option<OwnerName>, ToolkitName, ToolkitSpec),
        (launcher, tasks, timing): (Arc<dyn ToolkitLauncher>, Tasks, ConnectionTiming),
        (processes, share): (Arc<Semaphore>, Option<Arc<Semaphore>>),
    ) -> Self {
        Self {
            words: MessageRedactor::from_spec(&spec),
            owner,
            name,
            spec,
            launcher,
            tasks,
            grace: StopGrace::new(&timing),
            timing,
            processes,
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

    /// Returns whether a token brought it, which may less than the owner of the server.
    pub(super) fn is_of_token(&self) -> bool {
        self.owner.as_deref().is_some_and(|owner| owner != Principal::owner().as_str())
    }

    pub(super) fn known_catalogue(&self) -> Option<Arc<ToolCatalogue>> {
        self.lock_history().catalogue.clone()
    }

    /// Puts a catalogue in the place of the one before.
    pub(super) fn publish_catalogue(&self, catalogue: ToolCatalogue) {
        let mut known = self.lock_history();
        known.generation += 1;
        let generation = known.generation;
        known.catalogue = Some(Arc::new(ToolCatalogue { generation, ..catalogue }));
    }

    /// Changes the phase; what waits for it wakes.
    pub(super) fn enter_phase(&self, phase: ClientPhase) {
        self.lock_history().since = Timestamp::now();
        self.phase.send_replace(phase);
    }

    /// Returns the session to use if the server is ready. While it is used it is not idle.
    pub(super) fn acquire_ready_session(&self) -> Option<ToolkitSessionGuard> {
        match &*self.phase.borrow() {
            ClientPhase::Ready(session) => Some(session.use_it()),
            ClientPhase::Stopped
            | ClientPhase::Starting
            | ClientPhase::Stopping(_)
            | ClientPhase::Failing => None,
        }
    }

    /// Begins to stop if nobody has used the server for a while, and nobody can from now on.
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

    /// Begins a run if the server is stopped, and returns what ends it; `None` where another caller has
    /// begun one.
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

    /// Forgets what went wrong, so that the next start is tried at once.
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

    /// Asks the present run to end.
    pub(super) fn cancel_run(&self) {
        self.lock_history().run.cancel();
    }

    pub(super) fn note_error(&self, error: ToolkitError) {
        self.lock_history().last_error = Some(error);
    }

    /// Returns why a start came to nothing.
    pub(super) fn stopped_error(&self) -> ToolkitError {
        self.lock_history().last_error.clone().unwrap_or_else(|| self.not_running("it was stopped"))
    }

    /// Returns what callers hear while nothing starts by itself.
    pub(super) fn failing_error(&self) -> ToolkitError {
        let name = self.name.to_string();
        let reason = match self.lock_history().last_error.clone() {
            Some(ToolkitError::NotRunning { reason, .. }) => reason,
            Some(error) => error.to_string(),
            None => "nobody knows why".to_owned(),
        };
        ToolkitError::Failing { name, reason }
    }

    pub(super) fn note_start(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut known = self.lock_history();
        (known.not_before, known.unreached) = (None, 0);
    }

    /// Notes that the server did not start. Only processes count as ended by that: a server elsewhere
    /// may be away for hours, and nobody would start it by hand when it is back.
    pub(super) fn note_failed_start(&self, error: &ToolkitError) -> RestartDecision {
        self.failed_starts.fetch_add(1, Ordering::Relaxed);
        if let ToolkitTransport::Stdio { .. } = self.spec.transport {
            return self.note_end(error.clone());
        }
        let mut known = self.lock_history();
        known.last_error = Some(error.clone());
        known.unreached = known.unreached.saturating_add(1);
        let wait = self.timing.restart.wait_after(known.unreached);
        known.not_before = Some(Instant::now() + wait);
        RestartDecision::Restart(wait)
    }

    /// Notes that the server ended by itself.
    pub(super) fn note_end(&self, error: ToolkitError) -> RestartDecision {
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

    pub(super) fn note_restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_malformed(&self, lines: u64) {
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
        let present = session.as_ref().and_then(|session| session.output.as_ref());
        let present = present.map_or(0, |output| output.malformed_lines());
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
            malformed_lines: self.malformed_lines.load(Ordering::Relaxed) + present,
        }
    }

    pub(super) fn not_running(&self, reason: impl Into<String>) -> ToolkitError {
        ToolkitError::NotRunning { name: self.name.to_string(), reason: reason.into() }
    }

    fn lock_history(&self) -> MutexGuard<'_, ClientHistory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
