//! Drives one long-lived `codex app-server` over its standard streams.

mod bubblewrap;
mod cell;
mod changes;
mod codex_config;
mod confinement;
mod ephemeral;
mod error;
mod event;
mod extra;
mod fence;
mod files;
mod idle;
mod inherit;
mod other_variables;
mod pipes;
mod presence;
mod probe;
mod protocol;
mod sandbox;
mod scratch;
mod server;
mod settings;
mod slot;
mod thread;
mod turn_error;
mod vendor;

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
    cell::{ShellConfinement, ShellNetwork},
    codex_config::is_search,
    ephemeral::{
        EphemeralError, EphemeralQuestion, EphemeralReply, EphemeralThread, EphemeralThreadOptions,
    },
    error::CodexError,
    event::{CodexEvent, CodexToolCall, CodexTurnEnd, MAX_TEXT_BYTES, TokenUsage},
    extra::ExtraEndpoint,
    fence::{ExcludedRoot, ReadableRoot},
    other_variables::OtherVariables,
    presence::{CodexAvailability, UnavailableReason},
    protocol::CodexModel,
    sandbox::{CommandPermissions, SandboxedCommand},
    settings::{ApprovalPolicy, CodexSettings, EFFORTS, NetworkAccess, SandboxMode, WebSearchMode},
    thread::{RunningTurn, Thread, ThreadOptions},
    turn_error::{TurnError, TurnErrorKind},
};
use self::{
    fence::SecretLocator,
    scratch::ScratchFolders,
    server::{CodexCounters, CodexServer},
    slot::{ServerRequirement, ServerSlot},
    thread::ThreadOpener,
};

/// Longest check whether Codex is usable.
const MAX_PROBE: Duration = Duration::from_secs(15);
/// A process younger than this is believed that Codex cannot be used. Signing in through a file is
/// seen sooner than that: a changed file has the process replaced.
const BELIEVED: Duration = Duration::from_secs(5);

/// Codex as this program uses it. Clones share the process, which is started on first need, started
/// again when it died, and ends with `tasks`.
#[derive(Clone)]
pub struct Codex(Arc<Inner>);

struct Inner {
    settings: CodexSettings,
    tasks: Tasks,
    counters: Arc<CodexCounters>,
    slot: ServerSlot,
    known: CachedProbe<CodexAvailability>,
    /// How the latest process confines the shell.
    confinement: std::sync::Mutex<Option<ShellConfinement>>,
    /// Made on first need.
    scratches: OnceCell<ScratchFolders>,
    sight: SecretLocator,
    /// What was asked last of what the shell does not read.
    unread: CachedProbe<RootAccessCheck>,
    /// Whether Codex can be used, for who waits for a change; `None` before the first probe.
    usable: watch::Sender<Option<bool>>,
    /// Whether a probe in the background is under way.
    refreshing: AtomicBool,
}

/// What was given to be read, and what of it is not.
type RootAccessCheck = (Vec<ReadableRoot>, Vec<ExcludedRoot>);

