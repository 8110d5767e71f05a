//! Threads of Codex: opened for a question, run for one turn, kept for a follow-up.
//!
//! A loaded thread keeps its permissions and ignores what it is resumed with. What it was opened
//! with is compared as a whole, and a thread that differs gets a new scratch folder. Neither the end
//! of a turn nor its interruption ends a command that still runs, or a script of the model that calls
//! its tools, and such a script goes on unseen in the next turn: so the thread is unloaded after each
//! turn, which ends both. A thread of another originator is not a conversation of ours.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use codeinfo_core::ConversationId;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tracing::{debug, warn};

use super::{
    bubblewrap,
    cell::Cell,
    codex_config::{self, Given},
    ephemeral::EphemeralOpening,
    error::CodexError,
    event::{Ending, Event, Usage},
    extra::Extra,
    fence::{self, Fence, Readable, Sight, Surroundings, Unread},
    idle::Loaded,
    inherit,
    protocol::{
        ConfigRead, INVALID_REQUEST, ORIGINATOR, ThreadOpened, ThreadRead, ThreadResume,
        ThreadSettings, TurnStart, TurnStarted, UserConfig,
    },
    scratch::Scratches,
    server::{Server, ThreadEvent},
    turn_error::TurnErrorKind,
};

/// What Codex says of a thread that another process has open.
const HELD: &str = "already has an active writer";
/// What it says of a thread that it is letting go of.
const CLOSING: &str = "is closing; retry";
/// Why a turn is lost whose process runs.
const OVERTAKEN: &str = "events of Codex came faster than they were taken";
/// How long a former process may take to let go of a thread; it takes a few milliseconds.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// Waits before it is tried again, each twice as long as the one before.
const FIRST_RETRY: Duration = Duration::from_millis(2);
const LAST_RETRY: Duration = Duration::from_millis(50);

/// What a thread is opened with.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The thread to continue; `None` starts a new one.
    pub thread: Option<ConversationId>,
    /// The model asked for; `None` takes the one of the settings, or the default.
    pub model: Option<String>,
    /// The instructions.
    pub prompt: String,
    /// Address of the MCP endpoint that searches.
    pub search_url: String,
    /// What it wants to see as a bearer, where it wants one.
    pub search_key: Option<codeinfo_core::Secret>,
    /// Further MCP endpoints of ours, which it can do without.
    pub extras: Vec<Extra>,
    /// What the model reads before the question.
    pub note: Option<String>,
    /// What the model's shell may read. Nothing else of the user's is there for it.
    pub readable: Vec<Readable>,
}

/// Where a thread is opened: on a process, with the scratch folders of ours.
pub(super) struct Place<'a> {
    pub(super) server: Arc<Server>,
    pub(super) settings: &'a crate::CodexSettings,
    pub(super) scratches: &'a Scratches,
    pub(super) sight: &'a Sight,
}

/// A thread that is loaded and about to run a turn.
pub struct Thread {
    server: Arc<Server>,
    settings: crate::CodexSettings,
    id: ConversationId,
    model: String,
    /// What it was opened with.
    opened_with: ThreadSettings,
    note: Option<String>,
    cell: Cell,
    tokens: Option<u64>,
    events: mpsc::Receiver<ThreadEvent>,
    /// What Codex calls each of [`Opening::extras`].
    extras: BTreeMap<String, String>,
}

impl Thread {
    /// Opens a thread.
    pub(super) async fn open(place: Place<'_>, opening: Opening) -> Result<Self, CodexError> {
        match opening.thread {
            None => Self::start(place, opening).await,
            Some(id) => Self::resume(place, opening, id).await,
        }
    }

    async fn start(place: Place<'_>, mut opening: Opening) -> Result<Self, CodexError> {
        let note = opening.note.take();
        let given = place.given(opening).await?;
        let cell = place.cell()?;
        let Place { server, settings, .. } = place;
        let (asked, extras) = (codex_config::thread(settings, &given, &cell), given.extra_names());
        let opened: ThreadOpened = server.call("thread/start", &asked).await?;
        let id = opened.thread.id.parse().map_err(|_| CodexError::Refused {
            method: "thread/start",
            code: 0,
            message: "the thread's id is not a UUID".to_owned(),
        })?;
        if let Err(error) = server.confine(id, &asked, &cell, &opened).await {
            server.leave(id).await;
            return Err(error);
        }
        let events = server.subscribe(id);
        Ok(Self {
            server,
            settings: settings.clone(),
            id,
            model: opened.model,
            opened_with: asked,
            note,
            cell,
            tokens: Some(0),
            events,
            extras,
        })
    }

