//! Drives one long-lived `codex app-server` process over its standard streams.

mod availability;
mod codex_config;
mod confinement;
mod confinement_probe;
mod ephemeral;
mod error;
mod event;
mod files;
mod inherit;
mod process;
mod protocol;
mod sandbox;
mod sandbox_rules;
mod scratch;
mod server;
mod settings;
mod slot;
mod thread;

use std::{
    sync::{
        Arc, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use codeinfo_core::task::{CachedProbe, Tasks};
use tokio::{
    sync::{OnceCell, watch},
    time::timeout,
};
use tracing::{info, warn};

pub use self::{
    availability::CodexAvailability,
    codex_config::is_search,
    confinement::{ShellConfinement, ShellNetwork},
    ephemeral::{
        EphemeralError, EphemeralQuestion, EphemeralReply, EphemeralThread, EphemeralThreadOptions,
    },
    error::{CodexError, TurnError, TurnErrorKind, UnavailableReason},
    event::{CodexEvent, CodexToolCall, CodexTurnEnd, MAX_TEXT_BYTES, TokenUsage},
    protocol::CodexModel,
    sandbox::{CommandPermissions, SandboxedCommand},
    sandbox_rules::{ExcludedRoot, ReadableRoot},
    settings::{
        ApprovalPolicy, CodexSettings, EFFORTS, ExtraEndpoint, NetworkAccess, OtherVariables,
        SandboxMode, WebSearchMode,
    },
    thread::{RunningTurn, Thread, ThreadOptions},
};
use self::{
    sandbox_rules::SecretLocator,
    scratch::ScratchFolders,
    server::{CodexCounters, CodexServer},
    slot::{ServerRequirement, ServerSlot},
    thread::ThreadOpener,
};

const MAX_PROBE: Duration = Duration::from_secs(15);
/// Age up to which a process that reports a missing sign-in or key is trusted; an older one is restarted. A
/// sign-in that writes a file is noticed earlier, because a changed file replaces the process.
const TRUSTED_AGE: Duration = Duration::from_secs(5);

/// Shared handle on Codex, which starts on first use, restarts after a crash and ends with `tasks`.
#[derive(Clone)]
pub struct Codex(Arc<Inner>);

struct Inner {
    settings: CodexSettings,
    tasks: Tasks,
    counters: Arc<CodexCounters>,
    slot: ServerSlot,
    known: CachedProbe<CodexAvailability>,
    confinement: std::sync::Mutex<Option<ShellConfinement>>,
    scratch_folders: OnceCell<ScratchFolders>,
    secret_locator: SecretLocator,
    excluded: CachedProbe<RootAccessCheck>,
    /// True while Codex is usable, for listeners; `None` before the first probe.
    usable: watch::Sender<Option<bool>>,
    refreshing: AtomicBool,
}

type RootAccessCheck = (Vec<ReadableRoot>, Vec<ExcludedRoot>);

/// Counters since the start, for `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodexCounts {
    pub starts: u64,
    /// Lines of Codex that were too long or not JSON.
    pub malformed_lines: u64,
    /// Notifications and item kinds that this program does not know.
    pub unknown_notifications: u64,
    /// Requests of Codex for approval or input; all were declined.
    pub refused_requests: u64,
}

impl Codex {
    pub fn new(settings: CodexSettings, tasks: Tasks) -> Self {
        let counters = Arc::new(CodexCounters::default());
        Self(Arc::new_cyclic(|inner: &Weak<Inner>| {
            let inner = Weak::clone(inner);
            let on_end = Arc::new(move |end| {
                if let Some(inner) = inner.upgrade() {
                    Self(inner).handle_process_end(end);
                }
            });
            let slot =
                ServerSlot::new(settings.clone(), tasks.clone(), Arc::clone(&counters), on_end);
            Inner {
                settings,
                tasks,
                counters,
                slot,
                known: CachedProbe::default(),
                confinement: std::sync::Mutex::default(),
                scratch_folders: OnceCell::new(),
                secret_locator: SecretLocator::default(),
                excluded: CachedProbe::default(),
                usable: watch::Sender::new(None),
                refreshing: AtomicBool::new(false),
            }
        }))
    }

    /// Returns the last known availability at once, and starts a background probe if it is outdated.
    pub fn availability(&self) -> CodexAvailability {
        let latest = self.0.known.latest_result();
        if latest.as_ref().is_none_or(|(_, age)| *age >= self.0.settings.presence_ttl) {
            self.refresh_in_background(TRUSTED_AGE);
        }
        latest.map_or_else(availability::initial_availability, |(availability, _)| availability)
    }

    /// Returns the last known availability, or `None` before the first probe.
    pub fn known_availability(&self) -> Option<CodexAvailability> {
        self.0.known.latest_result().map(|(availability, _)| availability)
    }

    /// Checks availability now. Concurrent callers share one probe.
    pub async fn check_availability(&self) -> CodexAvailability {
        self.check_trusting(TRUSTED_AGE).await
    }

    /// Trusts a process younger than `trusted_age` that reports a missing sign-in or key.
    async fn check_trusting(&self, trusted_age: Duration) -> CodexAvailability {
        let asked = Instant::now();
        let probe = || async {
            let availability = match timeout(MAX_PROBE, self.probe_availability(trusted_age)).await
            {
                Ok(Ok(availability)) => availability,
                Ok(Err(error)) => CodexAvailability::Unavailable(error.unavailable_reason()),
                Err(_) => CodexAvailability::Unavailable(
                    CodexError::TimedOut("a check").unavailable_reason(),
                ),
            };
            self.log_change(&availability);
            availability
        };
        let availability = self.0.known.get(|_, age| age < asked.elapsed(), probe).await;
        self.announce_known();
        availability
    }

    /// Returns the availability to decide by: the known one while Codex is usable, else the result of a probe, so
    /// a question notices at once that Codex is back. After repeated crashes, this waits for the next start.
    pub async fn current_availability(&self) -> CodexAvailability {
        if let available @ CodexAvailability::Available { .. } = self.availability() {
            return available;
        }
        // The probe reports why there is no process.
        drop(self.0.slot.acquire_server_in_time().await);
        self.check_availability().await
    }

    /// Returns the models that Codex offers.
    pub async fn list_models(&self) -> Result<Vec<CodexModel>, CodexError> {
        let server = self.0.slot.acquire_server(ServerRequirement::Any).await?;
        Ok(server.load_models().await?.to_vec())
    }

    pub async fn open_thread(&self, opening: ThreadOptions) -> Result<Thread, CodexError> {
        let server = self.0.slot.acquire_server_in_time().await?;
        let scratch_folders =
            self.0.scratch_folders.get_or_try_init(|| self.create_scratch_folders()).await?;
        let opener = ThreadOpener {
            server,
            settings: &self.0.settings,
            scratch_folders,
            secret_locator: &self.0.secret_locator,
        };
        Thread::open(opener, opening).await
    }

    /// Returns the confinement of the model's shell, or `None` before the first probe.
    pub fn confinement(&self) -> Option<ShellConfinement> {
        self.0.confinement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the roots of `readable` that the model's shell cannot read. Call it while Codex is usable.
    pub async fn find_excluded_roots(
        &self,
        readable: Vec<ReadableRoot>,
    ) -> Result<Vec<ExcludedRoot>, CodexError> {
        let settings = &self.0.settings;
        if settings.sandbox == SandboxMode::DangerFullAccess {
            return Ok(Vec::new());
        }
        let is_fresh =
            |(roots, _): &RootAccessCheck, age| *roots == readable && age < settings.presence_ttl;
        let check_roots = || async {
            let server = self.0.slot.acquire_server(ServerRequirement::Any).await?;
            let scratch_folders =
                self.0.scratch_folders.get_or_try_init(|| self.create_scratch_folders()).await?;
            let opener = ThreadOpener {
                server,
                settings,
                scratch_folders,
                secret_locator: &self.0.secret_locator,
            };
            let (_, excluded) = opener.build_sandbox_rules(readable.clone()).await?;
            Ok((readable.clone(), excluded))
        };
        self.0.excluded.try_get(is_fresh, check_roots).await.map(|(_, excluded)| excluded)
    }

    async fn create_scratch_folders(&self) -> Result<ScratchFolders, CodexError> {
        let workdir = self.0.settings.workdir.clone();
        let tasks = self.0.tasks.clone();
        let creation =
            self.0.tasks.spawn_blocking(move || ScratchFolders::new(&workdir, &tasks)).await;
        let path = || self.0.settings.workdir.clone();
        creation
            .map_err(|_| CodexError::Stopping)?
            .map_err(|source| CodexError::Workdir { path: path(), source })
    }

    /// Records a turn that failed because Codex or its service was unreachable, and probes in the background.
    /// After a refused sign-in, the process is replaced: a running Codex does not notice a new one.
    pub async fn record_turn_failure(&self, kind: Option<TurnErrorKind>) {
        if kind == Some(TurnErrorKind::Unauthorized) {
            self.0.slot.invalidate().await;
        }
        self.refresh_in_background(TRUSTED_AGE);
    }

    /// Replaces the process before its next use, which ends its work, and starts a background probe.
    pub async fn replace_process(&self) {
        self.0.slot.invalidate().await;
        self.refresh_in_background(TRUSTED_AGE);
    }

    pub fn counts(&self) -> CodexCounts {
        let counters = &self.0.counters;
        CodexCounts {
            starts: counters.starts.load(Ordering::Relaxed),
            malformed_lines: counters.malformed_lines.load(Ordering::Relaxed),
            unknown_notifications: counters.unknown_notifications.load(Ordering::Relaxed),
            refused_requests: counters.refused_requests.load(Ordering::Relaxed),
        }
    }

    /// Records an unexpected end of the process, and checks if the next one is usable.
    fn handle_process_end(&self, end: String) {
        if self.0.tasks.stop_token().is_cancelled() {
            return;
        }
        let availability =
            CodexAvailability::Unavailable(CodexError::Gone(end).unavailable_reason());
        self.log_change(&availability);
        self.0.known.record_result(availability, Instant::now());
        self.announce_known();
        let codex = self.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = codex.0.tasks.stop_token().cancelled() => {}
                _ = codex.check_availability() => {}
            }
        });
    }

    async fn probe_availability(
        &self,
        trusted_age: Duration,
    ) -> Result<CodexAvailability, CodexError> {
        let asked = Instant::now();
        let server = self.0.slot.acquire_server(ServerRequirement::Any).await?;
        let is_young = asked.saturating_duration_since(server.started) < trusted_age;
        match self.probe_with(&server).await {
            Err(error @ (CodexError::SignedOut | CodexError::MissingKey { .. })) if is_young => {
                Err(error)
            }
            // A running Codex knows only the files that it read at its start; ask a new one.
            Err(_) if server.started < asked => {
                drop(server);
                self.probe_with(&*self.0.slot.acquire_server(ServerRequirement::StartedNow).await?)
                    .await
            }
            known => known,
        }
    }

    async fn probe_with(&self, server: &CodexServer) -> Result<CodexAvailability, CodexError> {
        let availability = availability::probe_server(server, &self.0.settings).await?;
        // Created here to remove the leftovers of former processes and to report errors early.
        self.0.scratch_folders.get_or_try_init(|| self.create_scratch_folders()).await?;
        let confinement = server.probe_confinement().await?;
        *self.0.confinement.lock().unwrap_or_else(PoisonError::into_inner) = Some(confinement);
        Ok(availability)
    }

    /// Starts a background probe unless one runs, see [`TRUSTED_AGE`].
    fn refresh_in_background(&self, trusted_age: Duration) {
        if self.0.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let codex = self.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = codex.0.tasks.stop_token().cancelled() => {}
                _ = codex.check_trusting(trusted_age) => {}
            }
            codex.0.refreshing.store(false, Ordering::Release);
        });
    }

    /// Announces the known availability if it has changed. Record it first: listeners ask for it at once.
    fn announce_known(&self) {
        self.0.usable.send_if_modified(|announced| {
            let known = self.known_availability();
            let is_usable = known.map(|known| matches!(known, CodexAvailability::Available { .. }));
            // The first probe is no change: callers before it waited for its result.
            let is_change = announced.is_some() && *announced != is_usable;
            *announced = is_usable;
            is_change
        });
    }

    /// Logs a change of availability once, before it is recorded.
    fn log_change(&self, availability: &CodexAvailability) {
        let before = self
            .0
            .known
            .latest_result()
            .map_or_else(availability::initial_availability, |(before, _)| before);
        match availability {
            same if *same == before => {}
            CodexAvailability::Available { version, model } => {
                info!(codex.version = version, codex.model = model, "codex can be used");
            }
            CodexAvailability::Unavailable(unavailable) => {
                warn!(unavailable.reason, unavailable.hint, "codex cannot be used");
            }
        }
    }
}
