//! One collection in the engine: opening, changing, reading, and tending its files.
//!
//! Everything here blocks. The engine reports some failures by panicking; each call that changes
//! something or opens a shard turns that into an error, reads are caught where they are awaited.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    thread,
};

use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeConfigBuilder, EdgeOptimizersConfig, EdgeShard,
    EdgeSparseVectorParamsBuilder, EdgeVectorParamsBuilder, FieldIndexOperations, HnswIndexConfig,
    KeywordIndexParams, Modifier, OperationError, OperationResult, PayloadFieldSchema,
    PayloadSchemaParams, PointInsertOperations, PointOperations, QuantizationConfig,
    ScalarQuantizationConfig, ScalarType, UpdateOperation, VectorStorageDatatype, WalOptions,
};
use tracing::warn;

use super::{
    super::{Collection, Field, Filter, Point, StoreError, atomic, hnsw},
    convert::{self, DENSE, Selection, TERMS},
    entry::Entry,
};

/// Size of one file of the engine's log; up to two files of a collection wait to be freed.
const LOG_FILE_BYTES: usize = 8 << 20;
/// How many segments a shard may have when a run has ended, before small ones are merged. Looking at
/// every vector, a search spends some tens of microseconds on each.
const SETTLED_SEGMENTS: usize = 6;
/// Then no segment is merged to more than this part of all points: merging takes memory for both its
/// sources and its result.
const LARGEST_PART: usize = 3;
/// The same with an approximate index, whose search takes a millisecond or two in each segment,
/// however large: so that two or three hold nearly all.
const SETTLED_GRAPHS: usize = 4;
/// Then no segment is merged to more than half of all points, or this many. Building the index of
/// 1,200,000 in one took 3 GB.
const LARGEST_GRAPH: usize = 400_000;
/// How many segments a shard may have while a run goes on. Merging takes seconds in which nothing is
/// sealed, so that there is little of it; each segment maps some thirty files.
const WORKING_SEGMENTS: usize = 40;
/// Segments with fewer points are not rebuilt to get rid of deleted ones.
const VACUUM_MIN_POINTS: usize = 1000;
/// The engine rebuilds a segment when a fifth of its points is deleted; fewer changes than this
/// cannot have brought that about.
const VACUUM_MIN_CHANGES: usize = VACUUM_MIN_POINTS / 5;
/// Where a filter leaves whole vectors of less than this in a segment, a search looks at all of them, by
/// rounded ones, instead of following the approximate index. In kilobytes.
const FEW_KILOBYTES: usize = 10_000;
/// Bytes of one number of a dense vector: half precision.
const NUMBER_BYTES: usize = 2;

/// When segments are rebuilt, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// A segment that takes changes is sealed once it has this many points, and another one is
    /// begun: a change costs the engine time in proportion to the points beside it.
    pub(super) seal_points: usize,
    /// From this many points on an approximate index is built.
    pub(super) hnsw_min_points: usize,
}

/// How thoroughly segments are rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rebuild {
    /// While a run goes on: seals the segment of chunks that takes changes.
    Seal,
    /// When a run has ended: also builds the approximate index once there are enough points for it.
    Settle,
}

/// What segments are rebuilt to.
struct Layout {
    /// How many there may be before small ones are merged.
    segments: usize,
    /// How many points merging may put into one.
    largest: usize,
    /// The graph of dense vectors, if it may become another one.
    m: Option<usize>,
}

