//! Detects file systems that do not respond.
//!
//! A system call on a lost mount may never return and cannot be interrupted, so a run abandons the
//! thread after a minute without a response, or at once when cancelled. Until the thread ends, no
//! other work starts on that root; when sixteen roots hang, none starts on other roots either. The
//! process ends without waiting for such threads.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use codeinfo_core::task::Tasks;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::error::IngestError;

/// Maximum time without a response; disks that spin up and servers that restart respond sooner.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of hanging places; the runtime has 512 threads, and other work needs some.
const MAX_PLACES: usize = 16;
/// Maximum number of places at work; others wait, because any of them may hang.
const MAX_AT_WORK: usize = 128;

/// Records the progress of blocking work.
#[derive(Debug)]
pub(super) struct IoHeartbeat {
    origin: Instant,
    /// Time of the last file system call in milliseconds after `origin`, plus one; 0 while no call
    /// is made.
    asked: AtomicU64,
}

impl Default for IoHeartbeat {
    fn default() -> Self {
        Self { origin: Instant::now(), asked: AtomicU64::new(0) }
    }
}

impl IoHeartbeat {
    /// Records that the file system responded and is called again.
    pub(super) fn beat(&self) {
        self.asked.store(self.elapsed_ms().saturating_add(1), Ordering::Relaxed);
    }

    /// Records that no file system call is pending.
    pub(super) fn mark_idle(&self) {
        self.asked.store(0, Ordering::Relaxed);
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn silence_duration(&self) -> Duration {
        match self.asked.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            asked => Duration::from_millis(self.elapsed_ms().saturating_sub(asked - 1)),
        }
    }
}

/// Runs blocking work on file systems and abandons it when it hangs. Clones share the places.
#[derive(Debug, Clone)]
pub(super) struct IoWatchdog {
    tasks: Tasks,
    timeout: Duration,
    places: Arc<Mutex<HashMap<PathBuf, Arc<GuardedPath>>>>,
    at_work: Arc<Semaphore>,
}

#[derive(Debug)]
struct GuardedPath {
    free: Arc<Semaphore>,
    pulses: Mutex<Vec<Arc<IoHeartbeat>>>,
}

impl GuardedPath {
    fn is_held(&self) -> bool {
        self.free.available_permits() == 0
    }

    /// Returns true if a thread at work has had no response for `limit`.
    fn is_hanging(&self, limit: Duration) -> bool {
        self.is_held()
            && self.lock_heartbeats().iter().any(|pulse| pulse.silence_duration() >= limit)
    }

    fn lock_heartbeats(&self) -> MutexGuard<'_, Vec<Arc<IoHeartbeat>>> {
        self.pulses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit for work at a place, held until its last thread ends.
#[derive(Debug)]
pub(super) struct PathPermit {
    place: Arc<GuardedPath>,
    _permits: [OwnedSemaphorePermit; 2],
}

impl PathPermit {
    pub(super) fn add_heartbeats(&self, pulses: &[Arc<IoHeartbeat>]) {
        self.place.lock_heartbeats().extend_from_slice(pulses);
    }
}

impl Drop for PathPermit {
    fn drop(&mut self) {
        self.place.lock_heartbeats().clear();
    }
}

impl IoWatchdog {
    pub(super) fn new(tasks: Tasks) -> Self {
        Self::with_timeout(tasks, TIMEOUT)
    }

    pub(super) fn with_timeout(tasks: Tasks, timeout: Duration) -> Self {
        let at_work = Arc::new(Semaphore::new(MAX_AT_WORK));
        Self { tasks, timeout, places: Arc::default(), at_work }
    }

