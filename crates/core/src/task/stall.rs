//! Reasons why work is waiting, shown while the wait takes long.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Shortest stall that is reported.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// Tracks why pieces of work wait. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct StallTracker {
    state: Arc<Mutex<StallState>>,
}

#[derive(Debug, Default)]
struct StallState {
    /// Number of stalled pieces of work.
    count: usize,
    since: Option<Instant>,
    reason: String,
}

/// Marks one piece of work as stalled until it is dropped.
#[derive(Debug)]
pub struct StallGuard {
    state: Arc<Mutex<StallState>>,
}

impl StallTracker {
    /// Records that a piece of work waits because of `reason`.
    pub fn begin_stall(&self, reason: String) -> StallGuard {
        let mut state = lock_state(&self.state);
        state.count += 1;
        state.since.get_or_insert_with(Instant::now);
        state.reason = reason;
        StallGuard { state: Arc::clone(&self.state) }
    }

    /// Records that a piece of work is retried after `failure`.
    pub fn begin_retry(&self, failure: impl fmt::Display) -> StallGuard {
        self.begin_stall(format!("trying again: {failure}"))
    }

    /// Returns the latest reason if work has been stalled for at least one second.
    pub fn latest_reason(&self) -> Option<String> {
        let state = lock_state(&self.state);
        state.since.filter(|since| since.elapsed() >= NOTICEABLE).map(|_| state.reason.clone())
    }
}

impl Drop for StallGuard {
    fn drop(&mut self) {
        let mut state = lock_state(&self.state);
        state.count -= 1;
        if state.count == 0 {
            *state = StallState::default();
        }
    }
}

/// Locks the state. A poisoned lock is safe, because no change can stay half made.
fn lock_state(state: &Mutex<StallState>) -> MutexGuard<'_, StallState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
