//! State shared by the reader of Codex's output and callers: pending requests, turns, the end of the process.

use std::{
    collections::HashMap,
    process::ExitStatus,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use codeinfo_core::ConversationId;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::CodexCounters;
use crate::{
    error::CodexError,
    event::{self, CodexEvent, CodexNotification, UnknownNotification},
    protocol::{self, CodexMessage, RpcError},
};

/// Message for an end without further details.
const ENDED: &str = "the Codex process ended";
/// Words that mark a line of standard error as harmless.
const NOTICES: [&str; 6] = ["warning", "warn", "info", "debug", "trace", "note"];
/// Phrases in lines after which Codex continues, regardless of their level.
const GOES_ON: [&str; 3] = ["in the meantime", "proceeding", "using defaults"];
/// Words that mark a line as the failure. Later lines without a mark, such as usage advice, say less.
const FAILURES: [&str; 2] = ["error", "fatal"];
/// Number of leading words of a line that are searched for marks.
const MARKED_WORDS: usize = 4;

/// Maximum queued bytes of a turn's events; a turn with more is abandoned.
const QUEUED_BYTES: usize = 32 * 1024 * 1024;

pub(crate) struct ThreadEvent {
    pub(crate) turn: Option<String>,
    pub(crate) event: CodexEvent,
    /// Reserved bytes in the queue, released on drop.
    _room: OwnedSemaphorePermit,
}

pub(super) struct ThreadEventQueue {
    events: mpsc::Sender<ThreadEvent>,
    room: Arc<Semaphore>,
}

impl ThreadEventQueue {
    pub(super) fn new(events: mpsc::Sender<ThreadEvent>) -> Self {
        Self { events, room: Arc::new(Semaphore::new(QUEUED_BYTES)) }
    }

    fn push_event(&self, turn: Option<String>, event: CodexEvent) -> bool {
        let Ok(bytes) = u32::try_from(event.estimated_bytes()) else { return false };
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(bytes) else { return false };
        self.events.try_send(ThreadEvent { turn, event, _room: room }).is_ok()
    }
}

pub(crate) struct CodexConnection {
    pub(super) state: Mutex<CodexConnectionState>,
    pub(crate) counters: Arc<CodexCounters>,
    /// Cancelled once the process has ended or has to end.
    pub(crate) closing: CancellationToken,
    /// Cancelled once the process no longer exists.
    pub(crate) gone: CancellationToken,
}

#[derive(Default)]
pub(super) struct CodexConnectionState {
    pub(super) pending: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    pub(super) turns: HashMap<ConversationId, ThreadEventQueue>,
    /// Waiters for the permissions of a thread; each receives the profile name.
    pub(super) confirmations: HashMap<ConversationId, oneshot::Sender<String>>,
    /// Reason of the end, safe to show; `None` while the process runs.
    pub(super) end: Option<String>,
    /// Most relevant line of standard error: the last failure, else the last line that is not a warning.
    last_stderr_line: String,
    on_end: Option<EndCallback>,
}

pub(crate) type EndCallback = Box<dyn FnOnce(String) + Send>;

impl CodexConnection {
    pub(super) fn lock_state(&self) -> MutexGuard<'_, CodexConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn register_request(
        &self,
        id: u64,
        answer: oneshot::Sender<Result<Value, RpcError>>,
    ) -> Result<(), CodexError> {
        let mut state = self.lock_state();
        if let Some(end) = &state.end {
            return Err(CodexError::Gone(end.clone()));
        }
        state.pending.insert(id, answer);
        Ok(())
    }

    pub(super) fn gone_error(&self) -> CodexError {
        CodexError::Gone(self.lock_state().end.clone().unwrap_or_else(|| ENDED.to_owned()))
    }

    /// Ignores warnings, of which each start has several.
    pub(crate) fn record_stderr(&self, words: String) {
        if is_marked(&words, &NOTICES) || GOES_ON.iter().any(|said| words.contains(said)) {
            return;
        }
        let mut state = self.lock_state();
        if is_marked(&words, &FAILURES) || !is_marked(&state.last_stderr_line, &FAILURES) {
            state.last_stderr_line = words;
        }
    }

    /// Earlier lines of standard error no longer explain an end; `on_end` is called at an unexpected one.
    pub(super) fn mark_started(&self, on_end: EndCallback) {
        let mut state = self.lock_state();
        state.last_stderr_line.clear();
        state.on_end = Some(on_end);
    }

    pub(crate) fn begin_shutdown(&self) {
        self.lock_state().on_end = None;
        self.closing.cancel();
    }

    /// Ends every wait after the process ended with `status`.
    pub(crate) fn mark_ended(&self, status: Option<ExitStatus>) {
        let on_end = {
            let mut state = self.lock_state();
            let end = describe_end(status, &state.last_stderr_line);
            state.end = Some(end.clone());
            state.pending.clear();
            state.turns.clear();
            state.confirmations.clear();
            state.on_end.take().map(|on_end| (on_end, end))
        };
        self.closing.cancel();
        if let Some((on_end, end)) = on_end {
            on_end(end);
        }
    }

    /// Handles one line of the process; returns the reply if the line is a request.
    pub(crate) fn handle_line(&self, line: &[u8]) -> Option<Vec<u8>> {
        let Ok(incoming) = serde_json::from_slice::<CodexMessage>(line) else {
            self.counters.malformed_lines.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        match (incoming.id, incoming.method) {
            (Some(id), Some(method)) => return Some(self.refuse_request(&id, &method)),
            (Some(id), None) => {
                let waiting = id.as_u64().and_then(|id| self.lock_state().pending.remove(&id));
                if let Some(waiting) = waiting {
                    let answer = match incoming.error {
                        Some(error) => Err(error),
                        None => Ok(incoming.result.unwrap_or_default()),
                    };
                    // The caller may have given up in the meantime.
                    drop(waiting.send(answer));
                }
            }
            (None, Some(method)) => self.handle_notification(&method, &incoming.params),
            (None, None) => {
                self.counters.malformed_lines.fetch_add(1, Ordering::Relaxed);
            }
        }
        None
    }

    fn refuse_request(&self, id: &Value, method: &str) -> Vec<u8> {
        self.counters.refused_requests.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(method, "Codex's request declined");
        let reply = match protocol::build_refusal(method) {
            Some(result) => json!({ "id": id, "result": result }),
            None => json!({ "id": id, "error": { "code": -32601, "message": "not supported" } }),
        };
        encode_line(&reply)
    }

    fn handle_notification(&self, method: &str, params: &Value) {
        if let Some((thread, profile)) = event::read_permissions(method, params) {
            let waiting = self.lock_state().confirmations.remove(&thread);
            if let Some(waiting) = waiting {
                drop(waiting.send(profile));
            }
        }
        match event::parse_notification(method, params) {
            Ok(None) => {}
            Err(UnknownNotification) => {
                self.counters.unknown_notifications.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(method, "notification not known");
            }
            Ok(Some(CodexNotification { thread, turn, event })) => {
                let mut state = self.lock_state();
                let full =
                    state.turns.get(&thread).is_some_and(|queue| !queue.push_event(turn, event));
                if full {
                    state.turns.remove(&thread);
                }
            }
        }
    }
}

fn is_marked(line: &str, marks: &[&str]) -> bool {
    let words = line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let mut start = words.take(MARKED_WORDS);
    start.any(|word| marks.iter().any(|mark| word.eq_ignore_ascii_case(mark)))
}

/// Describes how the process ended. Omits standard error after a signal, which it cannot explain.
fn describe_end(status: Option<ExitStatus>, last_stderr_line: &str) -> String {
    let Some(status) = status else { return ENDED.to_owned() };
    // The system's words are `signal: 9 (SIGKILL)` and `exit status: 1`.
    let how = status.to_string().replacen(": ", " ", 1);
    if last_stderr_line.is_empty() || status.code().is_none() {
        format!("{ENDED} with {how}")
    } else {
        format!("{ENDED} with {how}, saying: {last_stderr_line}")
    }
}

pub(super) struct PendingRequestGuard<'a> {
    pub(super) shared: &'a CodexConnection,
    pub(super) id: u64,
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        self.shared.lock_state().pending.remove(&self.id);
    }
}

pub(super) fn encode_line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_nobody_takes_are_bounded_by_their_bytes() {
        let (sender, mut events) = mpsc::channel(1_000);
        let queue = ThreadEventQueue::new(sender);
        let put = || {
            let answer = CodexEvent::Answer { item: String::new(), text: "x".repeat(1024 * 1024) };
            queue.push_event(None, answer)
        };
        assert_eq!((0..40).take_while(|_| put()).count(), 32);
        // Receiving an event releases its bytes.
        drop(events.try_recv());
        assert!(put() && !put());
    }
}