impl Layout {
    /// For a shard of so many points, when a run has ended.
    fn settled(points: usize, bounds: Bounds) -> Self {
        if bounds.hnsw_min_points <= points {
            let largest = LARGEST_GRAPH.max(points / 2);
            Self { segments: SETTLED_GRAPHS, largest, m: Some(hnsw::M) }
        } else {
            let largest = points / LARGEST_PART;
            Self { segments: SETTLED_SEGMENTS, largest, m: Some(hnsw::NO_GRAPH) }
        }
    }
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
        let config = config(collection, dimensions, m);
        let engine = caught("open", || EdgeShard::load(&folder, Some(config)))?;
        let shard = Self { engine: Some(engine), folder, dimensions };
        for field in Field::INDEXED {
            // A no-op for segments that have the index.
            let index =
                CreateIndex { field_name: convert::key(field)?, field_schema: Some(schema(field)) };
            let index = FieldIndexOperations::CreateIndex(index);
            shard.update("index payloads", UpdateOperation::FieldIndexOperation(index))?;
        }
        Ok(shard)
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
        let bytes = self.dimensions.saturating_mul(NUMBER_BYTES);
        let kilobytes = |points: usize| (points.saturating_mul(bytes) / 1024).max(1);
        let layout = match rebuild {
            // Another `m` would have the engine rebuild every segment.
            Rebuild::Seal => Layout { segments: WORKING_SEGMENTS, largest: usize::MAX, m: None },
            Rebuild::Settle => {
                let points = self.count(&Filter::default())?;
                Layout::settled(usize::try_from(points).unwrap_or(usize::MAX), bounds)
            }
        };
        self.call("optimize", |engine| {
            engine.set_optimizers_config(EdgeOptimizersConfig {
                default_segment_number: Some(layout.segments),
                max_segment_size: Some(kilobytes(layout.largest)),
                indexing_threshold: Some(kilobytes(bounds.seal_points)),
                ..optimizers()
            })?;
            if let Some(m) = layout.m {
                engine.set_hnsw_config(hnsw_config(m))?;
            }
            engine.optimize()
        })
    }

    /// Returns whether [`Shard::optimize`] might find something to do when a run has ended, after
    /// about `changes` points were written or deleted.
    pub(super) fn may_optimize(&self, changes: usize, bounds: Bounds) -> Result<bool, StoreError> {
        let info = self.call("look at its segments", |engine| Ok(engine.info()))?;
        let may_vacuum = VACUUM_MIN_POINTS <= info.points_count && VACUUM_MIN_CHANGES <= changes;
        let layout = Layout::settled(info.points_count, bounds);
        let wants_graph = layout.m == Some(hnsw::M) && !self.has_graph()?;
        Ok(may_vacuum || wants_graph || layout.segments < info.segments_count)
    }

    /// Of how many points, left by a filter, a search looks at all whatever index there is.
    pub(super) fn few(&self) -> usize {
        (FEW_KILOBYTES * 1024) / self.dimensions.saturating_mul(NUMBER_BYTES).max(1)
    }

    /// Whether large segments are given an approximate index.
    pub(super) fn has_graph(&self) -> Result<bool, StoreError> {
        self.call("look at its index", |engine| Ok(engine.config().hnsw_config.m == hnsw::M))
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

/// Searches ask for roots; paths and versions are asked for when files change, and can be read from disk.
fn schema(field: Field) -> PayloadFieldSchema {
    let on_disk = match field {
        Field::Root => false,
        Field::Path | Field::Version => true,
    };
    let keyword = KeywordIndexParams { on_disk: Some(on_disk), ..KeywordIndexParams::default() };
    PayloadFieldSchema::FieldParams(PayloadSchemaParams::Keyword(keyword))
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
        // A file that cannot be read is written anew; the wrong number only costs a rebuild.
        _ => hnsw::NO_GRAPH,
    }
}

fn config(collection: Collection, dimensions: usize, m: usize) -> EdgeConfig {
    let log = WalOptions { segment_capacity: LOG_FILE_BYTES, ..WalOptions::default() };
    let config = EdgeConfigBuilder::new()
        .optimizers(optimizers())
        .hnsw_config(hnsw_config(m))
        .wal_options(log);
    match collection {
        // Segments without any vector are allowed; they keep payloads and their indexes.
        Collection::Files | Collection::Roots => config.build(),
        Collection::Chunks => {
            // Whole vectors are only read to compare the best: half precision is plenty, and they may
            // stay on disk.
            let dense = EdgeVectorParamsBuilder::new(dimensions, Distance::Cosine)
                .datatype(VectorStorageDatatype::Float16)
                .on_disk(true)
                .quantization_config(quantized())
                .build();
            // Sealed segments map their term index, so that the system may drop what is not used.
            let terms =
                EdgeSparseVectorParamsBuilder::new().modifier(Modifier::Idf).on_disk(true).build();
            config.vector(DENSE, dense).sparse_vector(TERMS, terms).build()
        }
    }
}

/// A sealed segment is scanned by one byte for each number, a quarter of what is to be read; the best
/// of that are compared by their whole vectors.
fn quantized() -> QuantizationConfig {
    let scalar = ScalarQuantizationConfig {
        r#type: ScalarType::Int8,
        quantile: None,
        always_ram: Some(true),
    };
    scalar.into()
}

fn hnsw_config(m: usize) -> HnswIndexConfig {
    // Half of the processors, so that searches go on while the index is built.
    let threads = thread::available_parallelism().map_or(1, |all| all.get().div_ceil(2));
    HnswIndexConfig {
        m,
        max_indexing_threads: threads,
        full_scan_threshold: FEW_KILOBYTES,
        ..HnswIndexConfig::default()
    }
}

/// Returns what stays the same of how segments are rebuilt. The engine would derive the rest from the
/// number of processors; it measures a segment by its largest vectors, which may be the sparse ones.
fn optimizers() -> EdgeOptimizersConfig {
    EdgeOptimizersConfig {
        default_segment_number: Some(SETTLED_SEGMENTS),
        max_segment_size: Some(usize::MAX / 1024),
        indexing_threshold: Some(0),
        vacuum_min_vector_number: Some(VACUUM_MIN_POINTS),
        ..EdgeOptimizersConfig::default()
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