    async fn resume(
        place: Place<'_>,
        mut opening: Opening,
        id: ConversationId,
    ) -> Result<Self, CodexError> {
        let note = opening.note.take();
        let thread_id = id.to_string();
        let asked = json!({ "threadId": thread_id });
        let read = place.server.call::<ThreadRead>("thread/read", &asked);
        let (read, given) = tokio::join!(read, place.given(opening));
        let thread = match read {
            Ok(read) => read.thread,
            Err(CodexError::Refused { code: INVALID_REQUEST, message, .. }) => {
                debug!(codex.message = message, "thread not found");
                return Err(CodexError::UnknownThread);
            }
            Err(error) => return Err(error),
        };
        // The user's own sessions are in the same place, and are not ours to open.
        if thread.id != thread_id || thread.originator.as_deref() != Some(ORIGINATOR) {
            return Err(CodexError::UnknownThread);
        }
        let given = given?;
        let loaded = place.server.idle.take(id);
        let tokens = loaded.as_ref().and_then(|loaded| loaded.tokens);
        // A loaded thread ignores what it is resumed with.
        let kept = loaded.filter(|loaded| {
            loaded.settings == codex_config::thread(place.settings, &given, &loaded.cell)
        });
        let cell = if let Some(kept) = kept {
            kept.cell
        } else {
            place.server.unload(id).await?;
            place.cell()?
        };
        let Place { server, settings, .. } = place;
        let (asked, extras) = (codex_config::thread(settings, &given, &cell), given.extra_names());
        let events = server.subscribe(id);
        let resume = ThreadResume { thread_id, exclude_turns: true, settings: asked };
        let opening = async {
            let opened = load(&server, &resume).await?;
            server.confine(id, &resume.settings, &cell, &opened).await?;
            Ok(opened)
        };
        let opened = match opening.await {
            Ok(opened) => opened,
            Err(error) => {
                server.unsubscribe(id);
                server.leave(id).await;
                return Err(error);
            }
        };
        let opened_with = resume.settings;
        let model = opened_with.model.clone().unwrap_or(opened.model);
        let settings = settings.clone();
        Ok(Self { server, settings, id, model, opened_with, note, cell, tokens, events, extras })
    }

    pub fn id(&self) -> ConversationId {
        self.id
    }

    /// The model that answers.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns what Codex calls each of [`Opening::extras`], with the name that was asked for.
    pub fn extras(&self) -> &BTreeMap<String, String> {
        &self.extras
    }

