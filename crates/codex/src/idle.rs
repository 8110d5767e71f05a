//! The threads between two turns: what they were opened with, and their scratch folders.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::ConversationId;

use super::{cell::ThreadSandbox, protocol::ThreadSettings};

/// Most idle threads kept; each has a scratch folder, and one that had no turn yet is loaded, which costs
/// Codex about 4 MB and a connection to our search.
const MAX_IDLE: usize = 16;

/// A thread without a turn, loaded if it had none yet.
#[derive(Debug)]
pub(super) struct IdleThread {
    pub(super) thread: ConversationId,
    /// What it was opened with, and keeps until it is unloaded.
    pub(super) settings: ThreadSettings,
    pub(super) cell: ThreadSandbox,
    /// Tokens that it has spent, where known.
    pub(super) tokens: Option<u64>,
}

/// Threads without a turn, oldest first.
#[derive(Debug, Default)]
pub(super) struct IdleThreads(Mutex<VecDeque<IdleThread>>);

impl IdleThreads {
    /// Takes `thread` for a turn, if it is one of these.
    pub(super) fn take_thread(&self, thread: ConversationId) -> Option<IdleThread> {
        let mut idle = self.lock_threads();
        let at = idle.iter().position(|loaded| loaded.thread == thread)?;
        idle.remove(at)
    }

    /// Puts a thread back after a turn. Returns the thread that has to go for it.
    pub(super) fn put_thread(&self, loaded: IdleThread) -> Option<ConversationId> {
        let mut idle = self.lock_threads();
        idle.push_back(loaded);
        (idle.len() > MAX_IDLE).then(|| idle.pop_front()).flatten().map(|gone| gone.thread)
    }

    /// Takes all of them.
    pub(super) fn take_all(&self) -> Vec<ConversationId> {
        self.lock_threads().drain(..).map(|loaded| loaded.thread).collect()
    }

    fn lock_threads(&self) -> MutexGuard<'_, VecDeque<IdleThread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
