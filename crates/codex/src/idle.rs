//! The threads between two turns: what they were opened with, and their scratch folders.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::ConversationId;

use super::{cell::Cell, protocol::ThreadSettings};

/// Most idle threads kept; each has a scratch folder, and one that had no turn yet is loaded, which costs
/// Codex about 4 MB and a connection to our search.
const MAX_IDLE: usize = 16;

/// A thread without a turn, loaded if it had none yet.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) thread: ConversationId,
    /// What it was opened with, and keeps until it is unloaded.
    pub(super) settings: ThreadSettings,
    pub(super) cell: Cell,
    /// Tokens that it has spent, where known.
    pub(super) tokens: Option<u64>,
}

/// Threads without a turn, oldest first.
#[derive(Debug, Default)]
pub(super) struct Idle(Mutex<VecDeque<Loaded>>);

impl Idle {
    /// Takes `thread` for a turn, if it is one of these.
    pub(super) fn take(&self, thread: ConversationId) -> Option<Loaded> {
        let mut idle = self.lock();
        let at = idle.iter().position(|loaded| loaded.thread == thread)?;
        idle.remove(at)
    }

    /// Puts a thread back after a turn. Returns the thread that has to go for it.
    pub(super) fn put(&self, loaded: Loaded) -> Option<ConversationId> {
        let mut idle = self.lock();
        idle.push_back(loaded);
        (idle.len() > MAX_IDLE).then(|| idle.pop_front()).flatten().map(|gone| gone.thread)
    }

    /// Takes all of them.
    pub(super) fn take_all(&self) -> Vec<ConversationId> {
        self.lock().drain(..).map(|loaded| loaded.thread).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Loaded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
