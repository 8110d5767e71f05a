//! One collection in the engine: opening, changing, reading, and tending its files.
//!
//! Everything here blocks. The engine reports some failures by panicking; each call that changes
//! something or opens a shard turns that into an error, reads are caught where they are awaited.
//!
//! The engine never replays or trims its own log, and refuses operations numbered below what a
//! point has seen. Each start therefore gives it an empty log, with numbers set aside in the
//! manifest.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use qdrant_edge::{
    CreateIndex, EdgeConfig, EdgeShard, FieldIndexOperations, OperationError, OperationResult,
    PointInsertOperations, PointOperations, UpdateOperation,
};
use tracing::warn;

use super::{
    super::{Collection, Field, Filter, Point, StoreError, atomic, hnsw},
    convert::{self, Selection},
    entry::Entry,
    layout::{self, Bounds, Layout},
};

/// How thoroughly segments are rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rebuild {
    /// While a run goes on: seals the segment of chunks that takes changes.
    Seal,
    /// When a run has ended: also builds the approximate index once there are enough points for it.
    Settle,
}

/// A collection in the engine.
#[derive(Debug)]
pub(super) struct Shard {
    /// Taken only by `drop`.
    engine: Option<EdgeShard>,
    folder: PathBuf,
    dimensions: usize,
}

impl Shard {
    /// Opens or creates the shard of `collection` below `store`, numbering its operations from
    /// `first_operation`, which must be above every number used before.
    pub(super) fn open(
        store: &Path,
        collection: Collection,
        dimensions: usize,
        first_operation: u64,
    ) -> Result<Self, StoreError> {
        let folder = store.join(folder_name(collection));
        fs::create_dir_all(&folder).map_err(|source| StoreError::io(&folder, source))?;
        // Left behind when the process was killed while rebuilding a segment.
        atomic::remove_folder(&folder.join("temp_segments"))?;
        reset_log(&folder, first_operation)?;
        let m = m(&folder);
        let config = layout::config(collection, dimensions, m);
        let engine = caught("open", || EdgeShard::load(&folder, Some(config)))?;
        let shard = Self { engine: Some(engine), folder, dimensions };
        // A no-op for segments that have the index.
        let (field_name, field_schema) = (convert::key(layout::INDEXED)?, Some(layout::schema()));
        let index = CreateIndex { field_name, field_schema };
        shard.index(FieldIndexOperations::CreateIndex(index))?;
        Ok(shard)
    }

    /// Removes indexes that former versions made. What they journaled may need them.
    pub(super) fn remove_former_indexes(&self) -> Result<(), StoreError> {
        let there = self.call("inspect its indexes", |engine| Ok(engine.info().payload_schema))?;
        for field in Field::ALL {
            let name = convert::key(field)?;
            if field != layout::INDEXED && there.contains_key(&name) {
                self.index(FieldIndexOperations::DeleteIndex(name))?;
            }
        }
        Ok(())
    }

    fn index(&self, change: FieldIndexOperations) -> Result<(), StoreError> {
        self.update("index payloads", UpdateOperation::FieldIndexOperation(change))
    }

    /// Applies a change. Applying it again, after whatever followed it, ends in the same state.
    pub(super) fn apply(&self, entry: Entry) -> Result<(), StoreError> {
        match entry {
            Entry::Upsert(_, points) => self.upsert(points),
            Entry::Delete(_, filter) => self.delete(&filter),
        }
    }

    fn upsert(&self, points: Vec<Point>) -> Result<(), StoreError> {
        let points = points.into_iter().map(convert::point).collect();
        let points = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
        self.update("upsert points", UpdateOperation::PointOperation(points))
    }

    fn delete(&self, filter: &Filter) -> Result<(), StoreError> {
        let Selection::Points(filter) = convert::selection(filter)? else {
            return Ok(());
        };
        let filter = filter.unwrap_or_default();
        let delete = PointOperations::DeletePointsByFilter(filter);
        self.update("delete points", UpdateOperation::PointOperation(delete))
    }

    pub(super) fn update(
        &self,
        action: &'static str,
        operation: UpdateOperation,
    ) -> Result<(), StoreError> {
        self.call(action, |engine| engine.update(operation))
    }

