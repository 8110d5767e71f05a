//! Threads of Codex: opened for a question, used for one turn, kept for a follow-up.
//!
//! A loaded thread keeps its permissions and ignores the parameters of a resume. Its opening parameters are
//! compared as a whole, and a thread that differs gets a new scratch folder. Neither the end of a turn nor its
//! interruption ends running commands or model scripts that call tools, and such a script would continue unseen in
//! the next turn. The thread is therefore unloaded after each turn, which ends both.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use codeinfo_core::{ConversationId, Secret};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tracing::{debug, warn};

use super::{
    codex_config::{self, ThreadInputs},
    ephemeral::EphemeralThreadOptions,
    error::{CodexError, TurnErrorKind},
    event::{CodexEvent, CodexTurnEnd, TokenUsage},
    inherit,
    protocol::{
        ConfigReadResult, INVALID_REQUEST, ORIGINATOR, ThreadOpenResult, ThreadReadResult,
        ThreadResumeParams, ThreadSettings, TurnStartParams, TurnStartResult, UserConfig,
    },
    sandbox,
    sandbox_rules::{
        self, ExcludedRoot, ReadableRoot, SandboxContext, SandboxRules, SecretLocator,
    },
    scratch::{ScratchFolders, ThreadSandbox},
    server::{CodexServer, IdleThread, ThreadEvent},
    settings::ExtraEndpoint,
};
use crate::CodexSettings;

/// Part of Codex's message for a thread that another process has open.
const HELD: &str = "already has an active writer";
/// Part of Codex's message for a thread that is being released.
const CLOSING: &str = "is closing; retry";
/// Reason for a lost turn while the process still runs.
const OVERTAKEN: &str = "events of Codex came faster than they were taken";
/// Maximum wait for a former process to release a thread; it takes a few milliseconds.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// First and longest wait between retries; each is twice the previous one.
const FIRST_RETRY: Duration = Duration::from_millis(2);
const LAST_RETRY: Duration = Duration::from_millis(50);

/// Options for opening a thread.
#[derive(Debug, Clone)]
pub struct ThreadOptions {
    /// Thread to continue; `None` starts a new one.
    pub thread: Option<ConversationId>,
    /// Requested model; `None` takes the one of the settings, or the default.
    pub model: Option<String>,
    /// Base instructions.
    pub prompt: String,
    pub search_url: String,
    /// Bearer token of the search endpoint, if it requires one.
    pub search_key: Option<Secret>,
    /// Optional MCP endpoints of ours.
    pub extras: Vec<ExtraEndpoint>,
    /// Text that the model reads before the question.
    pub note: Option<String>,
    /// Folders that the model's shell may read. It can read no other files of the user.
    pub readable: Vec<ReadableRoot>,
}

pub(super) struct ThreadOpener<'a> {
    pub(super) server: Arc<CodexServer>,
    pub(super) settings: &'a CodexSettings,
    pub(super) scratch_folders: &'a ScratchFolders,
    pub(super) secret_locator: &'a SecretLocator,
}

/// Loaded thread that is ready for a turn.
pub struct Thread {
    server: Arc<CodexServer>,
    settings: CodexSettings,
    id: ConversationId,
    model: String,
    open_settings: ThreadSettings,
    note: Option<String>,
    sandbox: ThreadSandbox,
    tokens: Option<u64>,
    events: mpsc::Receiver<ThreadEvent>,
    extras: BTreeMap<String, String>,
}

impl Thread {
    pub(super) async fn open(
        context: ThreadOpener<'_>,
        options: ThreadOptions,
    ) -> Result<Self, CodexError> {
        match options.thread {
            None => Self::start_new(context, options).await,
            Some(id) => Self::resume(context, options, id).await,
        }
    }

