//! Ownership of background work: every task is tracked, told to stop and awaited.

mod probe;
mod retry;

use std::{future::Future, io, num::NonZero, sync::Mutex, thread, time::Duration};

use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use probe::CachedProbe;
pub use retry::{BackoffSchedule, StallGuard, StallTracker, retry_until_success};

/// Owner of a group of tasks. Clones share the group.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stopping: CancellationToken,
}

impl Tasks {
    /// Starts a task, which must end soon after [`Tasks::stop_token`] is cancelled.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        drop(self.spawn_handle(task));
    }

    /// Starts a task like [`Tasks::spawn`] and returns a handle that waits for its result.
    pub fn spawn_handle<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.tracker.spawn(task)
    }

    /// Runs blocking or CPU-heavy work outside the runtime's workers, owned like any other task.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.tracker.spawn_blocking(work)
    }

    /// Returns the token that is cancelled when the group must stop.
    pub fn stop_token(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Cancels the stop token and waits at most `grace` for the tasks. Returns whether all ended.
    pub async fn stop(&self, grace: Duration) -> bool {
        self.stopping.cancel();
        self.tracker.close();
        tokio::time::timeout(grace, self.tracker.wait()).await.is_ok()
    }
}

/// Threads in addition to the workers: for file access and for the store's engine.
const BESIDE_WORKERS: usize = 8;
/// Stack size in bytes, enough for a thread that does nothing.
const STACK_BYTES: usize = 64 * 1024;

/// Starts and ends the threads that a command needs: without them, libraries panic or block later.
pub fn can_start_threads() -> io::Result<()> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let closed = gate.lock();
        for _ in 0..workers + BESIDE_WORKERS {
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, || drop(gate.lock()))?;
        }
        drop(closed);
        Ok(())
    })
}
