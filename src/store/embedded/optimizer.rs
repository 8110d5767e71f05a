//! Rebuilds segments in the background, on a thread of its own.
//!
//! Stopping does not wait for it: rebuilding may take minutes, cannot be stopped halfway, and the
//! process may end meanwhile as it may be killed.

use std::{
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use tokio::sync::{Mutex, watch};
use tracing::{debug, warn};

use super::{
    super::{Collection, StoreError},
    writer::{Shards, Writer},
};

/// The owner of the thread. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Optimizer {
    shards: Arc<Shards>,
    writer: Arc<Mutex<Writer>>,
    hnsw_min_chunks: usize,
    busy: watch::Sender<bool>,
    thread: Arc<SyncMutex<Option<JoinHandle<()>>>>,
}

impl Optimizer {
    pub(super) fn new(
        shards: Arc<Shards>,
        writer: Arc<Mutex<Writer>>,
        hnsw_min_chunks: usize,
    ) -> Self {
        let busy = watch::Sender::new(false);
        Self { shards, writer, hnsw_min_chunks, busy, thread: Arc::default() }
    }

    /// Starts rebuilding, unless that is going on already or there is nothing to rebuild. The
    /// caller holds the writer and has flushed it.
    pub(super) fn start(&self, writer: &mut Writer) -> Result<(), StoreError> {
        if writer.optimizing() || !self.wanted()? {
            return Ok(());
        }
        writer.start_optimizing()?;
        self.busy.send_replace(true);
        let optimizer = self.clone();
        let work = move || optimizer.run();
        match thread::Builder::new().name("store-optimizer".to_owned()).spawn(work) {
            Ok(thread) => *self.thread() = Some(thread),
            Err(error) => {
                warn!(%error, "store optimizer could not start");
                writer.finish_optimizing(Ok(Vec::new()))?;
                self.busy.send_replace(false);
            }
        }
        Ok(())
    }

    /// Waits until nothing is being rebuilt.
    pub(super) async fn idle(&self) {
        // Cannot fail: the sender lives as long as `self`.
        drop(self.busy.subscribe().wait_for(|busy| !busy).await);
    }

    /// Waits, blocking, for the thread if there is one.
    pub(super) fn join(&self) {
        let thread = self.thread().take();
        if let Some(thread) = thread {
            // A panic of the engine is an error by now; there is nothing else to report.
            drop(thread.join());
        }
    }

    fn wanted(&self) -> Result<bool, StoreError> {
        for collection in Collection::ALL {
            if self.shards.get(collection).may_optimize(self.hnsw_min_chunks)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn run(&self) {
        let rebuilt = self.rebuild();
        debug!(?rebuilt, "segments rebuilt");
        let mut writer = self.writer.blocking_lock();
        if let Err(error) = writer.finish_optimizing(rebuilt) {
            warn!(%error, "store could not be optimized");
        }
        // Before the writer is free again: the next start must not be taken back.
        self.busy.send_replace(false);
    }

    fn rebuild(&self) -> Result<Vec<Collection>, StoreError> {
        let mut rebuilt = Vec::new();
        for collection in Collection::ALL {
            if self.shards.get(collection).optimize(self.hnsw_min_chunks)? {
                rebuilt.push(collection);
            }
        }
        Ok(rebuilt)
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
