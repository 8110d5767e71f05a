//! What holds work up at the moment, for whoever wonders why it takes so long.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What is over sooner than this is not worth a word.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// Why pieces of work have to wait. Clones tell of the same ones.
#[derive(Debug, Clone, Default)]
pub struct Holdup {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// How many pieces of work are held up.
    count: usize,
    since: Option<Instant>,
    reason: String,
}

/// One piece of work that is held up, until this is dropped.
#[derive(Debug)]
pub struct Held {
    state: Arc<Mutex<State>>,
}

impl Holdup {
    /// Notes that a piece of work has to wait, and why.
    pub fn hold(&self, reason: String) -> Held {
        let mut state = locked(&self.state);
        state.count += 1;
        state.since.get_or_insert_with(Instant::now);
        state.reason = reason;
        Held { state: Arc::clone(&self.state) }
    }

    /// Notes that a piece of work is tried again after a failure.
    pub fn retry(&self, failure: impl fmt::Display) -> Held {
        self.hold(format!("trying again: {failure}"))
    }

    /// Returns the latest reason, once something has been held up for a while.
    pub fn told(&self) -> Option<String> {
        let state = locked(&self.state);
        state.since.filter(|since| NOTICEABLE <= since.elapsed()).map(|_| state.reason.clone())
    }
}

impl Drop for Held {
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
