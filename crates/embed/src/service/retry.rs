//! When requests are repeated, and how long the known health of a service is valid.
//!
//! 429, 5xx, lost connections and timeouts are tried ten times in one to two minutes, with doubling
//! waits and jitter, and not before `Retry-After`, which delays every request for documents.
//! Queries have their own permits and give up sooner, so that ingest never delays a search.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use codeinfo_core::task::{BackoffSchedule, CachedProbe};

use crate::EmbedError;

/// Maximum wait, unless the service asks for a longer one.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Maximum wait that a service may ask for. The request is repeated after it in any case.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// Limits of retries for one kind of request.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    pub(super) max_attempts: u32,
    /// Maximum wait before an attempt. If a longer one is needed, the request fails.
    pub(super) max_wait: Duration,
}

/// Policy for ingest. The attempts in one to two minutes outlast interruptions of a minute and minute limits.
pub(super) const DOCUMENTS: RetryPolicy = RetryPolicy { max_attempts: 10, max_wait: Duration::MAX };
/// Policy for queries, because a client waits for the result.
pub(super) const QUERY: RetryPolicy =
    RetryPolicy { max_attempts: 3, max_wait: Duration::from_secs(3) };
/// Policy for health checks, which concern the present moment.
pub(super) const CHECK: RetryPolicy = RetryPolicy { max_attempts: 1, max_wait: Duration::ZERO };

/// Maximum wait for the vector of a query, for which a service may have to load its model.
pub(super) const MAX_QUERY_WAIT: Duration = Duration::from_mins(1);
/// Maximum attempts if a service does not answer in time, because each costs the full timeout.
pub(super) const MAX_SLOW_ATTEMPTS: u32 = 3;

/// Returns the wait after a failed attempt, counted from 1: doubled each time, or the time that the service asks
/// for if it is longer. Doubling keeps a service that asks for no wait from using up all attempts in a moment, and
/// jitter keeps many clients from returning at the same time.
pub(super) fn compute_wait(first: Duration, attempt: u32, requested: Option<Duration>) -> Duration {
    let own = BackoffSchedule { first, longest: MAX_BACKOFF }.spread_wait(attempt);
    requested.map_or(own, |requested| own.max(requested + first.mul_f64(fastrand::f64())))
}

/// Parses a `Retry-After` header in seconds or as a date. The result is at most [`MAX_RETRY_AFTER`].
pub(super) fn parse_retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let trimmed = value.trim();
    let wait = match trimmed.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        // A date in the past means no wait.
        Err(_) => httpdate::parse_http_date(trimmed).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

/// Delays further requests while a service refuses them.
#[derive(Debug)]
pub(super) struct RequestPause {
    until: Mutex<Instant>,
}

impl RequestPause {
    pub(super) fn new() -> Self {
        Self { until: Mutex::new(Instant::now()) }
    }

    pub(super) fn hold_for(&self, wait: Duration) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = (*until).max(Instant::now() + wait);
    }

    pub(super) fn is_over(&self) -> bool {
        self.end_time() <= Instant::now()
    }

    /// Waits for the end of the pause, including later extensions.
    pub(super) async fn wait_until_over(&self) {
        while !self.is_over() {
            tokio::time::sleep_until(self.end_time().into()).await;
        }
    }

    fn end_time(&self) -> Instant {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Validity of a success. Requests of ingest and search renew it at no cost.
const SUCCESS_VALIDITY: Duration = Duration::from_secs(30);
/// Validity of a failure, short because a person who repaired something wants to see the result.
const FAILURE_VALIDITY: Duration = Duration::from_secs(1);

/// Outcome of the latest request. Once outdated, one small request is sent, and concurrent callers wait for it.
pub(super) type EmbeddingHealth = CachedProbe<Result<(), EmbedError>>;

pub(super) fn is_fresh(outcome: &Result<(), EmbedError>, age: Duration) -> bool {
    age < if outcome.is_ok() { SUCCESS_VALIDITY } else { FAILURE_VALIDITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_asks_for_is_waited_for_and_spread() {
        let first = Duration::from_millis(500);
        let asked = || compute_wait(first, 1, Some(Duration::from_mins(1)));
        let several: Vec<Duration> = (0..20).map(|_| asked()).collect();
        let bounds = Duration::from_mins(1)..=Duration::from_millis(60_500);
        assert!(several.iter().all(|wait| bounds.contains(wait)), "{several:?}");
        assert!(several.iter().any(|wait| *wait != several[0]));
    }

    #[test]
    fn limits_by_the_minute_pass_whatever_the_service_asks_for() {
        let first = Duration::from_millis(500);
        for asked in [None, Some(Duration::ZERO), Some(Duration::from_secs(1))] {
            let waits =
                (1..DOCUMENTS.max_attempts).map(|attempt| compute_wait(first, attempt, asked));
            let waited = waits.sum::<Duration>().as_secs();
            assert!((60..=130).contains(&waited), "{asked:?}: {waited} s");
        }
    }

    #[test]
    fn a_service_may_say_when_by_seconds_or_by_date() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2026 07:28:00 GMT").unwrap();
        let seconds = |value| parse_retry_after(value, now).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds("7"), Some(7.0));
        assert_eq!(seconds(" 0.25 "), Some(0.25));
        assert_eq!(seconds("Wed, 21 Oct 2026 07:28:30 GMT"), Some(30.0));
        assert_eq!(seconds("Wed, 21 Oct 2026 07:27:00 GMT"), Some(0.0));
        assert_eq!(seconds("3600"), Some(60.0), "it is asked again then, whatever it said");
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("-1"), None);
        assert_eq!(seconds("1e300"), None);
    }
}
