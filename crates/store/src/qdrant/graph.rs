//! When the server builds the approximate index of the chunks.
//!
//! Below `HNSW_MIN_CHUNKS` the server compares all vectors and so finds what the embedded engine
//! finds, which always does. With the index, each copy of a shard has its own, and which copy answers changes:
//! `benches/README.md` has the figures.

use qdrant_client::qdrant::{GetCollectionInfoRequest, HnswConfigDiff, UpdateCollection};
use tracing::{info, warn};

use super::{Node, Server, error::CallError, hnsw, names::Collection};

impl Server {
    /// Has the server build the index once there are many chunks. Asking again changes nothing,
    /// whichever process does; a failure leaves that to the end of the next run.
    pub(super) async fn build_graph(&self) {
        match self.graph_wanted().await {
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
    async fn graph_wanted(&self) -> Result<Option<String>, CallError> {
        let collection_name = self.names().await?.of(Collection::Chunks);
        let look = |node: Node| {
            let request = GetCollectionInfoRequest { collection_name: collection_name.clone() };
            async move { node.collections().get(request).await }
        };
        let info = self.link.once(look).await?.result.unwrap_or_default();
        let m = info.config.and_then(|config| config.hnsw_config).and_then(|hnsw| hnsw.m);
        let are_many = self.settings.hnsw_min_chunks <= info.points_count.unwrap_or_default();
        Ok(Some(collection_name).filter(|_| are_many && m == Some(hnsw::NO_GRAPH as u64)))
    }

    async fn set_hnsw(&self, collection: &str) -> Result<(), CallError> {
        let request = UpdateCollection {
            collection_name: collection.to_owned(),
            hnsw_config: Some(with_m(hnsw::M)),
            ..Default::default()
        };
        let update = |node: Node| {
            let request = request.clone();
            async move { node.collections().update(request).await }
        };
        self.link.once(update).await.map(drop)
    }
}

/// Returns the server's defaults with another number of edges.
pub(super) fn with_m(m: usize) -> HnswConfigDiff {
    HnswConfigDiff { m: Some(m as u64), ..Default::default() }
}
