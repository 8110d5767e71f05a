//! The gRPC services of the fake server.

use std::{future::Future, pin::Pin, sync::Arc};

use qdrant_client::qdrant::{
    self as message, collections_server::Collections, points_server::Points, qdrant_server::Qdrant,
};
use tonic::{Code, Request, Response, Status};

use super::{
    FakeQdrantState, FaultKind, VERSION,
    shards::{DeleteCall, FakeCollections, GetCall},
};

type CallFuture<'a, T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send + 'a>>;

/// All services of one node, over the data of all.
pub(super) struct NodeServices {
    pub(super) inner: Arc<FakeQdrantState>,
    pub(super) door: usize,
}

impl NodeServices {
    /// Serves a call, unless it has a fault.
    async fn serve_call<A, T>(
        &self,
        call: &'static str,
        collection: String,
        request: Request<A>,
        serve: impl FnOnce(&FakeCollections, A) -> Result<T, Status>,
    ) -> Result<Response<T>, Status> {
        let inner = &self.inner;
        inner.check_node(self.door)?;
        let key = request.metadata().get("api-key").and_then(|key| key.to_str().ok());
        if let Some(wanted) = &*inner.key.lock().unwrap()
            && key != Some(wanted.as_str())
        {
            return Err(Status::unauthenticated("Must provide an API key"));
        }
        inner.rounds.join_round().await;
        let problem = inner.find_fault(call, &collection);
        match problem {
            Some(FaultKind::Refuse(code)) => {
                return Err(Status::new(code, format!("told to answer {code:?}")));
            }
            Some(FaultKind::Delay(time)) => tokio::time::sleep(time).await,
            Some(FaultKind::Cut) => return Err(inner.cut_connections().await),
            Some(FaultKind::Lose) | None => {}
        }
        let served = serve(&inner.shards, request.into_inner());
        if matches!(problem, Some(FaultKind::Lose)) {
            return Err(Status::new(Code::Unavailable, "told to lose the answer"));
        }
        served.map(Response::new)
    }
}

/// Methods that are served by the method of the same name of [`FakeCollections`].
macro_rules! served {
    ($($name:ident: $asked:ident => $answer:ident,)*) => {$(
        fn $name<'a, 'b>(
            &'a self,
            request: Request<message::$asked>,
        ) -> CallFuture<'b, message::$answer>
        where
            'a: 'b,
            Self: 'b,
        {
            let collection = request.get_ref().collection_name.clone();
            let call = stringify!($name);
            Box::pin(self.serve_call(call, collection, request, |shards, asked| shards.$name(asked)))
        }
    )*};
}

/// Methods that our store does not call.
macro_rules! absent {
    ($($name:ident: $asked:ident => $answer:ident,)*) => {$(
        fn $name<'a, 'b>(&'a self, _: Request<message::$asked>) -> CallFuture<'b, message::$answer>
        where
            'a: 'b,
            Self: 'b,
        {
            let status = Status::unimplemented(concat!("no stand-in for ", stringify!($name)));
            Box::pin(async move { Err(status) })
        }
    )*};
}

impl Points for NodeServices {
    served! {
        upsert: UpsertPoints => PointsOperationResponse,
        delete: DeletePoints => PointsOperationResponse,
        get: GetPoints => GetResponse,
        scroll: ScrollPoints => ScrollResponse,
        count: CountPoints => CountResponse,
        query: QueryPoints => QueryResponse,
        create_field_index: CreateFieldIndexCollection => PointsOperationResponse,
    }
    absent! {
        update_vectors: UpdatePointVectors => PointsOperationResponse,
        delete_vectors: DeletePointVectors => PointsOperationResponse,
        set_payload: SetPayloadPoints => PointsOperationResponse,
        overwrite_payload: SetPayloadPoints => PointsOperationResponse,
        delete_payload: DeletePayloadPoints => PointsOperationResponse,
        clear_payload: ClearPayloadPoints => PointsOperationResponse,
        delete_field_index: DeleteFieldIndexCollection => PointsOperationResponse,
        create_vector_name: CreateVectorNameRequest => PointsOperationResponse,
        delete_vector_name: DeleteVectorNameRequest => PointsOperationResponse,
        search: SearchPoints => SearchResponse,
        search_batch: SearchBatchPoints => SearchBatchResponse,
        search_groups: SearchPointGroups => SearchGroupsResponse,
        recommend: RecommendPoints => RecommendResponse,
        recommend_batch: RecommendBatchPoints => RecommendBatchResponse,
        recommend_groups: RecommendPointGroups => RecommendGroupsResponse,
        discover: DiscoverPoints => DiscoverResponse,
        discover_batch: DiscoverBatchPoints => DiscoverBatchResponse,
        update_batch: UpdateBatchPoints => UpdateBatchResponse,
        query_batch: QueryBatchPoints => QueryBatchResponse,
        query_groups: QueryPointGroups => QueryGroupsResponse,
        facet: FacetCounts => FacetResponse,
        search_matrix_pairs: SearchMatrixPoints => SearchMatrixPairsResponse,
        search_matrix_offsets: SearchMatrixPoints => SearchMatrixOffsetsResponse,
    }
}

impl Collections for NodeServices {
    served! {
        create: CreateCollection => CollectionOperationResponse,
        delete: DeleteCollection => CollectionOperationResponse,
        collection_exists: CollectionExistsRequest => CollectionExistsResponse,
        get: GetCollectionInfoRequest => GetCollectionInfoResponse,
        update: UpdateCollection => CollectionOperationResponse,
        collection_cluster_info: CollectionClusterInfoRequest => CollectionClusterInfoResponse,
    }
    absent! {
        update_aliases: ChangeAliases => CollectionOperationResponse,
        list_collection_aliases: ListCollectionAliasesRequest => ListAliasesResponse,
        list_aliases: ListAliasesRequest => ListAliasesResponse,
        update_collection_cluster_setup: UpdateCollectionClusterSetupRequest
            => UpdateCollectionClusterSetupResponse,
        create_shard_key: CreateShardKeyRequest => CreateShardKeyResponse,
        delete_shard_key: DeleteShardKeyRequest => DeleteShardKeyResponse,
        list_shard_keys: ListShardKeysRequest => ListShardKeysResponse,
    }

    fn list<'a, 'b>(
        &'a self,
        request: Request<message::ListCollectionsRequest>,
    ) -> CallFuture<'b, message::ListCollectionsResponse>
    where
        'a: 'b,
        Self: 'b,
    {
        let describe = |name| message::CollectionDescription { name };
        Box::pin(self.serve_call("list", String::new(), request, move |shards, _| {
            let collections = shards.list_names().into_iter().map(describe).collect();
            Ok(message::ListCollectionsResponse { collections, time: 0.0 })
        }))
    }
}

impl Qdrant for NodeServices {
    fn health_check<'a, 'b>(
        &'a self,
        request: Request<message::HealthCheckRequest>,
    ) -> CallFuture<'b, message::HealthCheckReply>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.serve_call("health_check", String::new(), request, |_, _| {
            let title = "stand-in for a vector search engine".to_owned();
            Ok(message::HealthCheckReply { title, version: VERSION.to_owned(), commit: None })
        }))
    }
}
