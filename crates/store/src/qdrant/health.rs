//! Health of a server, with the copies of each collection in a cluster. These are made when a
//! collection is created, none on nodes that join later: the loss of one node then ends all
//! searches, whatever `QDRANT_REPLICATION` asks for.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::try_join_all;
use qdrant_client::qdrant::{
    CollectionClusterInfoRequest, CountPoints, HealthCheckRequest, ReplicaState,
};

use super::{
    QdrantNode, QdrantServer,
    error::CallError,
    names::{CollectionKind, CollectionNames},
};
use crate::{CollectionCopies, StoreHealth};

impl QdrantServer {
    /// Asks for version, chunks, copies and unreachable nodes, once at each node.
    pub(super) async fn check_health(&self) -> Result<StoreHealth, CallError> {
        // Once at each node: others may serve when one is away.
        self.link.retry(Duration::ZERO, || self.read_health()).await
    }

    async fn read_health(&self) -> Result<StoreHealth, CallError> {
        let health = |node: QdrantNode| async move {
            node.service_client().health_check(HealthCheckRequest {}).await
        };
        let version = self.link.try_once(health).await?.version;
        let names = self.names().await?;
        let counted = self.link.try_once(|node| {
            let request = CountPoints {
                collection_name: names.name(CollectionKind::Chunks),
                exact: Some(false),
                ..Default::default()
            };
            async move { node.points_client().count(request).await }
        });
        let looking = async { Ok(self.link.find_unreachable().await) };
        let (counted, copies, unreachable) =
            tokio::try_join!(counted, self.read_copies(&names), looking)?;
        let chunks = counted.result.unwrap_or_default().count;
        Ok(StoreHealth { version: Some(version), chunks, copies, unreachable })
    }

    /// Returns the copies of each collection; nothing for a single node without replication.
    async fn read_copies(
        &self,
        names: &CollectionNames,
    ) -> Result<Vec<CollectionCopies>, CallError> {
        let collections = CollectionKind::ALL.map(|collection| names.name(collection)).into_iter();
        let counting = collections.chain([self.control_name()]).map(|name| self.count_copies(name));
        let (copies, has_peers): (Vec<_>, Vec<_>) =
            try_join_all(counting).await?.into_iter().unzip();
        let is_cluster = self.settings.replication > 1 || has_peers.contains(&true);
        Ok(if is_cluster { copies } else { Vec::new() })
    }

    /// Counts the copies of one collection, and returns whether other nodes have some.
    async fn count_copies(
        &self,
        collection: String,
    ) -> Result<(CollectionCopies, bool), CallError> {
        let request = CollectionClusterInfoRequest { collection_name: collection.clone() };
        let look = |node: QdrantNode| async move {
            node.collections_client().collection_cluster_info(request).await
        };
        let info = self.link.try_once(look).await?;
        let has_peers = !info.remote_shards.is_empty();
        let local = info.local_shards.iter().map(|shard| (shard.shard_id, shard.state()));
        let remote = info.remote_shards.iter().map(|shard| (shard.shard_id, shard.state()));
        let mut active: BTreeMap<u32, u32> = BTreeMap::new();
        for (shard, state) in local.chain(remote) {
            *active.entry(shard).or_default() += u32::from(state == ReplicaState::Active);
        }
        let copies = active.into_values().min().unwrap_or_default();
        let wanted = self.settings.replication;
        Ok((CollectionCopies { collection, copies, wanted }, has_peers))
    }
}
