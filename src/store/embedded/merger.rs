//! Merges segments in the background, on a thread of its own, so that there are few, and what was deleted
//! goes.
//!
//! Reads and writes go on meanwhile. Stopping does not wait: the process may end meanwhile as it may be
//! killed, and the next start removes what was not finished.

use std::{
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use tokio::sync::Mutex;
use tracing::{debug, warn};

use super::{
    state::Live,
    writer::{self, Writer},
};
use crate::telemetry;

/// From this many segments on the smallest are merged. A search spends some microseconds on each.
const MANY: usize = 12;
/// How many are merged at a time: each chunk is written again once for each eightfold growth.
const TOGETHER: usize = 8;
/// A segment is written again once one in so many of its chunks was deleted.
const DELETED: u32 = 4;

/// The owner of the thread. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Merger {
    writer: Arc<Mutex<Writer>>,
    thread: Arc<SyncMutex<Option<JoinHandle<()>>>>,
}

impl Merger {
    /// Merges the segments of a writer's store.
    pub(super) fn of(writer: Arc<Mutex<Writer>>) -> Self {
        Self { writer, thread: Arc::default() }
    }

    /// Starts to merge if there is anything worth it and nothing is being merged. The caller holds the
    /// writer, and everything is on disk.
    pub(super) fn start(&self, writer: &mut Writer) {
        let mut thread = self.thread();
        let is_busy = thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || wanted(&writer.current().get().segments).is_empty() {
            return;
        }
        let merger = self.clone();
        match thread::Builder::new().name("store-merger".to_owned()).spawn(move || merger.run()) {
            Ok(started) => *thread = Some(started),
            Err(error) => warn!(%error, "segments cannot be merged"),
        }
    }

    /// Waits, blocking, until nothing is being merged.
    pub(super) fn join(&self) {
        let thread = self.thread().take();
        if let Some(thread) = thread {
            // A panic was reported when it happened.
            drop(thread.join());
        }
    }

    /// Merges until nothing is worth it.
    fn run(&self) {
        loop {
            let began = Instant::now();
            let (sources, number, (folder, dimensions)) = {
                let mut writer = self.writer.blocking_lock();
                let sources = wanted(&writer.current().get().segments);
                (sources, writer.number(), writer.place())
            };
            if sources.is_empty() {
                return;
            }
            let made = writer::merged(&folder, dimensions, &sources, number);
            let finish = |made| self.writer.blocking_lock().finish_merge(&sources, made);
            let elapsed_ms = telemetry::milliseconds(began.elapsed());
            debug!(segments = sources.len(), elapsed_ms, "segments merged");
            if let Err(error) = made.and_then(finish) {
                warn!(%error, "segments could not be merged");
                return;
            }
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the segments that are to be merged now: the smallest of many, or those with much deleted.
fn wanted(segments: &[Live]) -> Vec<Live> {
    let on_disk = || segments.iter().filter(|live| live.number.is_some());
    if MANY <= on_disk().count() {
        let mut smallest: Vec<Live> = on_disk().cloned().collect();
        smallest.sort_by_key(Live::chunks);
        smallest.truncate(TOGETHER);
        return smallest;
    }
    let is_worn = |live: &&Live| live.segment.chunks.len() < live.deleted_chunks.len() * DELETED;
    on_disk().filter(is_worn).cloned().collect()
}