    async fn start_new(
        context: ThreadOpener<'_>,
        mut options: ThreadOptions,
    ) -> Result<Self, CodexError> {
        let note = options.note.take();
        let inputs = context.prepare_inputs(options).await?;
        let sandbox = context.create_sandbox()?;
        let ThreadOpener { server, settings, .. } = context;
        let open_settings = codex_config::build_thread_settings(settings, &inputs, &sandbox);
        let extras = inputs.extra_names();
        let opened: ThreadOpenResult = server.call_method("thread/start", &open_settings).await?;
        let id = opened.thread.parse_id()?;
        if let Err(error) = server.confine_shell(id, &open_settings, &sandbox, &opened).await {
            server.release_thread(id).await;
            return Err(error);
        }
        let events = server.subscribe(id);
        Ok(Self {
            server,
            settings: settings.clone(),
            id,
            model: opened.model,
            open_settings,
            note,
            sandbox,
            tokens: Some(0),
            events,
            extras,
        })
    }

    async fn resume(
        context: ThreadOpener<'_>,
        mut options: ThreadOptions,
        id: ConversationId,
    ) -> Result<Self, CodexError> {
        let note = options.note.take();
        let thread_id = id.to_string();
        let asked = json!({ "threadId": thread_id });
        let read = context.server.call_method::<ThreadReadResult>("thread/read", &asked);
        let (read, inputs) = tokio::join!(read, context.prepare_inputs(options));
        let thread = match read {
            Ok(read) => read.thread,
            Err(CodexError::Refused { code: INVALID_REQUEST, message, .. }) => {
                debug!(codex.message = message, "thread not found");
                return Err(CodexError::UnknownThread);
            }
            Err(error) => return Err(error),
        };
        // The user's own sessions are stored in the same place and must not be opened.
        if thread.id != thread_id || thread.originator.as_deref() != Some(ORIGINATOR) {
            return Err(CodexError::UnknownThread);
        }
        let inputs = inputs?;
        let loaded = context.server.idle.take_thread(id);
        let tokens = loaded.as_ref().and_then(|loaded| loaded.tokens);
        // A loaded thread ignores the parameters of a resume.
        let reusable = loaded.filter(|loaded| {
            loaded.settings
                == codex_config::build_thread_settings(context.settings, &inputs, &loaded.sandbox)
        });
        let sandbox = if let Some(reusable) = reusable {
            reusable.sandbox
        } else {
            context.server.unload_thread(id).await?;
            context.create_sandbox()?
        };
        let ThreadOpener { server, settings, .. } = context;
        let open_settings = codex_config::build_thread_settings(settings, &inputs, &sandbox);
        let extras = inputs.extra_names();
        let events = server.subscribe(id);
        let resume = ThreadResumeParams { thread_id, exclude_turns: true, settings: open_settings };
        let opening = async {
            let opened = load_thread(&server, &resume).await?;
            server.confine_shell(id, &resume.settings, &sandbox, &opened).await?;
            Ok(opened)
        };
        let opened = match opening.await {
            Ok(opened) => opened,
            Err(error) => {
                server.unsubscribe(id);
                server.release_thread(id).await;
                return Err(error);
            }
        };
        let open_settings = resume.settings;
        let model = open_settings.model.clone().unwrap_or(opened.model);
        Ok(Self {
            server,
            settings: settings.clone(),
            id,
            model,
            open_settings,
            note,
            sandbox,
            tokens,
            events,
            extras,
        })
    }

    pub fn id(&self) -> ConversationId {
        self.id
    }

    /// Returns the model that answers.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Maps the names of [`ThreadOptions::extras`] in Codex to the requested names.
    pub fn endpoint_names(&self) -> &BTreeMap<String, String> {
        &self.extras
    }

