//! Client of one `codex app-server` process: matches answers to requests and passes notifications to turns.

mod shared;

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsString,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use codeinfo_core::{
    ConversationId,
    task::{CachedProbe, Tasks},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

pub(super) use self::shared::{CodexConnection, EndCallback, ThreadEvent};

use self::shared::{PendingRequestGuard, ThreadEventQueue, encode_line};
use super::{
    codex_config::{self, BasePermissions},
    confinement::{ShellConfinement, ShellNetwork},
    error::CodexError,
    files::{self, CodexConfigStamp},
    inherit, process,
    protocol::{self, CodexModel, InitializeResult, RpcError, ThreadSettings, UserConfig},
    sandbox,
    sandbox_rules::{SandboxContext, SandboxRules},
    scratch::{self, ThreadSandbox},
};
use crate::CodexSettings;

/// Maximum queued lines. Requests are small and few, so a full queue means that Codex no longer reads.
const QUEUED_LINES: usize = 256;
/// Maximum queued events of a turn; a turn with more is abandoned.
const QUEUED_EVENTS: usize = 4096;
/// Maximum wait for the confirmation of permissions, which Codex sends with the answer.
const CONFIRMATION_TIMEOUT: Duration = Duration::from_secs(5);

/// Counters of all processes, for `/metrics`.
#[derive(Debug, Default)]
pub(super) struct CodexCounters {
    pub(super) starts: AtomicU64,
    pub(super) malformed_lines: AtomicU64,
    pub(super) unknown_notifications: AtomicU64,
    pub(super) refused_requests: AtomicU64,
}

/// Running Codex process; dropping the last handle stops it.
pub(super) struct CodexServer {
    lines: mpsc::Sender<Vec<u8>>,
    shared: Arc<CodexConnection>,
    next_id: AtomicU64,
    pub(super) settings: CodexSettings,
    pub(super) tasks: Tasks,
    pub(super) version: String,
    /// Stamp of the sign-in and configuration that the process read at its start.
    pub(super) stamp: CodexConfigStamp,
    pub(super) home: PathBuf,
    /// Names of the environment variables that the process inherited.
    pub(super) variables: BTreeSet<String>,
    pub(super) started: Instant,
    pub(super) models: OnceCell<Vec<CodexModel>>,
    pub(super) user_config: OnceCell<UserConfig>,
    /// Set if permissions can be changed in an open thread.
    pub(super) sets_permissions: AtomicBool,
    pub(super) confinement: CachedProbe<ShellConfinement>,
    /// Codex's own files, which the sandbox must let it read; `None` if they were not found.
    program: Option<Vec<PathBuf>>,
    pub(super) idle: IdleThreads,
    /// Set after a request timed out.
    silent: AtomicBool,
    /// Set once another process takes the next turns.
    retired: AtomicBool,
}

impl CodexServer {
    /// `on_end` is called when the process ends later without a request to stop.
    pub(super) async fn start(
        binary: PathBuf,
        settings: &CodexSettings,
        counters: Arc<CodexCounters>,
        tasks: &Tasks,
        on_end: EndCallback,
    ) -> Result<Self, CodexError> {
        // Before the start, so that a change during the start is detected later.
        let before = match &settings.home {
            Some(home) => Some(CodexConfigStamp::from_home(home).await),
            None => None,
        };
        counters.starts.fetch_add(1, Ordering::Relaxed);
        let (lines, queue) = mpsc::channel(QUEUED_LINES);
        let shared = Arc::new(CodexConnection {
            state: Mutex::default(),
            counters,
            closing: tasks.stop_token().child_token(),
            gone: CancellationToken::new(),
        });
        let program = files::find_program_files(&binary, tasks).await;
        let base = build_base_permissions(program.as_deref(), settings);
        let variables = inherit::collect_variables(settings).await;
        let names = variables.keys().cloned().collect();
        let start = process::CodexProcessSpec {
            binary: &binary,
            arguments: codex_config::build_arguments(settings, &base),
            variables,
            path: build_search_path(program.as_deref(), settings, tasks).await,
            settings,
        };
        process::start_process(&start, tasks, lines.downgrade(), queue, &shared)?;
        let mut server = Self {
            lines,
            shared,
            next_id: AtomicU64::new(1),
            settings: settings.clone(),
            tasks: tasks.clone(),
            version: String::new(),
            stamp: CodexConfigStamp::default(),
            home: PathBuf::new(),
            variables: names,
            started: Instant::now(),
            models: OnceCell::new(),
            user_config: OnceCell::new(),
            sets_permissions: AtomicBool::new(false),
            confinement: CachedProbe::default(),
            program,
            idle: IdleThreads::default(),
            silent: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        };
        let greeting: InitializeResult =
            server.call_method("initialize", &protocol::build_initialize_params()).await?;
        server.send_message(&json!({ "method": "initialized" })).await?;
        server.stamp = match before {
            Some(stamp) => stamp,
            None => CodexConfigStamp::from_home(&greeting.codex_home).await,
        };
        server.home = greeting.codex_home;
        server.version = parse_version(&greeting.user_agent);
        server.shared.mark_started(on_end);
        if server.is_running() { Ok(server) } else { Err(server.shared.gone_error()) }
    }

    pub(super) async fn call_method<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<T, CodexError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let params =
            serde_json::to_value(params).map_err(|source| CodexError::Form { method, source })?;
        let (answer, answered) = oneshot::channel();
        self.shared.register_request(id, answer)?;
        let _forget = PendingRequestGuard { shared: &self.shared, id };
        self.send_message(&json!({ "id": id, "method": method, "params": params })).await?;
        let answered = timeout(self.settings.request_timeout, answered).await;
        let value = match answered.map_err(|_| self.timed_out(method))? {
            Ok(Ok(value)) => value,
            Ok(Err(RpcError { code, message })) => {
                return Err(CodexError::Refused { method, code, message });
            }
            Err(_) => return Err(self.shared.gone_error()),
        };
        T::deserialize(value).map_err(|source| CodexError::Form { method, source })
    }

    async fn send_message(&self, message: &Value) -> Result<(), CodexError> {
        let sent = self.lines.send(encode_line(message));
        match timeout(self.settings.request_timeout, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.shared.gone_error()),
            Err(_) => Err(self.timed_out("standard input")),
        }
    }

    /// Records that the process hangs. It may still carry out the request, so the request must not be repeated.
    fn timed_out(&self, method: &'static str) -> CodexError {
        self.silent.store(true, Ordering::Relaxed);
        CodexError::TimedOut(method)
    }

    /// Releases idle threads for the next process. Threads with a turn follow when the turn ends.
    pub(super) async fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
        for thread in self.idle.take_all() {
            self.release_thread(thread).await;
        }
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Unloads `thread`; succeeds if it is not loaded.
    pub(super) async fn unload_thread(&self, thread: ConversationId) -> Result<(), CodexError> {
        let thread = json!({ "threadId": thread.to_string() });
        self.call_method::<Value>("thread/unsubscribe", &thread).await.map(drop)
    }

    /// Unloads `thread` and only logs a failure.
    pub(super) async fn release_thread(&self, thread: ConversationId) {
        if let Err(error) = self.unload_thread(thread).await {
            warn!(%error, "an idle thread stays loaded");
        }
    }

    /// Asks Codex to stop a turn. Its end still arrives as an event.
    pub(super) async fn interrupt_turn(&self, thread: ConversationId, turn: &str) {
        let ids = json!({ "threadId": thread.to_string(), "turnId": turn });
        if let Err(error) = self.call_method::<Value>("turn/interrupt", &ids).await {
            // The turn may have ended in the meantime.
            debug!(%error, "turn not interrupted");
        }
    }

    /// Applies the permission profile `profile` to the idle `thread`. Returns true if Codex confirms it.
    pub(super) async fn set_permissions(
        &self,
        thread: ConversationId,
        profile: &str,
    ) -> Result<bool, CodexError> {
        let (sender, confirmed) = oneshot::channel();
        self.shared.lock_state().confirmations.insert(thread, sender);
        let asked = json!({ "threadId": thread.to_string(), "permissions": profile });
        let updated = self.call_method::<Value>("thread/settings/update", &asked).await;
        let confirmed_profile = match &updated {
            Ok(_) => timeout(CONFIRMATION_TIMEOUT, confirmed).await.ok().and_then(Result::ok),
            Err(_) => None,
        };
        self.shared.lock_state().confirmations.remove(&thread);
        updated.map(|_| confirmed_profile.as_deref() == Some(profile))
    }

    pub(super) fn program_files(&self) -> Option<&[PathBuf]> {
        self.program.as_deref()
    }

    /// Returns true unless a request has timed out.
    pub(super) fn is_responsive(&self) -> bool {
        !self.silent.load(Ordering::Relaxed)
    }

    /// To end the subscription, drop the receiver and call [`CodexServer::unsubscribe`].
    pub(super) fn subscribe(&self, thread: ConversationId) -> mpsc::Receiver<ThreadEvent> {
        let (sender, receiver) = mpsc::channel(QUEUED_EVENTS);
        let mut state = self.shared.lock_state();
        if state.end.is_none() {
            state.turns.insert(thread, ThreadEventQueue::new(sender));
        }
        receiver
    }

    pub(super) fn unsubscribe(&self, thread: ConversationId) {
        self.shared.lock_state().turns.remove(&thread);
    }

    /// Ends the process and waits until it is gone, so that the next one can open its threads.
    pub(super) async fn stop(self) {
        self.shared.begin_shutdown();
        self.shared.gone.cancelled().await;
    }

    pub(super) fn is_running(&self) -> bool {
        self.shared.lock_state().end.is_none() && !self.shared.closing.is_cancelled()
    }

    /// Returns how the process ended; `None` while it runs.
    pub(super) fn end_reason(&self) -> Option<String> {
        self.shared.lock_state().end.clone()
    }
}

