//! One `codex app-server` process: requests matched with answers, notifications handed to turns.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    error::CodexError,
    event::{self, Event, Reading},
    files::Stamp,
    idle::Idle,
    pipes,
    protocol::{self, Incoming, Initialized, Model, RpcError},
};
use crate::{config, domain::ConversationId, task::Tasks};

/// Lines that wait to be written; requests are small and few, so a full queue means that Codex no
/// longer reads.
const QUEUED_LINES: usize = 256;
/// Events that a turn may be behind; a turn that falls further behind is given up.
const QUEUED_EVENTS: usize = 4096;

/// What is counted over all processes, for `/metrics`.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) starts: AtomicU64,
    pub(super) malformed_lines: AtomicU64,
    pub(super) unknown_notifications: AtomicU64,
    pub(super) refused_requests: AtomicU64,
}

/// A running process. Dropping the last handle stops it.
pub(super) struct Server {
    lines: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
    next_id: AtomicU64,
    settings: config::Codex,
    /// Version of Codex, such as `0.169.0`.
    pub(super) version: String,
    /// Its sign-in and configuration when it started: it reads them only then.
    pub(super) stamp: Stamp,
    pub(super) home: PathBuf,
    pub(super) started: Instant,
    pub(super) models: OnceCell<Vec<Model>>,
    pub(super) idle: Idle,
}

/// What a turn hears: the turn an event belongs to, where Codex says so, and the event.
pub(super) type Heard = (Option<String>, Event);

/// What the reader of the pipe and the callers share.
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) counters: Arc<Counters>,
    /// Cancelled once the process is to end or has ended.
    pub(super) closing: CancellationToken,
    /// Cancelled once the process is gone from the system.
    pub(super) gone: CancellationToken,
}

#[derive(Default)]
struct State {
    pending: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    turns: HashMap<ConversationId, mpsc::Sender<Heard>>,
    ended: bool,
    /// The last line of standard error.
    last_words: String,
}