    /// Runs blocking work at a place. Fails at once if cancelled, or if silent for the timeout.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        place: &Path,
        cancel: &CancellationToken,
        work: impl FnOnce(&IoHeartbeat) -> T + Send + 'static,
    ) -> Result<T, IngestError> {
        let hold = self.acquire_path(place, cancel).await?;
        let pulse = Arc::new(IoHeartbeat::default());
        pulse.beat();
        hold.add_heartbeats(std::slice::from_ref(&pulse));
        let working = {
            let pulse = Arc::clone(&pulse);
            self.tasks.spawn_blocking(move || {
                let done = work(&pulse);
                drop(hold);
                done
            })
        };
        tokio::select! {
            biased;
            done = working => Ok(done?),
            () = cancel.cancelled() => Err(IngestError::Cancelled),
            error = self.wait_for_silence(place, std::slice::from_ref(&pulse)) => Err(error),
        }
    }

    /// Waits until no thread works at a place, even one of an abandoned run. Fails when it hangs.
    pub(super) async fn acquire_path(
        &self,
        place: &Path,
        cancel: &CancellationToken,
    ) -> Result<PathPermit, IngestError> {
        let crowded = || IngestError::Crowded { path: place.to_owned() };
        let held = self.get_or_insert_path(place).ok_or_else(crowded)?;
        let acquire = async {
            let here = Arc::clone(&held.free).acquire_owned().await;
            let room = timeout(self.timeout, Arc::clone(&self.at_work).acquire_owned()).await;
            match (here, room) {
                (Ok(here), Ok(Ok(room))) => {
                    Ok(PathPermit { place: Arc::clone(&held), _permits: [here, room] })
                }
                // The semaphores are never closed.
                _ => Err(crowded()),
            }
        };
        let hang = async {
            sleep(self.timeout).await;
            while !held.is_hanging(self.timeout) {
                sleep(self.timeout / 60).await;
            }
        };
        tokio::select! {
            biased;
            acquired = acquire => acquired,
            () = cancel.cancelled() => Err(IngestError::Cancelled),
            () = hang => Err(self.stalled_error(place)),
        }
    }

    pub(super) fn is_held(&self, place: &Path) -> bool {
        self.lock_paths().get(place).is_some_and(|place| place.is_held())
    }

    /// Waits until one of several threads has been silent for the timeout, and returns the error.
    pub(super) async fn wait_for_silence(
        &self,
        place: &Path,
        pulses: &[Arc<IoHeartbeat>],
    ) -> IngestError {
        loop {
            sleep(self.timeout / 60).await;
            if pulses.iter().any(|pulse| pulse.silence_duration() >= self.timeout) {
                return self.stalled_error(place);
            }
        }
    }

    fn stalled_error(&self, place: &Path) -> IngestError {
        IngestError::Stalled { path: place.to_owned(), seconds: self.timeout.as_secs() }
    }

    /// Returns the entry of a place, or `None` if too many others hang.
    fn get_or_insert_path(&self, place: &Path) -> Option<Arc<GuardedPath>> {
        let mut places = self.lock_paths();
        places.retain(|_, place| place.is_held() || 1 < Arc::strong_count(place));
        let hanging = places.values().filter(|place| place.is_hanging(self.timeout)).count();
        if MAX_PLACES <= hanging && !places.contains_key(place) {
            return None;
        }
        let new = || GuardedPath { free: Arc::new(Semaphore::new(1)), pulses: Mutex::default() };
        let place = places.entry(place.to_owned()).or_insert_with(|| Arc::new(new()));
        Some(Arc::clone(place))
    }