fn build_base_permissions(
    program: Option<&[PathBuf]>,
    settings: &CodexSettings,
) -> BasePermissions {
    let context = SandboxContext {
        program: program.unwrap_or_default().to_owned(),
        ..SandboxContext::default()
    };
    let (mut rules, _) = SandboxRules::build(&[], &context);
    rules.deny_folder(&settings.data_dir);
    // The network of turns, because the sandbox test uses it.
    let network = if settings.network { ShellNetwork::Proxied } else { ShellNetwork::Off };
    BasePermissions { profile: scratch::profile_name(), rules, network }
}

/// Returns the search path of the process, which finds our sandbox wrapper first.
async fn build_search_path(
    program: Option<&[PathBuf]>,
    settings: &CodexSettings,
    tasks: &Tasks,
) -> OsString {
    let codex_files = program.unwrap_or_default().to_owned();
    let our_settings = settings.clone();
    let installed =
        tasks.spawn_blocking(move || sandbox::install_wrapper(&our_settings, &codex_files)).await;
    installed.unwrap_or_else(|_| settings.path.clone())
}

/// Parses the version: `codeinfo/0.169.0 (Debian …)` → `0.169.0`.
fn parse_version(user_agent: &str) -> String {
    let after = user_agent.split_once('/').map_or(user_agent, |(_, after)| after);
    after.split_whitespace().next().unwrap_or_default().to_owned()
}