impl Server {
    /// Starts `binary` and waits until it answers.
    pub(super) async fn start(
        binary: PathBuf,
        settings: &config::Codex,
        counters: Arc<Counters>,
        tasks: &Tasks,
    ) -> Result<Self, CodexError> {
        // Taken before the start, so that a change during the start is seen later.
        let before = match &settings.home {
            Some(home) => Some(Stamp::of(home).await),
            None => None,
        };
        counters.starts.fetch_add(1, Ordering::Relaxed);
        let (lines, queue) = mpsc::channel(QUEUED_LINES);
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            counters,
            closing: tasks.stopping().child_token(),
            gone: CancellationToken::new(),
        });
        pipes::start(binary, settings, tasks, (lines.downgrade(), queue), &shared)?;
        let mut server = Self {
            lines,
            shared,
            next_id: AtomicU64::new(1),
            settings: settings.clone(),
            version: String::new(),
            stamp: Stamp::default(),
            home: PathBuf::new(),
            started: Instant::now(),
            models: OnceCell::new(),
            idle: Idle::default(),
        };
        let greeting: Initialized = server.call("initialize", &protocol::initialize()).await?;
        server.send(&json!({ "method": "initialized" })).await?;
        server.stamp = match before {
            Some(stamp) => stamp,
            None => Stamp::of(&greeting.codex_home).await,
        };
        server.home = greeting.codex_home;
        server.version = version(&greeting.user_agent);
        Ok(server)
    }

    /// Asks for `method` and reads its answer.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<T, CodexError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let params =
            serde_json::to_value(params).map_err(|source| CodexError::Form { method, source })?;
        let (answer, answered) = oneshot::channel();
        self.shared.expect(id, answer)?;
        let _forget = Forget { shared: &self.shared, id };
        self.send(&json!({ "id": id, "method": method, "params": params })).await?;
        let answered = timeout(self.settings.request_timeout, answered).await;
        let value = match answered.map_err(|_| CodexError::TimedOut(method))? {
            Ok(Ok(value)) => value,
            Ok(Err(RpcError { code, message })) => {
                return Err(CodexError::Refused { method, code, message });
            }
            Err(_) => return Err(self.shared.gone_error()),
        };
        T::deserialize(value).map_err(|source| CodexError::Form { method, source })
    }

    async fn send(&self, message: &Value) -> Result<(), CodexError> {
        let sent = self.lines.send(line(message));
        match timeout(self.settings.request_timeout, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.shared.gone_error()),
            Err(_) => Err(CodexError::TimedOut("standard input")),
        }
    }

    /// Hears what happens in `thread` from now on, until the receiver is dropped and
    /// [`Server::unhear`] is called.
    pub(super) fn hear(&self, thread: ConversationId) -> mpsc::Receiver<Heard> {
        let (sender, receiver) = mpsc::channel(QUEUED_EVENTS);
        let mut state = self.shared.state();
        if !state.ended {
            state.turns.insert(thread, sender);
        }
        receiver
    }

    pub(super) fn unhear(&self, thread: ConversationId) {
        self.shared.state().turns.remove(&thread);
    }

    /// Ends the process and waits until it is gone, so that the next one finds its threads free.
    pub(super) async fn stop(self) {
        self.shared.closing.cancel();
        self.shared.gone.cancelled().await;
    }

    pub(super) fn is_running(&self) -> bool {
        !self.shared.state().ended && !self.shared.closing.is_cancelled()
    }

    pub(super) fn last_words(&self) -> String {
        self.shared.state().last_words.clone()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(
        &self,
        id: u64,
        answer: oneshot::Sender<Result<Value, RpcError>>,
    ) -> Result<(), CodexError> {
        let mut state = self.state();
        if state.ended {
            return Err(CodexError::Gone(state.last_words.clone()));
        }
        state.pending.insert(id, answer);
        Ok(())
    }

    fn gone_error(&self) -> CodexError {
        CodexError::Gone(self.state().last_words.clone())
    }

    pub(super) fn set_last_words(&self, words: String) {
        self.state().last_words = words;
    }

    /// Ends every wait: nothing more will come from the process.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.pending.clear();
        state.turns.clear();
        self.closing.cancel();
    }

    /// Takes one line of the process; returns the reply that it asks for, if it asks.
    pub(super) fn take(&self, line: &[u8]) -> Option<Vec<u8>> {
        let Ok(incoming) = serde_json::from_slice::<Incoming>(line) else {
            self.counters.malformed_lines.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        match (incoming.id, incoming.method) {
            (Some(id), Some(method)) => return Some(self.refuse(&id, &method)),
            (Some(id), None) => {
                let waiting = id.as_u64().and_then(|id| self.state().pending.remove(&id));
                if let Some(waiting) = waiting {
                    let answer = match incoming.error {
                        Some(error) => Err(error),
                        None => Ok(incoming.result.unwrap_or_default()),
                    };
                    // Whoever waited may have given up meanwhile.
                    drop(waiting.send(answer));
                }
            }
            (None, Some(method)) => self.notify(&method, &incoming.params),
            (None, None) => {
                self.counters.malformed_lines.fetch_add(1, Ordering::Relaxed);
            }
        }
        None
    }

    fn refuse(&self, id: &Value, method: &str) -> Vec<u8> {
        self.counters.refused_requests.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(method, "Codex's request declined");
        let reply = match protocol::refusal(method) {
            Some(result) => json!({ "id": id, "result": result }),
            None => json!({ "id": id, "error": { "code": -32601, "message": "not supported" } }),
        };
        line(&reply)
    }

    fn notify(&self, method: &str, params: &Value) {
        match event::read(method, params) {
            Reading::Ignored => {}
            Reading::Unknown => {
                self.counters.unknown_notifications.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(method, "notification not known");
            }
            Reading::Event { thread, turn, event } => {
                let mut state = self.state();
                let full = state
                    .turns
                    .get(&thread)
                    .is_some_and(|turns| turns.try_send((turn, event)).is_err());
                if full {
                    state.turns.remove(&thread);
                }
            }
        }
    }
}

/// Takes a request's place in `pending` back, however the wait ends.
struct Forget<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.state().pending.remove(&self.id);
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// `codeinfo/0.169.0 (Debian …)` → `0.169.0`.
fn version(user_agent: &str) -> String {
    let after = user_agent.split_once('/').map_or(user_agent, |(_, after)| after);
    after.split_whitespace().next().unwrap_or_default().to_owned()
}
