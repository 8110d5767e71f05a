//! The approximate index of dense vectors, a graph that a search follows, and when the server builds it.
//!
//! Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
//! Navigable Small World graphs", 2018, defines `m` and `ef`.
//!
//! Below `HNSW_MIN_CHUNKS` the server compares all vectors and so finds what the embedded engine
//! finds, which always does. With the index, each copy of a shard has its own, and which copy answers changes:
//! `benches/README.md` has the figures.

use qdrant_client::qdrant::{GetCollectionInfoRequest, HnswConfigDiff, UpdateCollection};
use tracing::{info, warn};

use super::{QdrantNode, QdrantServer, error::CallError, names::CollectionKind};

/// Maximum number of edges of a point (twice as many in the lowest layer).
const MAX_EDGES: usize = 16;
/// Number of edges without a graph: a search reads every point, one byte for each number.
pub(super) const NO_EDGES: usize = 0;
/// Number of candidates of a search. Of the nearest hundred among 99,000, the graph led to 91 in 100
/// with a hundred of them, and to 97 with this many, for about one more millisecond.
pub(super) const SEARCH_CANDIDATES: usize = 512;
/// Factor by which more points than requested are found by rounded vectors and compared by whole
/// ones. On the development queries this changes no result.
pub(super) const OVERSAMPLING: f64 = 1.5;

impl QdrantServer {
    /// Makes the server build the index once there are many chunks. Repeating it changes nothing,
    /// whichever process does; after a failure the end of the next run repeats it.
    pub(super) async fn build_graph(&self) {
        match self.find_graphless_collection().await {
            Ok(Some(collection)) => match self.set_hnsw(&collection).await {
                Ok(()) => info!(collection, "the server builds its approximate index from now on"),
                Err(error) => {
                    let reason = error.into_store_error("have the approximate index built");
                    warn!(%reason, "the server has no approximate index yet");
                }
            },
            Ok(None) => {}
            Err(error) => {
                let reason = error.into_store_error("look at the approximate index");
                warn!(%reason, "the server may have no approximate index yet");
            }
        }
    }

    /// Returns the collection of the chunks if these are many and have no index.
    async fn find_graphless_collection(&self) -> Result<Option<String>, CallError> {
        let collection_name = self.names().await?.name(CollectionKind::Chunks);
        let look = |node: QdrantNode| {
            let request = GetCollectionInfoRequest { collection_name: collection_name.clone() };
            async move { node.collections_client().get(request).await }
        };
        let info = self.link.try_once(look).await?.result.unwrap_or_default();
        let m = info.config.and_then(|config| config.hnsw_config).and_then(|hnsw| hnsw.m);
        let are_many = self.settings.hnsw_min_chunks <= info.points_count.unwrap_or_default();
        Ok(Some(collection_name).filter(|_| are_many && m == Some(NO_EDGES as u64)))
    }

    async fn set_hnsw(&self, collection: &str) -> Result<(), CallError> {
        let request = UpdateCollection {
            collection_name: collection.to_owned(),
            hnsw_config: Some(with_edges(MAX_EDGES)),
            ..Default::default()
        };
        let update = |node: QdrantNode| {
            let request = request.clone();
            async move { node.collections_client().update(request).await }
        };
        self.link.try_once(update).await.map(drop)
    }
}

/// Returns the server's defaults with another number of edges.
pub(super) fn with_edges(m: usize) -> HnswConfigDiff {
    HnswConfigDiff { m: Some(m as u64), ..Default::default() }
}
