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
pub struct Stalls {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// How many pieces of work are stalled.
    count: usize,
    since: Option<Instant>,
    reason: String,
}

/// One piece of work that is stalled, until this is dropped.
#[derive(Debug)]
pub struct Stalled {
    state: Arc<Mutex<State>>,
}

impl Stalls {
    /// Notes that a piece of work has to wait, and why.
    pub fn begin(&self, reason: String) -> Stalled {
        let mut state = locked(&self.state);
        state.count += 1;
        state.since.get_or_insert_with(Instant::now);
        state.reason = reason;
        Stalled { state: Arc::clone(&self.state) }
    }

    /// Notes that a piece of work is tried again after a failure.
    pub fn retry(&self, failure: impl fmt::Display) -> Stalled {
        self.begin(format!("trying again: {failure}"))
    }

    /// Returns the latest reason, once something has been stalled for a while.
    pub fn reason(&self) -> Option<String> {
        let state = locked(&self.state);
        state.since.filter(|since| since.elapsed() >= NOTICEABLE).map(|_| state.reason.clone())
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let mut state = locked(&self.state);
        state.count -= 1;
        if state.count == 0 {
            *state = State::default();
        }
    }
}

/// No change of the state can be left half made.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
