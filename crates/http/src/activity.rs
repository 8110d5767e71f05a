//! Measures how long a server has been idle.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Work in progress on the listeners that share it: requests, streamed replies, upgraded
/// connections.
#[derive(Debug, Clone)]
pub struct ServerActivity(Arc<Mutex<ActivityState>>);

#[derive(Debug)]
struct ActivityState {
    under_way: usize,
    /// Time at which the last work ended.
    since: Instant,
}

impl Default for ServerActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ActivityState { under_way: 0, since: Instant::now() })))
    }
}

impl ServerActivity {
    /// Returns for how long the server has been idle; `None` while it works.
    pub fn idle_time(&self) -> Option<Duration> {
        let state = self.lock_state();
        (state.under_way == 0).then(|| state.since.elapsed())
    }

    /// Counts work as in progress until the result is dropped.
    pub(super) fn begin_work(&self) -> ActivityGuard {
        self.lock_state().under_way += 1;
        ActivityGuard(self.clone())
    }

    fn lock_state(&self) -> MutexGuard<'_, ActivityState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard of work in progress.
#[derive(Debug)]
pub(super) struct ActivityGuard(ServerActivity);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock_state();
        state.under_way -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_idle_from_the_end_of_the_last_thing_on() {
        let activity = ServerActivity::default();
        while activity.idle_time().is_some_and(|idle| idle < Duration::from_millis(50)) {}
        let began = Instant::now();
        let first = activity.begin_work();
        let second = activity.clone().begin_work();
        drop(first);
        assert_eq!(activity.idle_time(), None);
        drop(second);
        assert!(activity.idle_time().is_some_and(|idle| idle <= began.elapsed()));
    }
}
