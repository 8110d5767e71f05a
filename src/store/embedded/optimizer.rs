//! Rebuilds segments in the background, on a thread of its own.
//!
//! Stopping does not wait for it: rebuilding may take minutes, cannot be stopped halfway, and the
//! process may end meanwhile as it may be killed.
//!
//! Reads and writes go on meanwhile; the journal covers the time in which the engine may not
//! flush. A process that ends after one command leaves merging to the next server, because what is
//! half merged must be compared when opening.

use std::{
    sync::{
        Arc, Mutex as SyncMutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use tokio::sync::{Mutex, watch};
use tracing::{debug, warn};

use super::{
    super::{Collection, StoreError},
    layout::Bounds,
    shard::Rebuild,
    writer::{Shards, Writer},
};
use crate::telemetry;

/// The owner of the thread. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Optimizer {
    shards: Arc<Shards>,
    writer: Arc<Mutex<Writer>>,
    bounds: Bounds,
    busy: watch::Sender<Option<Rebuild>>,
    /// Whether a run ended while segments were being rebuilt, so that what it left is to be checked.
    again: Arc<AtomicBool>,
    thread: Arc<SyncMutex<Option<JoinHandle<()>>>>,
}

impl Optimizer {
    pub(super) fn new(shards: Arc<Shards>, writer: Arc<Mutex<Writer>>, bounds: Bounds) -> Self {
        let busy = watch::Sender::new(None);
        Self { shards, writer, bounds, busy, again: Arc::default(), thread: Arc::default() }
    }

    /// Starts to rebuild what a run left if there is anything, as soon as nothing is being rebuilt. The
    /// caller holds the writer and has flushed it.
    pub(super) fn settle(&self, writer: &mut Writer) -> Result<(), StoreError> {
        if writer.optimizing() {
            self.again.store(true, Ordering::Relaxed);
            return Ok(());
        }
        if self.wanted(writer.unsettled())? { self.start(writer, Rebuild::Settle) } else { Ok(()) }
    }

    /// Rebuilds no more when what goes on now has ended.
    pub(super) fn finish(&self) {
        self.again.store(false, Ordering::Relaxed);
    }

    /// Starts to seal the segment of chunks that takes changes, once it has grown enough. The caller
    /// holds the writer.
    pub(super) fn seal(&self, writer: &mut Writer) -> Result<(), StoreError> {
        if writer.optimizing() || writer.unsealed() < self.bounds.seal_points {
            return Ok(());
        }
        writer.flush()?;
        self.start(writer, Rebuild::Seal)
    }

    fn start(&self, writer: &mut Writer, rebuild: Rebuild) -> Result<(), StoreError> {
        writer.start_optimizing(rebuild)?;
        self.busy.send_replace(Some(rebuild));
        let optimizer = self.clone();
        let work = move || optimizer.run(rebuild);
        match thread::Builder::new().name("store-optimizer".to_owned()).spawn(work) {
            Ok(thread) => *self.thread() = Some(thread),
            Err(error) => {
                warn!(%error, "store optimizer could not start");
                writer.finish_optimizing(Ok(Vec::new()))?;
                self.busy.send_replace(None);
            }
        }
        Ok(())
    }

    /// Whether what runs left is being rebuilt, which may take minutes.
    pub(super) fn is_settling(&self) -> bool {
        *self.busy.borrow() == Some(Rebuild::Settle)
    }

    /// Waits until nothing is being rebuilt.
    pub(super) async fn idle(&self) {
        // Cannot fail: the sender lives as long as `self`.
        drop(self.busy.subscribe().wait_for(Option::is_none).await);
    }

    /// Waits, blocking, for the thread if there is one, and for another one that it starts.
    pub(super) fn join(&self) {
        self.finish();
        loop {
            let thread = self.thread().take();
            let Some(thread) = thread else { return };
            // A panic of the engine is an error by now; there is nothing else to report.
            drop(thread.join());
        }
    }

    fn wanted(&self, changes: usize) -> Result<bool, StoreError> {
        for collection in Collection::ALL {
            if self.shards.get(collection).may_optimize(changes, self.bounds)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn run(&self, rebuild: Rebuild) {
        let began = Instant::now();
        let ended = self.rebuild(rebuild);
        let elapsed_ms = telemetry::milliseconds(began.elapsed());
        debug!(?rebuild, ?ended, elapsed_ms, "segments rebuilt");
        let mut writer = self.writer.blocking_lock();
        let finished = writer.finish_optimizing(ended);
        // Before the writer is free again: the next start must not be taken back.
        self.busy.send_replace(None);
        let is_settled = !self.again.swap(false, Ordering::Relaxed);
        let goes_on = |()| if is_settled { Ok(()) } else { self.settle(&mut writer) };
        if let Err(error) = finished.and_then(goes_on) {
            warn!(%error, "store could not be optimized");
        }
        if rebuild == Rebuild::Settle {
            writer.rest();
        }
    }

    fn rebuild(&self, rebuild: Rebuild) -> Result<Vec<Collection>, StoreError> {
        let collections: &[Collection] = match rebuild {
            Rebuild::Seal => &[Collection::Chunks],
            Rebuild::Settle => &Collection::ALL,
        };
        let mut changed = Vec::new();
        for &collection in collections {
            if self.shards.get(collection).optimize(rebuild, self.bounds)? {
                changed.push(collection);
            }
        }
        Ok(changed)
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::{
        super::{
            super::{OnMismatch, Point, Vectors},
            checksums::Compare,
            entry::Entry,
            layout::Layout,
            open::Wanted,
        },
        *,
    };
    use crate::domain::Sparse;

    /// The engine counts kilobytes.
    const DIMENSIONS: usize = 64;
    const SEALED: usize = 16;
    const BOUNDS: Bounds = Bounds { seal_points: SEALED, hnsw_min_points: usize::MAX };

    #[test]
    fn what_a_run_leaves_while_segments_are_rebuilt_is_looked_at_afterwards() {
        let folder = TempDir::new().unwrap();
        let wanted = Wanted {
            model: "m".to_owned(),
            dimensions: DIMENSIONS,
            on_mismatch: OnMismatch::Refuse,
            repairs: true,
            compare: Compare::All,
        };
        let writer = super::super::open::open(&folder.path().join("store"), &wanted).unwrap();
        let shards = Arc::clone(writer.shards());
        let writer = Arc::new(Mutex::new(writer));
        let optimizer = Optimizer::new(Arc::clone(&shards), Arc::clone(&writer), BOUNDS);
        let segments =
            || shards.chunks.call("look", |engine| Ok(engine.info().segments_count)).unwrap();
        let many = Layout::settled(0, BOUNDS).segments + 3;
        for round in 0..many {
            let points = (0..SEALED).map(|n| point(round * SEALED + n)).collect();
            let mut writer = writer.blocking_lock();
            writer.write(Entry::Upsert(Collection::Chunks, points)).unwrap();
            optimizer.seal(&mut writer).unwrap();
            drop(writer);
            optimizer.join();
        }
        assert!(many <= segments());
        let mut held = writer.blocking_lock();
        held.start_optimizing(Rebuild::Seal).unwrap();
        optimizer.settle(&mut held).unwrap();
        drop(held);
        assert!(optimizer.thread().is_none());
        optimizer.run(Rebuild::Seal);
        while let Some(thread) = { optimizer.thread().take() } {
            thread.join().unwrap();
        }
        assert!(segments() < many, "{}", segments());
    }

    fn point(number: usize) -> Point {
        let sparse = Sparse { indices: vec![1], values: vec![1.0] };
        let vectors = Some(Vectors { dense: vec![1.0; DIMENSIONS], sparse });
        Point { id: Uuid::from_u128(number as u128), payload: serde_json::Map::new(), vectors }
    }
}