    /// Locks the places. A poisoned lock is safe to use: no change leaves the map half made.
    fn lock_paths(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<GuardedPath>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn watchdog(timeout_ms: u64) -> IoWatchdog {
        IoWatchdog::with_timeout(Tasks::default(), Duration::from_millis(timeout_ms))
    }

    #[tokio::test]
    async fn hanging_work_is_abandoned_and_its_place_stays_held() {
        let (dog, cancel, place) = (watchdog(5_000), CancellationToken::new(), Path::new("/lost"));
        let (answer, asked) = mpsc::channel::<()>();
        let hung = dog.run_blocking(place, &cancel, move |_| asked.recv().is_err()).await;
        assert!(matches!(hung, Err(IngestError::Stalled { .. })), "{hung:?}");
        assert!(dog.is_held(place));
        // The next call does not spend another thread.
        let next = dog.run_blocking(place, &cancel, |_| ()).await;
        assert!(matches!(next, Err(IngestError::Stalled { .. })), "{next:?}");
        dog.run_blocking(Path::new("/well"), &cancel, |_| ()).await.unwrap();
        drop(answer);
        dog.run_blocking(place, &cancel, |_| ()).await.unwrap();
        assert!(!dog.is_held(place));
    }

    #[tokio::test]
    async fn cancelled_work_ends_at_once() {
        let (dog, cancel) = (watchdog(600_000), CancellationToken::new());
        let (_answer, asked) = mpsc::channel::<()>();
        let (entered, has_entered) = tokio::sync::oneshot::channel();
        let work = move |_: &IoHeartbeat| {
            entered.send(()).unwrap();
            asked.recv().is_err()
        };
        let cancelling = async {
            has_entered.await.unwrap();
            cancel.cancel();
        };
        let (ended, ()) =
            tokio::join!(dog.run_blocking(Path::new("/lost"), &cancel, work), cancelling);
        assert!(matches!(ended, Err(IngestError::Cancelled)), "{ended:?}");
        // Waiting for the place can be cancelled as well.
        let waiting = dog.acquire_path(Path::new("/lost"), &cancel).await;
        assert!(matches!(waiting, Err(IngestError::Cancelled)), "{waiting:?}");
    }

    #[tokio::test]
    async fn responding_work_has_no_time_limit() {
        let (dog, cancel) = (watchdog(2_000), CancellationToken::new());
        let slow = |pulse: &IoHeartbeat| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(4) {
                pulse.beat();
                std::thread::park_timeout(Duration::from_millis(10));
            }
        };
        dog.run_blocking(Path::new("/slow"), &cancel, slow).await.unwrap();
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_slowly_read_file_counts_as_responding() {
        use std::{
            fs::File,
            io::{self, Write},
        };

        use codeinfo_worktree::beneath::{self, PIECE};

        let dog = watchdog(4_000);
        let (content, mut disk) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(content));
        let reading = async {
            let cancel = CancellationToken::new();
            let read =
                move |pulse: &IoHeartbeat| beneath::read_to_limit(file, 1 << 30, || pulse.beat());
            dog.run_blocking(Path::new("/slow"), &cancel, read).await
        };
        let writing = async {
            for _ in 0..3 {
                sleep(Duration::from_secs(2)).await;
                let piece = vec![0; usize::try_from(PIECE).unwrap()];
                disk = tokio::task::spawn_blocking(move || disk.write_all(&piece).map(|()| disk))
                    .await
                    .unwrap()
                    .unwrap();
            }
            drop(disk);
        };
        let (read, ()) = tokio::join!(reading, writing);
        assert_eq!(read.unwrap().unwrap().len() as u64, 3 * PIECE);
    }

