//! Keeps threads between two turns, with their settings and scratch folders.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::ConversationId;

use super::{cell::ThreadSandbox, protocol::ThreadSettings};

/// Maximum idle threads. Each has a scratch folder. One that had no turn yet is loaded, which costs Codex about
/// 4 MB and a connection to our search.
const MAX_IDLE: usize = 16;

/// Thread without a turn; it is loaded if it never had one.
#[derive(Debug)]
pub(super) struct IdleThread {
    pub(super) thread: ConversationId,
    /// Settings of the thread, fixed until it is unloaded.
    pub(super) settings: ThreadSettings,
    pub(super) cell: ThreadSandbox,
    /// Tokens that it has spent, if known.
    pub(super) tokens: Option<u64>,
}

/// Idle threads, oldest first.
#[derive(Debug, Default)]
pub(super) struct IdleThreads(Mutex<VecDeque<IdleThread>>);

impl IdleThreads {
    /// Removes and returns `thread`, if it is idle.
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

    /// Removes and returns all threads.
    pub(super) fn take_all(&self) -> Vec<ConversationId> {
        self.lock_threads().drain(..).map(|loaded| loaded.thread).collect()
    }

    fn lock_threads(&self) -> MutexGuard<'_, VecDeque<IdleThread>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
