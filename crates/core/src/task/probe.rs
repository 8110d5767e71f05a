//! Cached results of checks. Concurrent callers share one check.

use std::{
    convert::Infallible,
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Cache for the latest result of a check.
#[derive(Debug)]
pub struct CachedProbe<T> {
    latest: Mutex<Option<(T, Instant)>>,
    /// Held during a check, so that concurrent callers cause only one.
    checking: tokio::sync::Mutex<()>,
}

impl<T> Default for CachedProbe<T> {
    fn default() -> Self {
        Self { latest: Mutex::default(), checking: tokio::sync::Mutex::default() }
    }
}

impl<T: Clone> CachedProbe<T> {
    /// Returns the latest result and its age.
    pub fn latest_result(&self) -> Option<(T, Duration)> {
        self.lock_latest().as_ref().map(|(found, since)| (found.clone(), since.elapsed()))
    }

    /// Records a result of a check that began at `since`, unless that of a later check is known.
    pub fn record_result(&self, found: T, since: Instant) {
        let mut latest = self.lock_latest();
        if latest.as_ref().is_none_or(|(_, known)| *known <= since) {
            *latest = Some((found, since));
        }
    }

    /// Returns the latest result if `is_fresh` accepts it and its age, else runs `check`, for which
    /// other callers wait. The result of a dropped check is not recorded.
    pub async fn get<F>(
        &self,
        is_fresh: impl Fn(&T, Duration) -> bool,
        check: impl FnOnce() -> F,
    ) -> T
    where
        F: Future<Output = T>,
    {
        let check = || async { Ok::<T, Infallible>(check().await) };
        let Ok(found) = self.try_get(is_fresh, check).await;
        found
    }

    /// Does the same with a check that may fail. A failed check records nothing.
    pub async fn try_get<E, F>(
        &self,
        is_fresh: impl Fn(&T, Duration) -> bool,
        check: impl FnOnce() -> F,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let fresh = || self.latest_result().filter(|(found, age)| is_fresh(found, *age));
        if let Some((found, _)) = fresh() {
            return Ok(found);
        }
        let _checking = self.checking.lock().await;
        // Another caller may have completed the check in the meantime.
        if let Some((found, _)) = fresh() {
            return Ok(found);
        }
        let since = Instant::now();
        let found = check().await?;
        self.record_result(found.clone(), since);
        Ok(found)
    }

    fn lock_latest(&self) -> MutexGuard<'_, Option<(T, Instant)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;

    use super::*;

    const ALWAYS: fn(&u32, Duration) -> bool = |_, _| true;
    const NEVER: fn(&u32, Duration) -> bool = |_, _| false;

    #[tokio::test]
    async fn concurrent_callers_share_one_check() {
        let (probe, checks) = (CachedProbe::default(), AtomicU32::new(0));
        let check = || async {
            tokio::task::yield_now().await;
            checks.fetch_add(1, Ordering::Relaxed)
        };
        let found = join_all((0..9).map(|_| probe.get(ALWAYS, check))).await;
        assert_eq!((found, probe.latest_result().unwrap().0), (vec![0; 9], 0));
        assert_eq!(probe.get(NEVER, check).await, 1);
        let is_even = |found: &u32, _: Duration| found.is_multiple_of(2);
        assert_eq!(probe.get(is_even, check).await, 2);
        assert_eq!(probe.get(is_even, check).await, 2);
    }

    #[tokio::test]
    async fn failed_and_dropped_checks_keep_the_latest_result() {
        let probe = CachedProbe::default();
        assert_eq!(probe.try_get(NEVER, async || Err::<u32, &str>("away")).await, Err("away"));
        assert_eq!(probe.latest_result(), None);
        let pending = probe.get(NEVER, std::future::pending::<u32>);
        assert_eq!(futures_util::FutureExt::now_or_never(pending), None);
        assert_eq!(probe.get(NEVER, async || 7).await, 7);
        assert_eq!(probe.try_get(NEVER, async || Err::<u32, &str>("away")).await, Err("away"));
        assert_eq!(probe.latest_result().unwrap().0, 7);
    }

    #[test]
    fn the_result_of_the_later_check_counts() {
        let (probe, now) = (CachedProbe::default(), Instant::now());
        probe.record_result(2, now);
        probe.record_result(1, now.checked_sub(Duration::from_secs(1)).unwrap());
        assert_eq!(probe.latest_result().unwrap().0, 2);
        probe.record_result(3, now);
        assert_eq!(probe.latest_result().unwrap().0, 3);
    }
}
