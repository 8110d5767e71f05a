//! What the reader of Codex's output and the callers share: who waits for what.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::Counters;
use crate::{
    codex::{
        error::CodexError,
        event::{self, Event, Notice, Unknown},
        protocol::{self, Incoming, RpcError},
    },
    domain::ConversationId,
};

/// Bytes of events that a turn may be behind; one that falls further behind is given up.
const QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// What a turn hears.
pub(in crate::codex) struct Heard {
    /// The turn the event belongs to, where Codex says so.
    pub(in crate::codex) turn: Option<String>,
    pub(in crate::codex) event: Event,
    /// Its room in the queue, given back when it is taken.
    _room: OwnedSemaphorePermit,
}

/// The queue of one turn.
pub(super) struct Queue {
    events: mpsc::Sender<Heard>,
    room: Arc<Semaphore>,
}

impl Queue {
    pub(super) fn new(events: mpsc::Sender<Heard>) -> Self {
        Self { events, room: Arc::new(Semaphore::new(QUEUED_BYTES)) }
    }

    /// Returns whether there was room for the event.
    fn put(&self, turn: Option<String>, event: Event) -> bool {
        let Ok(bytes) = u32::try_from(event.bytes()) else { return false };
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(bytes) else { return false };
        self.events.try_send(Heard { turn, event, _room: room }).is_ok()
    }
}

/// What the reader of the pipe and the callers share.
pub(in crate::codex) struct Shared {
    pub(super) state: Mutex<State>,
    pub(in crate::codex) counters: Arc<Counters>,
    /// Cancelled once the process is to end or has ended.
    pub(in crate::codex) closing: CancellationToken,
    /// Cancelled once the process is gone from the system.
    pub(in crate::codex) gone: CancellationToken,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) pending: HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    pub(super) turns: HashMap<ConversationId, Queue>,
    pub(super) ended: bool,
    /// The last line of standard error.
    pub(super) last_words: String,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn expect(
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

    pub(super) fn gone_error(&self) -> CodexError {
        CodexError::Gone(self.state().last_words.clone())
    }

    pub(in crate::codex) fn set_last_words(&self, words: String) {
        self.state().last_words = words;
    }

    /// Ends every wait: nothing more will come from the process.
    pub(in crate::codex) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.pending.clear();
        state.turns.clear();
        self.closing.cancel();
    }

    /// Takes one line of the process; returns the reply that it asks for, if it asks.
    pub(in crate::codex) fn take(&self, line: &[u8]) -> Option<Vec<u8>> {
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
            Ok(None) => {}
            Err(Unknown) => {
                self.counters.unknown_notifications.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(method, "notification not known");
            }
            Ok(Some(Notice { thread, turn, event })) => {
                let mut state = self.state();
                let full = state.turns.get(&thread).is_some_and(|queue| !queue.put(turn, event));
                if full {
                    state.turns.remove(&thread);
                }
            }
        }
    }
}

/// Takes a request's place in `pending` back, however the wait ends.
pub(super) struct Forget<'a> {
    pub(super) shared: &'a Shared,
    pub(super) id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.state().pending.remove(&self.id);
    }
}

pub(super) fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
