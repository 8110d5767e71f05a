//! The embedded engine: nothing to start, all in one folder, one process at a time.
//!
//! Reads go to the engine side by side. Changes go through one [`Writer`], which journals them
//! first. Everything that touches the engine runs off the runtime's workers.
//!
//! Chunks (dense and sparse vectors), files and roots (payload only) are three shards of the
//! engine. The index is derived data: damage is repaired from the repositories and never nursed.

mod aside;
mod audit;
mod checksums;
mod convert;
mod entries;
mod entry;
mod journal;
mod layout;
mod manifest;
mod mappings;
mod open;
mod optimizer;
mod read;
mod repair;
mod roster;
mod shard;
mod system;
mod writer;

use std::{iter, path::Path, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{
    Collection, Filter, Health, Lease, OnMismatch, Point, Scored, StoreError, Stored, VectorStore,
    check,
};
use crate::{
    config,
    domain::{RootId, Sparse},
    task::{Stalls, Tasks},
};
use checksums::Compare;
use entry::Entry;
use layout::Bounds;
use open::Wanted;
use optimizer::Optimizer;
use roster::Roster;
use shard::Shard;
use writer::{Shards, Writer};

/// Points per change: few, because readers wait while the engine takes one in.
const BATCH: usize = 64;

/// The message for a run that wrote much while segments were rebuilt.
const OVERFULL: &str = "waiting until what was indexed before is arranged for searching";

/// How long a flush waits for segments that are being rebuilt: sealing one takes about a second.
const REBUILD_WAIT: Duration = Duration::from_secs(3);

/// How long nothing must have been written before every file is read for its checksum.
const QUIET: Duration = Duration::from_secs(1);

/// The embedded engine. Dropping it flushes, which blocks for some tenths of a second, and, unless
/// the process is stopping, waits for segments that are being rebuilt. What was acknowledged is
/// safe without either.
pub struct Embedded {
    shards: Arc<Shards>,
    writer: Arc<Mutex<Writer>>,
    optimizer: Optimizer,
    roster: Roster,
    background_merge: bool,
    stalls: Stalls,
    dimensions: usize,
    tasks: Tasks,
}

impl Embedded {
    /// Opens the store in `folder`, creating it if needed, for vectors of `dimensions` made by
    /// `model` (its id). Replays what a killed process had only journaled.
    #[expect(clippy::too_many_arguments, reason = "called once, by the composition root")]
    pub async fn open(
        folder: &Path,
        model: &str,
        dimensions: usize,
        on_mismatch: OnMismatch,
        settings: &config::Store,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let repairs = settings.repairs;
        // What a command only reads of, the next server compares; what it wrote of damaged files would look whole.
        let is_brief = !settings.background_merge && !repairs;
        let compare = if is_brief { Compare::Unstamped } else { Compare::All };
        let wanted = Wanted { model: model.to_owned(), dimensions, on_mismatch, repairs, compare };
        let at = folder.to_owned();
        let writer = blocking(&tasks, "open", move || open::open(&at, &wanted)).await?;
        let (shards, roster) = (Arc::clone(writer.shards()), writer.roster().clone());
        let writer = Arc::new(Mutex::new(writer));
        let bounds =
            Bounds { seal_points: settings.seal_chunks, hnsw_min_points: settings.hnsw_min_chunks };
        let optimizer = Optimizer::new(Arc::clone(&shards), Arc::clone(&writer), bounds);
        if settings.background_merge {
            // What a process that does not settle left.
            let (writer, optimizer) = (Arc::clone(&writer).lock_owned().await, optimizer.clone());
            let settle = move || {
                let mut writer = writer;
                optimizer.settle(&mut writer)
            };
            blocking(&tasks, "inspect its segments", settle).await?;
        }
        let background_merge = settings.background_merge;
        let stalls = Stalls::default();
        let store =
            Self { shards, writer, optimizer, roster, background_merge, stalls, dimensions, tasks };
        let changes = store.writer.lock().await.changes();
        store.rest_soon(changes);
        Ok(store)
    }

    /// Returns the id of the model that filled the store in `folder`, and how long its vectors are;
    /// `None` if there is no store yet.
    pub async fn recorded(
        folder: &Path,
        tasks: &Tasks,
    ) -> Result<Option<(String, usize)>, StoreError> {
        let folder = folder.to_owned();
        blocking(tasks, "open", move || open::recorded(&folder)).await
    }

    /// Runs a read beside all others.
    fn read<T: Send + 'static>(
        &self,
        action: &'static str,
        of: Collection,
        work: impl FnOnce(&Shard) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let shards = Arc::clone(&self.shards);
        blocking(&self.tasks, action, move || work(shards.get(of))).boxed()
    }

    /// Makes changes, after all that were asked for before. They are made even if the future is
    /// dropped once they have begun.
    async fn write(&self, action: &'static str, entries: Vec<Entry>) -> Result<(), StoreError> {
        let mut writer = loop {
            let writer = Arc::clone(&self.writer).lock_owned().await;
            if !writer.overfull() {
                break writer;
            }
            drop(writer);
            let _stalled = self.stalls.begin(OVERFULL.to_owned());
            self.optimizer.idle().await;
        };
        let (tasks, optimizer) = (self.tasks.clone(), self.optimizer.clone());
        let work = move || {
            entries.into_iter().try_for_each(|entry| writer.write(entry))?;
            if tasks.stopping().is_cancelled() { Ok(()) } else { optimizer.seal(&mut writer) }
        };
        blocking(&self.tasks, action, work).await
    }

    /// Flushes, then starts to rebuild segments where that is worth while. Sealing that goes on is
    /// waited for, because the engine can only flush when it has ended; when stopping, any rebuilding
    /// is.
    async fn flush_and_optimize(&self) -> Result<(), StoreError> {
        let is_stopping = self.tasks.stopping().is_cancelled();
        if is_stopping {
            self.optimizer.finish();
        }
        if is_stopping || !self.optimizer.is_settling() {
            // Without an end in time, the journal is put on disk instead.
            drop(tokio::time::timeout(REBUILD_WAIT, self.optimizer.idle()).await);
        }
        let mut writer = Arc::clone(&self.writer).lock_owned().await;
        let (tasks, optimizer) = (self.tasks.clone(), self.optimizer.clone());
        let background_merge = self.background_merge;
        let work = move || {
            writer.flush()?;
            if tasks.stopping().is_cancelled() {
                writer.rest();
            } else if background_merge {
                optimizer.settle(&mut writer)?;
            }
            Ok(writer.changes())
        };
        let changes = blocking(&self.tasks, "flush", work).await?;
        self.rest_soon(changes);
        Ok(())
    }

    /// Has every file read for its checksum once nothing has been written for a while: after each of
    /// many small runs it would cost more than the run.
    fn rest_soon(&self, changes: u64) {
        // Waiting keeps no store open.
        let (writer, tasks) = (Arc::downgrade(&self.writer), self.tasks.clone());
        self.tasks.spawn(async move {
            let waiting = tokio::time::sleep(QUIET);
            if tasks.stopping().run_until_cancelled(waiting).await.is_none() {
                return;
            }
            let Some(writer) = writer.upgrade() else { return };
            let mut writer = writer.lock_owned().await;
            if writer.changes() == changes {
                drop(tasks.spawn_blocking(move || writer.rest()).await);
            }
        });
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if !self.tasks.stopping().is_cancelled() {
            self.optimizer.join();
        }
    }
}

