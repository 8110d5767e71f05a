//! When chunks are linked, so that a search need not look at each.

use qdrant_client::qdrant::{GetCollectionInfoRequest, HnswConfigDiff, UpdateCollection};
use tracing::{info, warn};

use super::{super::Collection, Node, Server, fault::Fault};

/// With these there is no graph: each chunk is looked at, by one byte for each number.
pub(super) const NO_LINKS: u64 = 0;
/// How many links a chunk has to others.
const LINKS: u64 = 16;

impl Server {
    /// Has the server link the chunks once there are many. Asking again changes nothing, whichever
    /// process does; a failure leaves that to the end of the next run.
    pub(super) async fn link_chunks(&self) {
        match self.links_wanted().await {
            Ok(Some(collection)) => match self.set_links(&collection).await {
                Ok(()) => info!(collection, "the server links chunks from now on"),
                Err(fault) => {
                    warn!(reason = %fault.told("link chunks"), "chunks are not linked yet");
                }
            },
            Ok(None) => {}
            Err(fault) => {
                warn!(reason = %fault.told("look at links"), "chunks may not be linked yet");
            }
        }
    }

    /// Returns the collection of the chunks if these are many and have no links.
    async fn links_wanted(&self) -> Result<Option<String>, Fault> {
        let collection_name = self.names().await?.of(Collection::Chunks);
        let look = |node: Node| {
            let request = GetCollectionInfoRequest { collection_name: collection_name.clone() };
            async move { node.collections().get(request).await }
        };
        let info = self.link.once(look).await?.result.unwrap_or_default();
        let links = info.config.and_then(|config| config.hnsw_config).and_then(|links| links.m);
        let are_many = self.settings.hnsw_min_chunks <= info.points_count.unwrap_or_default();
        Ok(Some(collection_name).filter(|_| are_many && links == Some(NO_LINKS)))
    }

    async fn set_links(&self, collection: &str) -> Result<(), Fault> {
        let request = UpdateCollection {
            collection_name: collection.to_owned(),
            hnsw_config: Some(HnswConfigDiff { m: Some(LINKS), ..Default::default() }),
            ..Default::default()
        };
        let update = |node: Node| {
            let request = request.clone();
            async move { node.collections().update(request).await }
        };
        self.link.once(update).await.map(drop)
    }
}