    /// Puts everything on disk and frees the engine's own log. Must not run beside a change or
    /// [`Shard::optimize`]: the engine panics instead of waiting, and what is written while
    /// segments are rebuilt is not complete on disk.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        self.call("flush", |engine| {
            engine.flush();
            Ok(())
        })?;
        trim_log(&self.folder)
    }

    /// Rebuilds segments that hold many deleted points or have grown large, and merges small ones.
    /// Returns whether anything changed. May take minutes; reads and changes go on meanwhile.
    pub(super) fn optimize(&self, rebuild: Rebuild, bounds: Bounds) -> Result<bool, StoreError> {
        let layout = match rebuild {
            Rebuild::Seal => Layout::working(),
            Rebuild::Settle => {
                let points = self.count(&Filter::default())?;
                Layout::settled(usize::try_from(points).unwrap_or(usize::MAX), bounds)
            }
        };
        self.call("optimize", |engine| {
            engine.set_optimizers_config(layout.optimizers(bounds, self.dimensions))?;
            if let Some(m) = layout.m {
                engine.set_hnsw_config(layout::hnsw_config(m))?;
            }
            engine.optimize()
        })
    }

    /// Returns whether [`Shard::optimize`] might find something to do when a run has ended, after
    /// about `changes` points were written or deleted.
    pub(super) fn may_optimize(&self, changes: usize, bounds: Bounds) -> Result<bool, StoreError> {
        let info = self.call("inspect its segments", |engine| Ok(engine.info()))?;
        let may_vacuum = layout::may_vacuum(info.points_count, changes);
        let layout = Layout::settled(info.points_count, bounds);
        let wants_graph = layout.m == Some(hnsw::M) && !self.has_graph()?;
        Ok(may_vacuum || wants_graph || layout.segments < info.segments_count)
    }

    /// Of how many points, left by a filter, a search looks at all whatever index there is.
    pub(super) fn few(&self) -> usize {
        layout::few(self.dimensions)
    }

    /// Whether large segments are given an approximate index.
    pub(super) fn has_graph(&self) -> Result<bool, StoreError> {
        self.call("inspect its index", |engine| Ok(engine.config().hnsw_config.m == hnsw::M))
    }

    /// Runs a call of the engine, turning its errors and panics into ours.
    pub(super) fn call<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&EdgeShard) -> OperationResult<T>,
    ) -> Result<T, StoreError> {
        caught(action, || match &self.engine {
            Some(engine) => work(engine),
            None => Err(OperationError::service_error("it is closed")),
        })
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // The engine flushes when dropped, and panics if it cannot; two such panics would abort
        // the process. The journal has whatever is lost.
        let engine = self.engine.take();
        let closed = caught("close", || {
            drop(engine);
            Ok(())
        });
        if let Err(error) = closed {
            warn!(%error, folder = %self.folder.display(), "shard was not closed cleanly");
        }
    }
}

/// Returns the folder of a collection within the store's.
pub(super) fn folder_name(collection: Collection) -> &'static str {
    match collection {
        Collection::Chunks => "chunks",
        Collection::Files => "files",
        Collection::Roots => "roots",
    }
}

fn caught<T>(
    action: &'static str,
    work: impl FnOnce() -> OperationResult<T>,
) -> Result<T, StoreError> {
    let reason = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic_message(panic.as_ref()),
    };
    Err(StoreError::Engine { action, reason })
}

/// Returns the text of a panic.
pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the engine panicked: {}", text.unwrap_or("no message"))
}

/// Returns the `m` that the approximate index of a shard was last built with.
fn m(folder: &Path) -> usize {
    match EdgeConfig::load(folder) {
        Some(Ok(config)) if config.hnsw_config.m == hnsw::M => hnsw::M,
        // A file that cannot be read is written again; the wrong number only costs a rebuild.
        _ => hnsw::NO_GRAPH,
    }
}

/// Replaces the engine's log by an empty one whose next entry is `first_operation`.
///
/// The engine numbers operations by its log, but neither reads the log back nor shortens it. A
/// closed log file without entries sets the number: its name is the number, its content a header
/// ("wal", format 0, a seed).
fn reset_log(shard: &Path, first_operation: u64) -> Result<(), StoreError> {
    let log = shard.join("wal");
    atomic::remove_folder(&log)?;
    fs::create_dir(&log).map_err(|source| StoreError::io(&log, source))?;
    let path = log.join(format!("closed-{first_operation}"));
    fs::write(&path, b"wal\0seed\0\0\0\0\0\0\0\0").map_err(|source| StoreError::io(&path, source))
}

/// Empties and removes the engine's log files that it has closed, except the newest, to which it
/// may still refer. They stay mapped until the shard is closed, so removing them alone would not
/// free their space; nothing reads them again.
fn trim_log(shard: &Path) -> Result<(), StoreError> {
    let log = shard.join("wal");
    let trim = || -> io::Result<()> {
        let mut closed = Vec::new();
        for entry in fs::read_dir(&log)? {
            let entry = entry?;
            let name = entry.file_name();
            let start = name.to_str().and_then(|name| name.strip_prefix("closed-"));
            if let Some(start) = start.and_then(|start| start.parse::<u64>().ok()) {
                closed.push((start, entry.path()));
            }
        }
        closed.sort_unstable();
        closed.pop();
        for (_, path) in closed {
            fs::File::options().write(true).open(&path)?.set_len(0)?;
            fs::remove_file(&path)?;
        }
        Ok(())
    };
    trim().map_err(|source| StoreError::io(&log, source))
}
