//! When a request that failed is made again.
//!
//! 429, 5xx, lost connections and timeouts are retried ten times in one to two minutes, with
//! doubling, spread waits, and not before `Retry-After`, which holds back every request for
//! documents. Queries have their own place and give up sooner, so that ingest never delays a
//! search.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use codeinfo_core::task::BackoffSchedule;

/// The longest wait of our own choice.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait that a service may ask for; it is asked again then, whatever it said.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// How much is done for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    /// Most attempts.
    pub(super) attempts: u32,
    /// A longer wait than this is not worth it.
    pub(super) longest_wait: Duration,
}

/// Nobody waits for a single batch of an ingest run: the waits between ten attempts are one to two
/// minutes in all, so that an interruption of a minute, and limits by the minute, pass unnoticed.
pub(super) const DOCUMENTS: RetryPolicy = RetryPolicy { attempts: 10, longest_wait: Duration::MAX };
/// Somebody waits for the result of a search.
pub(super) const QUERY: RetryPolicy =
    RetryPolicy { attempts: 3, longest_wait: Duration::from_secs(3) };
/// A caller that asks whether it works wants to know about now.
pub(super) const CHECK: RetryPolicy = RetryPolicy { attempts: 1, longest_wait: Duration::ZERO };

/// The longest that somebody waits for the vector of a query: a service may have to load its model.
pub(super) const LONGEST_QUERY: Duration = Duration::from_mins(1);
/// Most attempts where a service takes requests and does not answer in time: each costs that time.
pub(super) const SLOW_ATTEMPTS: u32 = 3;

/// Returns how long to wait after the failure of an attempt, counted from 1: twice as long each time, or
/// what the service asks for if that is longer. A service that always says "at once" would else use up
/// all attempts in a moment. Either is spread, so that many do not come back at once.
pub(super) fn compute_wait(first: Duration, attempt: u32, asked: Option<Duration>) -> Duration {
    let own = BackoffSchedule { first, longest: MAX_BACKOFF }.spread_wait(attempt);
    asked.map_or(own, |asked| own.max(asked + first.mul_f64(fastrand::f64())))
}

/// Reads a `Retry-After` header: seconds, or a date, within bounds.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let asked = match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        // A date that has passed means now.
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(asked.min(MAX_RETRY_AFTER))
}

/// Holds back further requests while a service wants none.
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

    /// Waits until it is over, also if it is prolonged meanwhile.
    pub(super) async fn wait_until_over(&self) {
        while !self.is_over() {
            tokio::time::sleep_until(self.end_time().into()).await;
        }
    }

    fn end_time(&self) -> Instant {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
            let waits = (1..DOCUMENTS.attempts).map(|attempt| compute_wait(first, attempt, asked));
            let waited = waits.sum::<Duration>().as_secs();
            assert!((60..=130).contains(&waited), "{asked:?}: {waited} s");
        }
    }

    #[test]
    fn a_service_may_say_when_by_seconds_or_by_date() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2026 07:28:00 GMT").unwrap();
        let seconds = |value| retry_after(value, now).map(|wait| wait.as_secs_f64());
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
