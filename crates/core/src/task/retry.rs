//! Retries with exponential backoff and jitter, and the reasons why retried work waits.

use std::{
    fmt,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Waits between tries, doubled each time up to a bound.
#[derive(Debug, Clone, Copy)]
pub struct BackoffSchedule {
    /// Wait after the first failure.
    pub first: Duration,
    /// Upper bound of each wait.
    pub longest: Duration,
}

impl BackoffSchedule {
    /// Returns the wait after `failures` failures, counted from 1.
    pub fn wait_after(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1);
        self.first.saturating_mul(2_u32.saturating_pow(doublings)).min(self.longest)
    }

    /// Returns the wait reduced by up to half at random, so that clients do not retry together.
    pub fn spread_wait(self, failures: u32) -> Duration {
        self.wait_after(failures).mul_f64(f64::midpoint(1.0, fastrand::f64()))
    }
}

/// Calls `attempt` until it succeeds or `wait`, given the error and the number of failures, returns
/// no pause. When `given_up` completes, the current pause ends and the last error is returned.
pub async fn retry_until_success<T, E, F>(
    mut attempt: impl FnMut() -> F,
    mut wait: impl FnMut(&E, u32) -> Option<Duration>,
    given_up: impl Future<Output = ()>,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut given_up = pin!(given_up);
    let mut failures = 0;
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        failures += 1;
        let Some(wait) = wait(&error, failures) else { return Err(error) };
        tokio::select! {
            biased;
            () = &mut given_up => return Err(error),
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// A shorter stall is not reported.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// Tracks why pieces of work wait. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct StallTracker(Arc<Mutex<StallState>>);

#[derive(Debug, Default)]
struct StallState {
    count: usize,
    since: Option<Instant>,
    reason: String,
}

/// Marks one piece of work as stalled until it is dropped.
#[derive(Debug)]
pub struct StallGuard(Arc<Mutex<StallState>>);

impl StallTracker {
    /// Records that a piece of work waits, because it is retried after `failure`.
    pub fn begin_retry(&self, failure: impl fmt::Display) -> StallGuard {
        let mut state = lock_state(&self.0);
        state.count += 1;
        state.since.get_or_insert_with(Instant::now);
        state.reason = format!("trying again: {failure}");
        StallGuard(Arc::clone(&self.0))
    }

    /// Returns the latest reason if work has been stalled for at least one second.
    pub fn latest_reason(&self) -> Option<String> {
        let state = lock_state(&self.0);
        state.since.filter(|since| since.elapsed() >= NOTICEABLE).map(|_| state.reason.clone())
    }
}

impl Drop for StallGuard {
    fn drop(&mut self) {
        let mut state = lock_state(&self.0);
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

#[cfg(test)]
mod tests {
    use std::future;

    use super::*;

    const BACKOFF: BackoffSchedule =
        BackoffSchedule { first: Duration::from_millis(500), longest: Duration::from_secs(30) };

    #[test]
    fn waits_double_within_bounds_and_are_spread() {
        let waits =
            [0, 1, 2, 3, 7, 40, u32::MAX].map(|failures| BACKOFF.wait_after(failures).as_millis());
        assert_eq!(waits, [500, 500, 1000, 2000, 30_000, 30_000, 30_000]);
        for (failures, min_ms, max_ms) in [(1, 250, 500), (3, 1000, 2000), (40, 15_000, 30_000)] {
            let waited = BACKOFF.spread_wait(failures).as_millis();
            assert!((min_ms..=max_ms).contains(&waited), "{failures}: {waited}");
        }
        let several: Vec<Duration> = (0..20).map(|_| BACKOFF.spread_wait(1)).collect();
        assert!(several.iter().any(|wait| *wait != several[0]));
    }

    #[tokio::test]
    async fn tries_end_with_success_or_without_a_wait() {
        let tried = |last: u32, max_waits: u32| async move {
            let mut tries = 0;
            let attempt = || {
                tries += 1;
                future::ready(if tries < last { Err(tries) } else { Ok(tries) })
            };
            let wait = |error: &u32, failures| {
                assert_eq!(*error, failures);
                (failures < max_waits).then_some(Duration::ZERO)
            };
            retry_until_success(attempt, wait, future::pending()).await
        };
        assert_eq!(tried(1, 0).await, Ok(1));
        assert_eq!(tried(3, 9).await, Ok(3));
        assert_eq!(tried(9, 3).await, Err(3));
    }

    #[tokio::test]
    async fn giving_up_returns_the_last_error_without_waiting() {
        let long = |_: &&str, _| Some(Duration::from_hours(24));
        let failed: Result<(), &str> =
            retry_until_success(|| future::ready(Err("away")), long, future::ready(())).await;
        assert_eq!(failed, Err("away"));
    }
}
