//! How many copies the nodes of a cluster keep of each collection.
//!
//! A server makes the copies when a collection is created, and none on nodes that join later: the loss of
//! one node then ends all searches, whatever `QDRANT_REPLICATION` asks for.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use qdrant_client::qdrant::{CollectionClusterInfoRequest, ReplicaState};

use super::{
    super::CollectionCopies,
    Node, Server,
    error::CallError,
    names::{Collection, Names},
};

impl Server {
    /// Returns how many copies each collection has; nothing for a server of one node that is to have one.
    pub(super) async fn copies(&self, names: &Names) -> Result<Vec<CollectionCopies>, CallError> {
        let collections = Collection::ALL.map(|collection| names.of(collection)).into_iter();
        let counting = collections.chain([self.control()]).map(|name| self.count_copies(name));
        let (copies, has_peers): (Vec<_>, Vec<_>) =
            try_join_all(counting).await?.into_iter().unzip();
        let is_cluster = 1 < self.settings.replication || has_peers.contains(&true);
        Ok(if is_cluster { copies } else { Vec::new() })
    }

    /// Counts the copies of one collection, and says whether other nodes have some.
    async fn count_copies(
        &self,
        collection: String,
    ) -> Result<(CollectionCopies, bool), CallError> {
        let look = |node: Node| {
            let request = CollectionClusterInfoRequest { collection_name: collection.clone() };
            async move { node.collections().collection_cluster_info(request).await }
        };
        let info = self.link.once(look).await?;
        let has_peers = !info.remote_shards.is_empty();
        let local = info.local_shards.iter().map(|shard| (shard.shard_id, shard.state()));
        let remote = info.remote_shards.iter().map(|shard| (shard.shard_id, shard.state()));
        let mut whole: BTreeMap<u32, u32> = BTreeMap::new();
        for (shard, state) in local.chain(remote) {
            *whole.entry(shard).or_default() += u32::from(state == ReplicaState::Active);
        }
        let copies = whole.into_values().min().unwrap_or_default();
        let wanted = self.settings.replication;
        Ok((CollectionCopies { collection, copies, wanted }, has_peers))
    }
}
