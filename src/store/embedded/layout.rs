//! How a collection lies in the engine: its vectors and indexes, how many segments there are, and how
//! large they grow.
//!
//! Writing a chunk costs the engine time in proportion to the chunks beside it, since the postings
//! of common terms are rewritten. So a segment is sealed after some thousands of chunks and
//! another one begun, and the cost of a run grows with what it writes. Points are replaced and
//! deleted by id, which follows from root and path; only the root is indexed. An index of paths
//! made indexing a tenth dearer.
//!
//! Sealed segments are scanned by vectors of one byte for each number, and the best of those
//! compared by vectors of half precision, which are read from disk; on the development queries
//! this changes no result.

use std::thread;

use qdrant_edge::{
    Distance, EdgeConfig, EdgeConfigBuilder, EdgeOptimizersConfig, EdgeSparseVectorParamsBuilder,
    EdgeVectorParamsBuilder, HnswIndexConfig, KeywordIndexParams, Modifier, PayloadFieldSchema,
    PayloadSchemaParams, QuantizationConfig, ScalarQuantizationConfig, ScalarType,
    VectorStorageDatatype, WalOptions,
};

use super::{
    super::{Collection, Field, hnsw},
    convert::{DENSE, TERMS},
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

/// What segments are rebuilt to.
pub(super) struct Layout {
    /// How many there may be before small ones are merged.
    pub(super) segments: usize,
    /// How many points merging may put into one.
    largest: usize,
    /// The graph of dense vectors, if it may become another one.
    pub(super) m: Option<usize>,
}

impl Layout {
    /// While a run goes on.
    pub(super) fn working() -> Self {
        // Another `m` would have the engine rebuild every segment.
        Self { segments: WORKING_SEGMENTS, largest: usize::MAX, m: None }
    }

    /// For a shard of so many points, when a run has ended.
    pub(super) fn settled(points: usize, bounds: Bounds) -> Self {
        if bounds.hnsw_min_points <= points {
            let largest = LARGEST_GRAPH.max(points / 2);
            Self { segments: SETTLED_GRAPHS, largest, m: Some(hnsw::M) }
        } else {
            let largest = points / LARGEST_PART;
            Self { segments: SETTLED_SEGMENTS, largest, m: Some(hnsw::NO_GRAPH) }
        }
    }

    /// Returns when the engine is to rebuild segments.
    pub(super) fn optimizers(&self, bounds: Bounds, dimensions: usize) -> EdgeOptimizersConfig {
        let bytes = vector_bytes(dimensions);
        let kilobytes = |points: usize| (points.saturating_mul(bytes) / 1024).max(1);
        EdgeOptimizersConfig {
            default_segment_number: Some(self.segments),
            max_segment_size: Some(kilobytes(self.largest)),
            indexing_threshold: Some(kilobytes(bounds.seal_points)),
            ..optimizers()
        }
    }
}

/// Whether the engine might find a segment worth rebuilding to get rid of deleted points, after about
/// `changes` points were written or deleted.
pub(super) fn may_vacuum(points: usize, changes: usize) -> bool {
    VACUUM_MIN_POINTS <= points && VACUUM_MIN_CHANGES <= changes
}

/// Of how many points, left by a filter, a search looks at all whatever index there is.
pub(super) fn few(dimensions: usize) -> usize {
    FEW_KILOBYTES * 1024 / vector_bytes(dimensions).max(1)
}

fn vector_bytes(dimensions: usize) -> usize {
    dimensions.saturating_mul(NUMBER_BYTES)
}

/// The field that is indexed. Whatever does not ask for a root names ids: an index costs each chunk time
/// twice, when it is written and when its segment is sealed.
pub(super) const INDEXED: Field = Field::Root;

/// Returns how [`INDEXED`] is indexed.
pub(super) fn schema() -> PayloadFieldSchema {
    let keyword = KeywordIndexParams { on_disk: Some(false), ..KeywordIndexParams::default() };
    PayloadFieldSchema::FieldParams(PayloadSchemaParams::Keyword(keyword))
}

/// Returns how the engine is to keep a collection.
pub(super) fn config(collection: Collection, dimensions: usize, m: usize) -> EdgeConfig {
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

/// Returns how the approximate index is built, if `m` wants one.
pub(super) fn hnsw_config(m: usize) -> HnswIndexConfig {
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
