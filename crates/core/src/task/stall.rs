//! What work is waiting for at the moment, to be shown while it takes long.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A stall that is over sooner than this is not reported.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// Why pieces of work have to wait. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct StallTracker {
    state: Arc<Mutex<StallState>>,
}

#[derive(Debug, Default)]
struct StallState {
    /// How many pieces of work are stalled.
    count: usize,
    since: Option<Instant>,
    reason: String,
}

/// One piece of work that is stalled, until this is dropped.
#[derive(Debug)]
pub struct StallGuard {
    state: Arc<Mutex<StallState>>,
}

impl StallTracker {
    /// Notes that a piece of work has to wait, and why.
    pub fn begin_stall(&self, reason: String) -> StallGuard {
        let mut state = lock_state(&self.state);
        state.count += 1;
        state.since.get_or_insert_with(Instant::now);
        state.reason = reason;
        StallGuard { state: Arc::clone(&self.state) }
    }

    /// Notes that a piece of work is tried again after a failure.
    pub fn begin_retry(&self, failure: impl fmt::Display) -> StallGuard {
        self.begin_stall(format!("trying again: {failure}"))
    }

    /// Returns the latest reason, once something has been stalled for a while.
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

/// No change of the state can be left half made.
fn lock_state(state: &Mutex<StallState>) -> MutexGuard<'_, StallState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
