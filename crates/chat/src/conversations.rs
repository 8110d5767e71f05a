//! Limits turns: one at a time per conversation, and a maximum in total.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use codeinfo_core::ConversationId;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::event::ChatError;

type ConversationLock = tokio::sync::Mutex<()>;

/// Permits for turns. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct TurnLimiter {
    turns: Arc<Semaphore>,
    max_turns: usize,
    waiting: Arc<Semaphore>,
    max_waiting: usize,
    locks: Arc<Mutex<HashMap<ConversationId, Weak<ConversationLock>>>>,
}

#[derive(Debug)]
pub(super) struct TurnPermit {
    conversation: Option<OwnedMutexGuard<()>>,
    _turn: OwnedSemaphorePermit,
}

impl TurnLimiter {
    pub(super) fn new(max_turns: usize, max_waiting: usize) -> Self {
        let turn_count = max_turns.min(Semaphore::MAX_PERMITS);
        Self {
            turns: Arc::new(Semaphore::new(turn_count)),
            max_turns: turn_count,
            waiting: Arc::new(Semaphore::new(max_waiting.min(Semaphore::MAX_PERMITS))),
            max_waiting,
            locks: Arc::default(),
        }
    }

    /// Waits in order of arrival. A wait for the running turn of `conversation` takes no permit.
    pub(super) async fn acquire_permit(
        &self,
        conversation: Option<ConversationId>,
    ) -> Result<TurnPermit, ChatError> {
        let lock = conversation.map(|id| self.conversation_lock(id));
        if let Some(permit) = self.try_acquire_permit(lock.as_ref()) {
            return Ok(permit);
        }
        let waiting = Arc::clone(&self.waiting).try_acquire_owned();
        let _waiting = waiting.map_err(|_| ChatError::Busy(self.max_waiting))?;
        let conversation = match lock {
            Some(lock) => Some(lock.lock_owned().await),
            None => None,
        };
        let acquired = Arc::clone(&self.turns).acquire_owned().await;
        let turn = acquired.map_err(|_| ChatError::Stopping)?;
        Ok(TurnPermit { conversation, _turn: turn })
    }

    pub(super) fn active_turns(&self) -> usize {
        self.max_turns.saturating_sub(self.turns.available_permits())
    }

    fn try_acquire_permit(&self, lock: Option<&Arc<ConversationLock>>) -> Option<TurnPermit> {
        let conversation = match lock {
            Some(lock) => Some(Arc::clone(lock).try_lock_owned().ok()?),
            None => None,
        };
        match Arc::clone(&self.turns).try_acquire_owned() {
            Ok(turn) => Some(TurnPermit { conversation, _turn: turn }),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => None,
        }
    }

    /// Assigns a new conversation to `permit`, so that follow-up questions wait for its end.
    pub(super) fn claim_conversation(&self, permit: &mut TurnPermit, conversation: ConversationId) {
        if permit.conversation.is_none() {
            // No other task can know the id yet.
            permit.conversation = self.conversation_lock(conversation).try_lock_owned().ok();
        }
    }

    fn conversation_lock(&self, conversation: ConversationId) -> Arc<ConversationLock> {
        let mut locks = self.lock_table();
        if let Some(lock) = locks.get(&conversation).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(ConversationLock::new(()));
        locks.insert(conversation, Arc::downgrade(&lock));
        lock
    }

    fn lock_table(&self) -> MutexGuard<'_, HashMap<ConversationId, Weak<ConversationLock>>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