/// What was counted since the start, for `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodexCounts {
    /// Processes started.
    pub starts: u64,
    /// Lines of Codex that were too long or not JSON.
    pub malformed_lines: u64,
    /// Notifications and item kinds that this program does not know.
    pub unknown_notifications: u64,
    /// Requests of Codex for approval or input, each declined.
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
                scratches: OnceCell::new(),
                sight: SecretLocator::default(),
                unread: CachedProbe::default(),
                usable: watch::Sender::new(None),
                refreshing: AtomicBool::new(false),
            }
        }))
    }

    /// Returns what is known, at once; starts a probe in the background when that is old.
    pub fn availability(&self) -> CodexAvailability {
        let latest = self.0.known.latest_result();
        if latest.as_ref().is_none_or(|(_, age)| *age >= self.0.settings.presence_ttl) {
            self.refresh_in_background(BELIEVED);
        }
        latest.map_or_else(presence::unknown_availability, |(presence, _)| presence)
    }

    /// Returns what is known, if anything is.
    pub fn known_availability(&self) -> Option<CodexAvailability> {
        self.0.known.latest_result().map(|(presence, _)| presence)
    }

    /// Checks now whether Codex is usable. Callers at the same time share one probe.
    pub async fn check_availability(&self) -> CodexAvailability {
        self.check_believing(BELIEVED).await
    }

    /// Does the same, and believes a process younger than `believed` that Codex cannot be used.
    async fn check_believing(&self, believed: Duration) -> CodexAvailability {
        let asked = Instant::now();
        let probe = || async {
            let presence = match timeout(MAX_PROBE, self.probe_availability(believed)).await {
                Ok(Ok(presence)) => presence,
                Ok(Err(error)) => CodexAvailability::Unavailable(error.unavailable_reason()),
                Err(_) => CodexAvailability::Unavailable(
                    CodexError::TimedOut("a check").unavailable_reason(),
                ),
            };
            self.announce_change(&presence);
            presence
        };
        self.0.known.get(|_, age| age < asked.elapsed(), probe).await
    }

    /// Returns the presence to decide by: what is known while it says that Codex can be used, else
    /// the result of a probe. So Codex coming back is seen by the next question. Where it ended again
    /// and again, this waits for the next start.
    pub async fn current_availability(&self) -> CodexAvailability {
        if let available @ CodexAvailability::Available { .. } = self.availability() {
            return available;
        }
        // Why there is no process is for the probe to say.
        drop(self.0.slot.acquire_server_in_time().await);
        self.check_availability().await
    }

    /// Returns the models that Codex offers.
    pub async fn list_models(&self) -> Result<Vec<CodexModel>, CodexError> {
        let server = self.0.slot.acquire_server(ServerRequirement::Any).await?;
        Ok(server.load_models().await?.to_vec())
    }

    /// Opens a thread.
    pub async fn open_thread(&self, opening: ThreadOptions) -> Result<Thread, CodexError> {
        let server = self.0.slot.acquire_server_in_time().await?;
        let scratches = self.0.scratches.get_or_try_init(|| self.create_scratch_folders()).await?;
        let (settings, sight) = (&self.0.settings, &self.0.sight);
        Thread::open(ThreadOpener { server, settings, scratches, sight }, opening).await
    }

    /// Returns how the model's shell is confined, once a process was asked.
    pub fn confinement(&self) -> Option<ShellConfinement> {
        self.0.confinement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns which of `readable` the model's shell does not read. To be asked while Codex can be used.
    pub async fn find_excluded_roots(
        &self,
        readable: Vec<ReadableRoot>,
    ) -> Result<Vec<ExcludedRoot>, CodexError> {
        let settings = &self.0.settings;
        if settings.sandbox == SandboxMode::DangerFullAccess {
            return Ok(Vec::new());
        }
        let is_fresh =
            |(of, _): &RootAccessCheck, age| *of == readable && age < settings.presence_ttl;
        let find_out = || async {
            let server = self.0.slot.acquire_server(ServerRequirement::Any).await?;
            let scratches =
                self.0.scratches.get_or_try_init(|| self.create_scratch_folders()).await?;
            let place = ThreadOpener { server, settings, scratches, sight: &self.0.sight };
            let (_, unread) = place.build_sandbox_rules(readable.clone()).await?;
            Ok((readable.clone(), unread))
        };
        self.0.unread.try_get(is_fresh, find_out).await.map(|(_, unread)| unread)
    }

    async fn create_scratch_folders(&self) -> Result<ScratchFolders, CodexError> {
        let (workdir, tasks) = (self.0.settings.workdir.clone(), self.0.tasks.clone());
        let made = self.0.tasks.spawn_blocking(move || ScratchFolders::new(&workdir, &tasks)).await;
        let made = made.map_err(|_| CodexError::Stopping)?;
        let path = || self.0.settings.workdir.clone();
        made.map_err(|source| CodexError::Workdir { path: path(), source })
    }

    /// Records that a turn failed because Codex or its model service cannot be reached; probes again
    /// in the background. When the sign-in was not accepted, the process is replaced before it is used
    /// again, because a running Codex does not see that somebody signed in meanwhile.
    pub async fn record_turn_failure(&self, kind: Option<TurnErrorKind>) {
        if kind == Some(TurnErrorKind::Unauthorized) {
            self.0.slot.invalidate().await;
        }
        self.refresh_in_background(BELIEVED);
    }

    /// Has the process replaced, and with it ended whatever it still does.
    pub async fn replace_process(&self) {
        self.0.slot.invalidate().await;
        self.refresh_in_background(BELIEVED);
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

    /// Takes note that the process ended by itself, and checks whether the next one is usable.
    fn handle_process_end(&self, end: String) {
        if self.0.tasks.stop_token().is_cancelled() {
            return;
        }
        let presence = CodexAvailability::Unavailable(CodexError::Gone(end).unavailable_reason());
        self.announce_change(&presence);
        self.0.known.record_result(presence, Instant::now());
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
        believed: Duration,
    ) -> Result<CodexAvailability, CodexError> {
        let asked = Instant::now();
        let server = self.0.slot.acquire_server(ServerRequirement::Any).await?;
        let is_young = asked.saturating_duration_since(server.started) < believed;
        match self.probe_with(&server).await {
            Err(error @ (CodexError::SignedOut | CodexError::MissingKey { .. })) if is_young => {
                Err(error)
            }
            // A running Codex knows only what it read at its start; ask one that starts now.
            Err(_) if server.started < asked => {
                drop(server);
                self.probe_with(&*self.0.slot.acquire_server(ServerRequirement::StartedNow).await?)
                    .await
            }
            known => known,
        }
    }

    async fn probe_with(&self, server: &CodexServer) -> Result<CodexAvailability, CodexError> {
        let presence = probe::probe_server(server, &self.0.settings).await?;
        // Made now, so that what a former process left is gone, and an error is known.
        self.0.scratches.get_or_try_init(|| self.create_scratch_folders()).await?;
        let confinement = server.probe_confinement().await?;
        *self.0.confinement.lock().unwrap_or_else(PoisonError::into_inner) = Some(confinement);
        Ok(presence)
    }

    /// Starts a probe in the background, one at a time, which believes a process younger than `believed`.
    fn refresh_in_background(&self, believed: Duration) {
        if self.0.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let codex = self.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = codex.0.tasks.stop_token().cancelled() => {}
                _ = codex.check_believing(believed) => {}
            }
            codex.0.refreshing.store(false, Ordering::Release);
        });
    }

    /// Announces and logs a change of presence, once.
    fn announce_change(&self, presence: &CodexAvailability) {
        let is_usable = Some(matches!(presence, CodexAvailability::Available { .. }));
        self.0.usable.send_if_modified(|known| {
            // The first probe changes nothing: who asked before it waited for it.
            let is_change = known.is_some() && *known != is_usable;
            *known = is_usable;
            is_change
        });
        let before = self
            .0
            .known
            .latest_result()
            .map_or_else(presence::unknown_availability, |(before, _)| before);
        match presence {
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