/// Maximum idle threads. Each has a scratch folder; a loaded one costs Codex 4 MB and a connection to our search.
const MAX_IDLE: usize = 16;

/// Thread without a turn; it is loaded if it never had one.
#[derive(Debug)]
pub(super) struct IdleThread {
    pub(super) thread: ConversationId,
    /// Settings of the thread, fixed until it is unloaded.
    pub(super) settings: ThreadSettings,
    pub(super) sandbox: ThreadSandbox,
    /// Tokens that it has spent, if known.
    pub(super) tokens: Option<u64>,
}

/// Idle threads, oldest first.
#[derive(Debug, Default)]
pub(super) struct IdleThreads(Mutex<VecDeque<IdleThread>>);

impl IdleThreads {
    pub(super) fn take_thread(&self, thread: ConversationId) -> Option<IdleThread> {
        let mut idle = self.lock_threads();
        let at = idle.iter().position(|loaded| loaded.thread == thread)?;
        idle.remove(at)
    }

    /// Adds a thread after its turn. Returns the thread to unload if there are too many.
    pub(super) fn put_thread(&self, loaded: IdleThread) -> Option<ConversationId> {
        let mut idle = self.lock_threads();
        idle.push_back(loaded);
        (idle.len() > MAX_IDLE).then(|| idle.pop_front()).flatten().map(|gone| gone.thread)
    }

    pub(super) fn take_all(&self) -> Vec<ConversationId> {
        self.lock_threads().drain(..).map(|loaded| loaded.thread).collect()
    }

    fn lock_threads(&self) -> MutexGuard<'_, VecDeque<IdleThread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
