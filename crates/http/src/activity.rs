//! Since when a server has had nothing to do for anybody.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What is under way on the listeners that share it: requests, streamed replies, upgraded connections.
#[derive(Debug, Clone)]
pub struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    under_way: usize,
    /// When the last of them ended.
    since: Instant,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { under_way: 0, since: Instant::now() })))
    }
}

impl Activity {
    /// Returns for how long nothing has been under way; `None` while something is.
    pub fn idle(&self) -> Option<Duration> {
        let state = self.state();
        (state.under_way == 0).then(|| state.since.elapsed())
    }

    /// Something begins, and is under way until the result is dropped.
    pub(super) fn begin(&self) -> Busy {
        self.state().under_way += 1;
        Busy(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is under way.
#[derive(Debug)]
pub(super) struct Busy(Activity);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.under_way -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_idle_from_the_end_of_the_last_thing_on() {
        let activity = Activity::default();
        while activity.idle().is_some_and(|idle| idle < Duration::from_millis(50)) {}
        let began = Instant::now();
        let (first, second) = (activity.begin(), activity.clone().begin());
        drop(first);
        assert_eq!(activity.idle(), None);
        drop(second);
        assert!(activity.idle().is_some_and(|idle| idle <= began.elapsed()));
    }
}
