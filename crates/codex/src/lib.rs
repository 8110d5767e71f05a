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

use codeinfo_core::task::{Probe, Tasks};
use tokio::{
    sync::{OnceCell, watch},
    time::timeout,
};
use tracing::{info, warn};

pub use self::{
    cell::{Confinement, Network},
    codex_config::is_search,
    ephemeral::{
        EphemeralError, EphemeralOpening, EphemeralQuestion, EphemeralReply, EphemeralThread,
    },
    error::CodexError,
    event::{Ending, Event, MAX_TEXT_BYTES, Tool, Usage},
    extra::Extra,
    fence::{Readable, Unread},
    other_variables::OtherVariables,
    presence::{Presence, Unavailable},
    protocol::Model,
    sandbox::{Boxed, Sandboxed},
    settings::{ApprovalPolicy, CodexSettings, EFFORTS, NetworkAccess, SandboxMode, WebSearchMode},
    thread::{Opening, Running, Thread},
    turn_error::{TurnError, TurnErrorKind},
};
use self::{
    fence::Sight,
    scratch::Scratches,
    server::{Counters, Server},
    slot::{Need, Slot},
    thread::Place,
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
    counters: Arc<Counters>,
    slot: Slot,
    known: Probe<Presence>,
    /// How the latest process confines the shell.
    confinement: std::sync::Mutex<Option<Confinement>>,
    /// Made on first need.
    scratches: OnceCell<Scratches>,
    sight: Sight,
    /// What was asked last of what the shell does not read.
    unread: Probe<Asked>,
    /// Whether Codex can be used, for who waits for a change; `None` before the first probe.
    usable: watch::Sender<Option<bool>>,
    /// Whether a probe in the background is under way.
    refreshing: AtomicBool,
}

/// What was given to be read, and what of it is not.
type Asked = (Vec<Readable>, Vec<Unread>);

