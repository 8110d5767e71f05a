//! The threads that Codex keeps loaded between turns, so that a follow-up starts at once.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::domain::ConversationId;

/// Most idle threads kept loaded; each costs Codex about 4 MB and a connection to our search.
const MAX_IDLE: usize = 16;

/// Loaded threads without a turn, oldest first, each with its count of tokens where known.
#[derive(Debug, Default)]
pub(super) struct Idle(Mutex<VecDeque<(ConversationId, Option<u64>)>>);

impl Idle {
    /// Takes `thread` for a turn; returns its count of tokens if it is loaded and that is known.
    pub(super) fn take(&self, thread: ConversationId) -> Option<u64> {
        let mut idle = self.lock();
        let at = idle.iter().position(|(id, _)| *id == thread)?;
        idle.remove(at).and_then(|(_, total)| total)
    }

    /// Puts `thread` back after a turn. Returns the thread that has to go for it.
    pub(super) fn put(&self, thread: ConversationId, total: Option<u64>) -> Option<ConversationId> {
        let mut idle = self.lock();
        idle.push_back((thread, total));
        (idle.len() > MAX_IDLE).then(|| idle.pop_front()).flatten().map(|(id, _)| id)
    }

    /// Takes all of them.
    pub(super) fn take_all(&self) -> Vec<ConversationId> {
        self.lock().drain(..).map(|(id, _)| id).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(ConversationId, Option<u64>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