    /// Returns what an ephemeral thread beside this one is opened with: the same model, and none of the
    /// user's own MCP servers.
    pub fn ephemeral(&self, instructions: &'static str) -> EphemeralOpening {
        let servers = self.opened_with.config.get("mcp_servers").and_then(Value::as_object);
        let is_off = |entry: &Value| entry.get("enabled") == Some(&Value::Bool(false));
        let theirs = servers.into_iter().flatten().filter(|(_, entry)| is_off(entry));
        EphemeralOpening {
            model: self.model.clone(),
            instructions,
            servers: theirs.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Tokens that the thread has spent so far, where known.
    pub fn tokens(&self) -> Option<u64> {
        self.tokens
    }

    /// Starts a turn with `question`.
    pub async fn run(self, question: &str, effort: Option<String>) -> Result<Running, CodexError> {
        let start = TurnStart {
            thread_id: self.id.to_string(),
            input: [json!({ "type": "text", "text": question })],
            model: self.opened_with.model.clone(),
            effort: effort.unwrap_or_else(|| self.settings.effort.clone()),
            summary: "auto",
            approval_policy: codex_config::approval(&self.settings),
            sandbox_policy: codex_config::sandbox_policy(&self.settings),
        };
        match self.begin(&start).await {
            Ok(started) => Ok(Running { thread: self, turn: started.turn.id, retried: false }),
            Err(error) => {
                // A process that did not answer is replaced, and its threads end with it.
                if matches!(error, CodexError::Refused { .. }) {
                    self.server.leave(self.id).await;
                }
                Err(error)
            }
        }
    }

    async fn begin(&self, start: &TurnStart) -> Result<TurnStarted, CodexError> {
        if let Some(note) = &self.note {
            let content = json!([{ "type": "input_text", "text": note }]);
            let message = json!({ "type": "message", "role": "developer", "content": content });
            let noted = json!({ "threadId": start.thread_id, "items": [message] });
            self.server.call::<Value>("thread/inject_items", &noted).await?;
        }
        self.server.call("turn/start", start).await
    }

    /// Keeps the thread, loaded or not, for a follow-up. No turn of it may be under way.
    pub async fn keep(self) {
        let server = Arc::clone(&self.server);
        let (thread, tokens) = (self.id, self.tokens);
        let (settings, cell) = (self.opened_with.clone(), self.cell.clone());
        let loaded = Loaded { thread, settings, cell, tokens };
        drop(self);
        let leaving = if server.is_retired() { Some(thread) } else { server.idle.put(loaded) };
        if let Some(leaving) = leaving {
            server.leave(leaving).await;
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.server.unsubscribe(self.id);
    }
}

/// A turn that runs. Its holder must wait for its end, or interrupt it.
pub struct Running {
    thread: Thread,
    turn: String,
    /// Whether the present response was asked for again.
    retried: bool,
}

impl Running {
    /// Waits for the next event. After [`Event::Ended`] there is none.
    pub async fn next(&mut self) -> Event {
        loop {
            let Some(ThreadEvent { turn, event, .. }) = self.thread.events.recv().await else {
                let reason = self.thread.server.end();
                let reason = reason.unwrap_or_else(|| OVERTAKEN.to_owned());
                return Event::Ended(Ending::Lost(reason));
            };
            if turn.as_ref().is_some_and(|turn| *turn != self.turn) {
                // Of an earlier turn only the count matters: it says where this turn begins.
                if let Event::Counted { thread_total, .. } = event {
                    return self.note(Event::Counted { thread_total, last: Usage::default() });
                }
                continue;
            }
            return self.note(event);
        }
    }

    fn note(&mut self, event: Event) -> Event {
        match event {
            Event::Retrying => self.retried = true,
            Event::Counted { thread_total, .. } => {
                self.retried &= self.thread.tokens == Some(thread_total);
                self.thread.tokens = Some(thread_total);
            }
            // Codex names no cause when its retries are used up by failures of the service.
            Event::Ended(Ending::Failed(mut error))
                if self.retried && error.kind == TurnErrorKind::Other =>
            {
                error.kind = TurnErrorKind::Overloaded;
                return Event::Ended(Ending::Failed(error));
            }
            _ => {}
        }
        event
    }

    /// Asks Codex to stop the turn. The end still comes as an event.
    pub async fn interrupt(&self) {
        let turn = json!({ "threadId": self.thread.id.to_string(), "turnId": self.turn });
        let stopped: Result<Value, CodexError> =
            self.thread.server.call("turn/interrupt", &turn).await;
        if let Err(error) = stopped {
            // It may have ended by itself meanwhile.
            debug!(%error, "turn not interrupted");
        }
    }

    /// Keeps what the thread has for a follow-up. To be called once the turn has ended.
    pub async fn keep(self) {
        self.end_work().await;
        self.thread.keep().await;
    }

    /// Lets go of the thread.
    pub async fn leave(self) {
        self.end_work().await;
    }

    /// Unloads the thread, and so ends its commands, and scripts of a model that calls its tools by
    /// program. Neither the end of the turn nor an interruption ends them, and nothing says that such a
    /// script still runs: in a later turn it would go on, unseen.
    async fn end_work(&self) {
        if self.thread.server.is_running() {
            self.thread.server.leave(self.thread.id).await;
        }
    }
}

/// Loads a thread. A former process may hold it for the moment that letting go takes, and so may this
/// one.
async fn load(server: &Server, resume: &ThreadResume) -> Result<ThreadOpened, CodexError> {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    let mut wait = FIRST_RETRY;
    loop {
        match server.call("thread/resume", resume).await {
            Err(CodexError::Refused { message, .. })
                if [HELD, CLOSING].iter().any(|words| message.contains(words))
                    && Instant::now() < deadline =>
            {
                sleep(wait).await;
                wait = (wait * 2).min(LAST_RETRY);
            }
            loaded => return loaded,
        }
    }
}

impl Place<'_> {
    fn cell(&self) -> Result<Cell, CodexError> {
        let cell = if fence::is_plain(self.scratches.folder()) {
            Cell::new(self.scratches)
        } else {
            // Codex would take it for a pattern, and patterns grant nothing.
            Err(io::Error::other("its path has one of `*?[` in it"))
        };
        cell.map_err(|source| CodexError::Workdir {
            path: self.scratches.folder().to_owned(),
            source,
        })
    }

    /// Works out what the thread is given.
    async fn given(&self, opening: Opening) -> Result<Given, CodexError> {
        let Self { server, settings, .. } = self;
        let network = server.confinement().await?.network;
        let config = user_config(server, settings).await?;
        let model = match opening.model {
            Some(model) => Some(model),
            None => model(server, settings, config).await?,
        };
        let theirs = config.mcp_servers.clone().unwrap_or_default();
        let name = codex_config::search_name(&theirs).ok_or_else(|| {
            let reason = "every name for the search server is taken in mcp_servers";
            CodexError::Configuration(reason.to_owned())
        })?;
        let (fence, unread) = self.fence(opening.readable).await?;
        for Unread { folder, reason } in unread {
            warn!(root.path = %folder.display(), reason, "a root is searched, but not read by the model's shell");
        }
        Ok(Given {
            theirs: theirs.into_keys().collect(),
            search: (name, opening.search_url),
            search_key: opening.search_key,
            extras: opening.extras,
            model,
            prompt: opening.prompt,
            fence,
            network,
            sets_permissions: server.sets_permissions.load(Ordering::Relaxed),
        })
    }

    /// Builds the fence around `readable`; returns also what is left out of it.
    pub(super) async fn fence(
        &self,
        readable: Vec<Readable>,
    ) -> Result<(Fence, Vec<Unread>), CodexError> {
        let Self { server, settings, .. } = self;
        let surroundings = Surroundings {
            program: server.program().unwrap_or_default().to_owned(),
            private: inherit::private_places(
                settings,
                [server.home.clone(), self.scratches.folder().to_owned()],
            ),
        };
        let (readable, mut unread) = self.sight.of(readable, &server.tasks).await;
        let data_dir = settings.data_dir.clone();
        let fence = server.tasks.spawn_blocking(move || {
            let (fence, left_out) = Fence::around(&readable, &surroundings);
            bubblewrap::save_copies(&data_dir, &fence.copies());
            (fence, left_out)
        });
        let (fence, left_out) = fence.await.map_err(|_| CodexError::Stopping)?;
        unread.extend(left_out);
        Ok((fence, unread))
    }
}

/// Returns the configuration that applies in the scratch folder, read once for each process: one that
/// changes has the process replaced.
pub(super) async fn user_config<'a>(
    server: &'a Server,
    settings: &crate::CodexSettings,
) -> Result<&'a UserConfig, CodexError> {
    let asked = json!({ "includeLayers": false, "cwd": settings.workdir });
    let read = || async {
        match server.call::<ConfigRead>("config/read", &asked).await {
            Ok(read) => Ok(read.config),
            Err(CodexError::Refused { message, .. }) => Err(CodexError::Configuration(message)),
            Err(error) => Err(error),
        }
    };
    server.user_config.get_or_try_init(read).await
}

/// Chooses the model: the one that is set; else the preferred one while Codex offers it. `None`
/// leaves it to Codex, which is right for a provider of the user's own: its models are its own.
pub(super) async fn model(
    server: &Server,
    settings: &crate::CodexSettings,
    config: &UserConfig,
) -> Result<Option<String>, CodexError> {
    if let Some(model) = &settings.model {
        return Ok(Some(model.clone()));
    }
    let own_provider = config.model_provider.as_ref().is_some_and(|id| id != "openai");
    if own_provider && config.model.is_some() {
        return Ok(None);
    }
    let offered =
        server.models().await?.iter().any(|model| model.id == codex_config::PREFERRED_MODEL);
    Ok(offered.then(|| codex_config::PREFERRED_MODEL.to_owned()))
}