    /// Returns options for an ephemeral thread with the same model and without the user's own MCP servers.
    pub fn ephemeral_options(&self, instructions: &'static str) -> EphemeralThreadOptions {
        let servers = self.open_settings.config.get("mcp_servers").and_then(Value::as_object);
        let is_off = |entry: &Value| entry.get("enabled") == Some(&Value::Bool(false));
        let user_servers = servers.into_iter().flatten().filter(|(_, entry)| is_off(entry));
        EphemeralThreadOptions {
            model: self.model.clone(),
            instructions,
            servers: user_servers.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Returns the tokens that the thread has spent, if known.
    pub fn tokens_spent(&self) -> Option<u64> {
        self.tokens
    }

    /// Starts a turn with `question`.
    pub async fn run_turn(
        self,
        question: &str,
        effort: Option<String>,
    ) -> Result<RunningTurn, CodexError> {
        let start = TurnStartParams {
            thread_id: self.id.to_string(),
            input: [json!({ "type": "text", "text": question })],
            model: self.open_settings.model.clone(),
            effort: effort.unwrap_or_else(|| self.settings.effort.clone()),
            summary: "auto",
            approval_policy: codex_config::approval_policy(&self.settings),
            sandbox_policy: codex_config::sandbox_policy(&self.settings),
        };
        let started = async {
            if let Some(note) = &self.note {
                let content = json!([{ "type": "input_text", "text": note }]);
                let message = json!({ "type": "message", "role": "developer", "content": content });
                let noted = json!({ "threadId": start.thread_id, "items": [message] });
                self.server.call_method::<Value>("thread/inject_items", &noted).await?;
            }
            self.server.call_method::<TurnStartResult>("turn/start", &start).await
        };
        match started.await {
            Ok(started) => Ok(RunningTurn { thread: self, turn: started.turn.id, retried: false }),
            Err(error) => {
                // A process that did not answer is replaced, and its threads end with it.
                if matches!(error, CodexError::Refused { .. }) {
                    self.server.release_thread(self.id).await;
                }
                Err(error)
            }
        }
    }

    /// Keeps the thread, loaded or not, for a follow-up. It must not have a running turn.
    pub async fn keep_for_follow_up(self) {
        let server = Arc::clone(&self.server);
        let thread = self.id;
        let loaded = IdleThread {
            thread,
            settings: self.open_settings.clone(),
            sandbox: self.sandbox.clone(),
            tokens: self.tokens,
        };
        drop(self);
        let leaving =
            if server.is_retired() { Some(thread) } else { server.idle.put_thread(loaded) };
        if let Some(leaving) = leaving {
            server.release_thread(leaving).await;
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.server.unsubscribe(self.id);
    }
}

/// Running turn. Its owner must wait for its end or interrupt it.
pub struct RunningTurn {
    thread: Thread,
    turn: String,
    /// Set if the current response was requested again.
    retried: bool,
}

impl RunningTurn {
    /// Waits for the next event. No event follows [`CodexEvent::Ended`].
    pub async fn next(&mut self) -> CodexEvent {
        loop {
            let Some(ThreadEvent { turn, event, .. }) = self.thread.events.recv().await else {
                let end = self.thread.server.end_reason();
                let reason = end.unwrap_or_else(|| OVERTAKEN.to_owned());
                return CodexEvent::Ended(CodexTurnEnd::Lost(reason));
            };
            if turn.as_ref().is_some_and(|turn| *turn != self.turn) {
                // Only the token count of an earlier turn matters: it is the baseline of this turn.
                if let CodexEvent::Counted { thread_total, .. } = event {
                    return self.track_event(CodexEvent::Counted {
                        thread_total,
                        last: TokenUsage::default(),
                    });
                }
                continue;
            }
            return self.track_event(event);
        }
    }

    fn track_event(&mut self, event: CodexEvent) -> CodexEvent {
        match event {
            CodexEvent::Retrying => self.retried = true,
            CodexEvent::Counted { thread_total, .. } => {
                self.retried &= self.thread.tokens == Some(thread_total);
                self.thread.tokens = Some(thread_total);
            }
            // Codex names no cause when failures of the service use up its retries.
            CodexEvent::Ended(CodexTurnEnd::Failed(mut error))
                if self.retried && error.kind == TurnErrorKind::Other =>
            {
                error.kind = TurnErrorKind::Overloaded;
                return CodexEvent::Ended(CodexTurnEnd::Failed(error));
            }
            _ => {}
        }
        event
    }

    /// Asks Codex to stop the turn. Its end still arrives as an event.
    pub async fn interrupt(&self) {
        self.thread.server.interrupt_turn(self.thread.id, &self.turn).await;
    }

    /// Keeps the thread for a follow-up. Call it after the turn has ended.
    pub async fn keep_for_follow_up(self) {
        self.unload_thread().await;
        self.thread.keep_for_follow_up().await;
    }

    /// Unloads the thread without keeping it.
    pub async fn release_thread(self) {
        self.unload_thread().await;
    }

    /// Unloads the thread, which ends its commands and model scripts.
    async fn unload_thread(&self) {
        if self.thread.server.is_running() {
            self.thread.server.release_thread(self.thread.id).await;
        }
    }
}

/// Loads a thread. Retries while a former process, or this one, is still releasing it.
async fn load_thread(
    server: &CodexServer,
    resume: &ThreadResumeParams,
) -> Result<ThreadOpenResult, CodexError> {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    let mut wait = FIRST_RETRY;
    loop {
        match server.call_method("thread/resume", resume).await {
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

impl ThreadOpener<'_> {
    fn create_sandbox(&self) -> Result<ThreadSandbox, CodexError> {
        let sandbox = if sandbox_rules::is_plain(self.scratch_folders.folder()) {
            ThreadSandbox::new(self.scratch_folders)
        } else {
            // Codex would read the path as a pattern, and patterns grant nothing.
            Err(io::Error::other("its path has one of `*?[` in it"))
        };
        sandbox.map_err(|source| CodexError::Workdir {
            path: self.scratch_folders.folder().to_owned(),
            source,
        })
    }

    async fn prepare_inputs(&self, options: ThreadOptions) -> Result<ThreadInputs, CodexError> {
        let Self { server, settings, .. } = self;
        let network = server.probe_confinement().await?.network;
        let config = user_config(server, settings).await?;
        let model = match options.model {
            Some(model) => Some(model),
            None => choose_model(server, settings, config).await?,
        };
        let user_servers = config.mcp_servers.clone().unwrap_or_default();
        let name = codex_config::search_name(&user_servers).ok_or_else(|| {
            let reason = "every name for the search server is taken in mcp_servers";
            CodexError::Configuration(reason.to_owned())
        })?;
        let (rules, excluded) = self.build_sandbox_rules(options.readable).await?;
        for ExcludedRoot { folder, reason } in excluded {
            warn!(root.path = %folder.display(), reason, "a root is searched, but not read by the model's shell");
        }
        Ok(ThreadInputs {
            user_servers: user_servers.into_keys().collect(),
            search: (name, options.search_url),
            search_key: options.search_key,
            extras: options.extras,
            model,
            prompt: options.prompt,
            rules,
            network,
            sets_permissions: server.sets_permissions.load(Ordering::Relaxed),
        })
    }

    pub(super) async fn build_sandbox_rules(
        &self,
        readable: Vec<ReadableRoot>,
    ) -> Result<(SandboxRules, Vec<ExcludedRoot>), CodexError> {
        let Self { server, settings, .. } = self;
        let context = SandboxContext {
            program: server.program_files().unwrap_or_default().to_owned(),
            private: inherit::private_places(
                settings,
                [server.home.clone(), self.scratch_folders.folder().to_owned()],
            ),
        };
        let (readable, mut excluded) =
            self.secret_locator.locate_secrets(readable, &server.tasks).await;
        let data_dir = settings.data_dir.clone();
        let rules = server.tasks.spawn_blocking(move || {
            let (rules, excluded_roots) = SandboxRules::build(&readable, &context);
            sandbox::save_copies(&data_dir, &rules.copy_git_settings());
            (rules, excluded_roots)
        });
        let (rules, excluded_roots) = rules.await.map_err(|_| CodexError::Stopping)?;
        excluded.extend(excluded_roots);
        Ok((rules, excluded))
    }
}

/// Read once per process, because a changed configuration replaces the process.
pub(super) async fn user_config<'a>(
    server: &'a CodexServer,
    settings: &CodexSettings,
) -> Result<&'a UserConfig, CodexError> {
    let asked = json!({ "includeLayers": false, "cwd": settings.workdir });
    let read = || async {
        match server.call_method::<ConfigReadResult>("config/read", &asked).await {
            Ok(read) => Ok(read.config),
            Err(CodexError::Refused { message, .. }) => Err(CodexError::Configuration(message)),
            Err(error) => Err(error),
        }
    };
    server.user_config.get_or_try_init(read).await
}

/// Chooses the model: that of the settings, else the preferred one if offered; `None` leaves the choice to Codex.
pub(super) async fn choose_model(
    server: &CodexServer,
    settings: &CodexSettings,
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
        server.load_models().await?.iter().any(|model| model.id == codex_config::PREFERRED_MODEL);
    Ok(offered.then(|| codex_config::PREFERRED_MODEL.to_owned()))
}
