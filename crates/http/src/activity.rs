//! Since when a server has had nothing to do for anybody.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What is under way on the listeners that share it: requests, streamed replies, upgraded connections.
#[derive(Debug, Clone)]
pub struct ServerActivity(Arc<Mutex<ActivityState>>);

#[derive(Debug)]
struct ActivityState {
    under_way: usize,
    /// When the last of them ended.
    since: Instant,
}

impl Default for ServerActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ActivityState { under_way: 0, since: Instant::now() })))
    }
}

impl ServerActivity {
    /// Returns for how long nothing has been under way; `None` while something is.
    pub fn idle_time(&self) -> Option<Duration> {
        let state = self.lock_state();
        (state.under_way == 0).then(|| state.since.elapsed())
    }

    /// Something begins, and is under way until the result is dropped.
    pub(super) fn begin_work(&self) -> ActivityGuard {
        self.lock_state().under_way += 1;
        ActivityGuard(self.clone())
    }

    fn lock_state(&self) -> MutexGuard<'_, ActivityState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is under way.
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
        let (first, second) = (activity.begin_work(), activity.clone().begin_work());
        drop(first);
        assert_eq!(activity.idle_time(), None);
        drop(second);
        assert!(activity.idle_time().is_some_and(|idle| idle <= began.elapsed()));
    }
}