/// What was counted since the start, for `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
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
        let counters = Arc::new(Counters::default());
        Self(Arc::new_cyclic(|inner: &Weak<Inner>| {
            let inner = Weak::clone(inner);
            let on_end = Arc::new(move |end| {
                if let Some(inner) = inner.upgrade() {
                    Self(inner).ended(end);
                }
            });
            let slot = Slot::new(settings.clone(), tasks.clone(), Arc::clone(&counters), on_end);
            Inner {
                settings,
                tasks,
                counters,
                slot,
                known: Probe::default(),
                confinement: std::sync::Mutex::default(),
                scratches: OnceCell::new(),
                sight: Sight::default(),
                unread: Probe::default(),
                usable: watch::Sender::new(None),
                refreshing: AtomicBool::new(false),
            }
        }))
    }

    /// Returns what is known, at once; starts a probe in the background when that is old.
    pub fn presence(&self) -> Presence {
        let latest = self.0.known.latest();
        if latest.as_ref().is_none_or(|(_, age)| *age >= self.0.settings.presence_ttl) {
            self.refresh(BELIEVED);
        }
        latest.map_or_else(presence::unknown, |(presence, _)| presence)
    }

    /// Returns what is known, if anything is.
    pub fn known(&self) -> Option<Presence> {
        self.0.known.latest().map(|(presence, _)| presence)
    }

    /// Checks now whether Codex is usable. Callers at the same time share one probe.
    pub async fn check(&self) -> Presence {
        self.check_believing(BELIEVED).await
    }

    /// Does the same, and believes a process younger than `believed` that Codex cannot be used.
    async fn check_believing(&self, believed: Duration) -> Presence {
        let asked = Instant::now();
        let probe = || async {
            let presence = match timeout(MAX_PROBE, self.probe(believed)).await {
                Ok(Ok(presence)) => presence,
                Ok(Err(error)) => Presence::Unavailable(error.unavailable()),
                Err(_) => Presence::Unavailable(CodexError::TimedOut("a check").unavailable()),
            };
            self.changed(&presence);
            presence
        };
        self.0.known.get(|_, age| age < asked.elapsed(), probe).await
    }

    /// Returns the presence to decide by: what is known while it says that Codex can be used, else
    /// the result of a probe. So Codex coming back is seen by the next question. Where it ended again
    /// and again, this waits for the next start.
    pub async fn usable(&self) -> Presence {
        if let available @ Presence::Available { .. } = self.presence() {
            return available;
        }
        // Why there is no process is for the probe to say.
        drop(self.0.slot.server_in_time().await);
        self.check().await
    }

    /// Returns the models that Codex offers.
    pub async fn models(&self) -> Result<Vec<Model>, CodexError> {
        let server = self.0.slot.server(Need::Any).await?;
        Ok(server.models().await?.to_vec())
    }

    /// Opens a thread.
    pub async fn open(&self, opening: Opening) -> Result<Thread, CodexError> {
        let server = self.0.slot.server_in_time().await?;
        let scratches = self.0.scratches.get_or_try_init(|| self.scratches()).await?;
        let (settings, sight) = (&self.0.settings, &self.0.sight);
        Thread::open(Place { server, settings, scratches, sight }, opening).await
    }

    /// Returns how the model's shell is confined, once a process was asked.
    pub fn confinement(&self) -> Option<Confinement> {
        self.0.confinement.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns which of `readable` the model's shell does not read. To be asked while Codex can be used.
    pub async fn unread(&self, readable: Vec<Readable>) -> Result<Vec<Unread>, CodexError> {
        let settings = &self.0.settings;
        if settings.sandbox == SandboxMode::DangerFullAccess {
            return Ok(Vec::new());
        }
        let is_fresh = |(of, _): &Asked, age| *of == readable && age < settings.presence_ttl;
        let find_out = || async {
            let server = self.0.slot.server(Need::Any).await?;
            let scratches = self.0.scratches.get_or_try_init(|| self.scratches()).await?;
            let place = Place { server, settings, scratches, sight: &self.0.sight };
            let (_, unread) = place.fence(readable.clone()).await?;
            Ok((readable.clone(), unread))
        };
        self.0.unread.try_get(is_fresh, find_out).await.map(|(_, unread)| unread)
    }

    async fn scratches(&self) -> Result<Scratches, CodexError> {
        let (workdir, tasks) = (self.0.settings.workdir.clone(), self.0.tasks.clone());
        let made = self.0.tasks.spawn_blocking(move || Scratches::new(&workdir, &tasks)).await;
        let made = made.map_err(|_| CodexError::Stopping)?;
        let path = || self.0.settings.workdir.clone();
        made.map_err(|source| CodexError::Workdir { path: path(), source })
    }

    /// Records that a turn failed because Codex or its model service cannot be reached; probes again
    /// in the background. When the sign-in was not accepted, the process is replaced before it is used
    /// again, because a running Codex does not see that somebody signed in meanwhile.
    pub async fn lost(&self, kind: Option<TurnErrorKind>) {
        if kind == Some(TurnErrorKind::Unauthorized) {
            self.0.slot.invalidate().await;
        }
        self.refresh(BELIEVED);
    }

    /// Has the process replaced, and with it ended whatever it still does.
    pub async fn replace(&self) {
        self.0.slot.invalidate().await;
        self.refresh(BELIEVED);
    }

    pub fn counts(&self) -> Counts {
        let counters = &self.0.counters;
        Counts {
            starts: counters.starts.load(Ordering::Relaxed),
            malformed_lines: counters.malformed_lines.load(Ordering::Relaxed),
            unknown_notifications: counters.unknown_notifications.load(Ordering::Relaxed),
            refused_requests: counters.refused_requests.load(Ordering::Relaxed),
        }
    }

    /// Takes note that the process ended by itself, and checks whether the next one is usable.
    fn ended(&self, end: String) {
        if self.0.tasks.stopping().is_cancelled() {
            return;
        }
        let presence = Presence::Unavailable(CodexError::Gone(end).unavailable());
        self.changed(&presence);
        self.0.known.note(presence, Instant::now());
        let codex = self.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = codex.0.tasks.stopping().cancelled() => {}
                _ = codex.check() => {}
            }
        });
    }

    async fn probe(&self, believed: Duration) -> Result<Presence, CodexError> {
        let asked = Instant::now();
        let server = self.0.slot.server(Need::Any).await?;
        let is_young = asked.saturating_duration_since(server.started) < believed;
        match self.probe_with(&server).await {
            Err(error @ (CodexError::SignedOut | CodexError::MissingKey { .. })) if is_young => {
                Err(error)
            }
            // A running Codex knows only what it read at its start; ask one that starts now.
            Err(_) if server.started < asked => {
                drop(server);
                self.probe_with(&*self.0.slot.server(Need::StartedNow).await?).await
            }
            known => known,
        }
    }

    async fn probe_with(&self, server: &Server) -> Result<Presence, CodexError> {
        let presence = probe::probe(server, &self.0.settings).await?;
        // Made now, so that what a former process left is gone, and an error is known.
        self.0.scratches.get_or_try_init(|| self.scratches()).await?;
        let confinement = server.confinement().await?;
        *self.0.confinement.lock().unwrap_or_else(PoisonError::into_inner) = Some(confinement);
        Ok(presence)
    }

    /// Starts a probe in the background, one at a time, which believes a process younger than `believed`.
    fn refresh(&self, believed: Duration) {
        if self.0.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let codex = self.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = codex.0.tasks.stopping().cancelled() => {}
                _ = codex.check_believing(believed) => {}
            }
            codex.0.refreshing.store(false, Ordering::Release);
        });
    }

    /// Announces and logs a change of presence, once.
    fn changed(&self, presence: &Presence) {
        let is_usable = Some(matches!(presence, Presence::Available { .. }));
        self.0.usable.send_if_modified(|known| {
            // The first probe changes nothing: who asked before it waited for it.
            let is_change = known.is_some() && *known != is_usable;
            *known = is_usable;
            is_change
        });
        let before = self.0.known.latest().map_or_else(presence::unknown, |(before, _)| before);
        match presence {
            same if *same == before => {}
            Presence::Available { version, model } => {
                info!(codex.version = version, codex.model = model, "codex can be used");
            }
            Presence::Unavailable(unavailable) => {
                warn!(unavailable.reason, unavailable.hint, "codex cannot be used");
            }
        }
    }
}