    #[tokio::test]
    async fn waiting_for_a_responding_place_has_no_limit() {
        let (dog, cancel, place) = (watchdog(2_000), CancellationToken::new(), Path::new("/slow"));
        // Each waits for those before it; finished work no longer counts as hanging.
        let slow = |pulse: &IoHeartbeat| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(4) {
                pulse.beat();
                std::thread::park_timeout(Duration::from_millis(10));
            }
        };
        let ended = tokio::join!(
            dog.run_blocking(place, &cancel, slow),
            dog.run_blocking(place, &cancel, slow),
            dog.run_blocking(place, &cancel, |_| ()),
        );
        ended.0.and(ended.1).and(ended.2).unwrap();
    }

    #[tokio::test]
    async fn idle_work_has_no_time_limit() {
        let (dog, cancel) = (watchdog(500), CancellationToken::new());
        let (answer, asked) = mpsc::channel::<()>();
        let idle = dog.run_blocking(Path::new("/idle"), &cancel, move |pulse| {
            pulse.mark_idle();
            asked.recv().is_err()
        });
        let other = async {
            sleep(Duration::from_secs(2)).await;
            drop(answer);
        };
        assert!(tokio::join!(idle, other).0.unwrap());
    }

    #[tokio::test]
    async fn the_number_of_places_at_work_is_limited() {
        let (dog, cancel) = (watchdog(1_000), CancellationToken::new());
        let (dog, cancel) = (&dog, &cancel);
        let (mut answers, mut busy) = (Vec::new(), Vec::new());
        let (entered, mut has_entered) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..MAX_AT_WORK {
            let (answer, asked) = mpsc::channel::<()>();
            answers.push(answer);
            let entered = entered.clone();
            busy.push(async move {
                let place = PathBuf::from(format!("/well/{number}"));
                dog.run_blocking(&place, cancel, move |pulse| {
                    pulse.mark_idle();
                    entered.send(()).unwrap();
                    asked.recv().is_err()
                })
                .await
            });
        }
        let more = async {
            for _ in 0..MAX_AT_WORK {
                has_entered.recv().await.unwrap();
            }
            let more = dog.run_blocking(Path::new("/more"), cancel, |_| ()).await;
            assert!(matches!(more, Err(IngestError::Crowded { .. })), "{more:?}");
            drop(answers);
        };
        let (ended, ()) = tokio::join!(futures_util::future::join_all(busy), more);
        assert!(ended.into_iter().all(|ended| ended.is_ok()));
        dog.run_blocking(Path::new("/more"), cancel, |_| ()).await.unwrap();
    }

    #[tokio::test]
    async fn many_places_may_work_at_once() {
        let (dog, cancel) = (watchdog(600_000), CancellationToken::new());
        let (dog, cancel) = (&dog, &cancel);
        // Each ends when all have arrived.
        let barrier = Arc::new(std::sync::Barrier::new(2 * MAX_PLACES));
        let at_work = (0..2 * MAX_PLACES).map(|number| {
            let barrier = Arc::clone(&barrier);
            async move {
                let place = PathBuf::from(format!("/well/{number}"));
                dog.run_blocking(&place, cancel, move |_| {
                    barrier.wait();
                })
                .await
            }
        });
        for ended in futures_util::future::join_all(at_work).await {
            ended.unwrap();
        }
    }

    #[tokio::test]
    async fn the_number_of_hanging_places_is_limited() {
        let (dog, cancel) = (watchdog(5_000), CancellationToken::new());
        let (dog, cancel) = (&dog, &cancel);
        let (mut answers, mut hung) = (Vec::new(), Vec::new());
        for number in 0..MAX_PLACES {
            let (answer, asked) = mpsc::channel::<()>();
            answers.push(answer);
            hung.push(async move {
                let place = PathBuf::from(format!("/lost/{number}"));
                dog.run_blocking(&place, cancel, move |_| asked.recv().is_err()).await
            });
        }
        for ended in futures_util::future::join_all(hung).await {
            assert!(matches!(ended, Err(IngestError::Stalled { .. })), "{ended:?}");
        }
        let more = dog.run_blocking(Path::new("/well"), cancel, |_| ()).await;
        assert!(matches!(more, Err(IngestError::Crowded { .. })), "{more:?}");
        let again = dog.run_blocking(Path::new("/lost/0"), cancel, |_| ()).await;
        assert!(matches!(again, Err(IngestError::Stalled { .. })), "{again:?}");
        answers.pop();
        let place = PathBuf::from(format!("/lost/{}", MAX_PLACES - 1));
        dog.run_blocking(&place, cancel, |_| ()).await.unwrap();
        dog.run_blocking(Path::new("/well"), cancel, |_| ()).await.unwrap();
    }
}