impl VectorStore for Embedded {
    fn backend(&self) -> &'static str {
        "embedded"
    }

    fn upsert(
        &self,
        into: Collection,
        points: Vec<Point>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let check = |point| check::point(point, into, self.dimensions);
        let checked = points.iter().try_for_each(check);
        async move {
            checked?;
            let mut points = points.into_iter();
            let mut entries = Vec::new();
            while let Some(first) = points.next() {
                let rest = points.by_ref().take(BATCH - 1);
                entries.push(Entry::Upsert(into, iter::once(first).chain(rest).collect()));
            }
            self.write("upsert points", entries).await
        }
        .boxed()
    }

    fn delete(&self, from: Collection, filter: Filter) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write("delete points", vec![Entry::Delete(from, filter)]).boxed()
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        filter: Filter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read("search", Collection::Chunks, move |shard| shard.nearest(to, &filter, limit))
    }

    fn lexical(
        &self,
        terms: Sparse,
        filter: Filter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read("search", Collection::Chunks, move |shard| shard.lexical(terms, &filter, limit))
    }

    fn scroll(
        &self,
        from: Collection,
        filter: Filter,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read("scroll", from, move |shard| shard.scroll(&filter, after, limit))
    }

    fn count(&self, of: Collection, filter: Filter) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.read("count", of, move |shard| shard.count(&filter))
    }

    fn lease(&self, _: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        // The lock of the folder keeps other processes away.
        async { Ok(Lease::granted()) }.boxed()
    }

    fn is_leased(&self, _: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
        async { Ok(false) }.boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
        async {
            let chunks = self.count(Collection::Chunks, Filter::default()).await?;
            Ok(Health { version: None, chunks })
        }
        .boxed()
    }

    fn stall(&self) -> Option<String> {
        self.stalls.reason()
    }

    fn damage(&self) -> Option<String> {
        self.roster.damage()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        // Who holds the writer finds out.
        let check = |writer: &Writer| writer.check().and_then(|()| writer.check_room());
        self.writer.try_lock().map_or(Ok(()), |writer| check(&writer))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flush_and_optimize().boxed()
    }
}

async fn blocking<T: Send + 'static>(
    tasks: &Tasks,
    action: &'static str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tasks.spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => {
            let reason = match error.try_into_panic() {
                Ok(panic) => shard::panic_message(panic.as_ref()),
                Err(error) => error.to_string(),
            };
            Err(StoreError::Engine { action, reason })
        }
    }
}
