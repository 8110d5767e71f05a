//! The collections of the fake server: each is a shard of the embedded engine in a temporary folder.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "every call takes a message and may fail"
)]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use qdrant_client::qdrant::{self as message, UpdateStatus, points_selector::PointsSelectorOneOf};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, CreateIndex, Distance, EdgeConfigBuilder, EdgeShard,
    EdgeSparseVectorParamsBuilder, EdgeVectorParamsBuilder, FieldIndexOperations, Modifier,
    OperationResult, PayloadFieldSchema, PayloadSchemaType, PointInsertOperations, PointOperations,
    ScrollRequest, SearchRequest, UpdateOperation, VectorStorageDatatype, WalOptions,
    WithPayloadInterface, WithVector,
};
use tempfile::TempDir;
use tonic::Status;

use super::convert;

/// The collections by name.
pub(super) struct FakeCollections {
    all: Mutex<BTreeMap<String, Arc<FakeCollection>>>,
    /// Number of nodes, each of which may have a copy.
    nodes: u32,
}

struct FakeCollection {
    engine: EdgeShard,
    /// Locked during a change, so that conditions are evaluated one after the other.
    changing: Mutex<()>,
    /// Names and lengths of dense vectors.
    dense: BTreeMap<String, usize>,
    /// Number of links of each point.
    links: AtomicU64,
    /// Reported number of copies, and the number of complete ones in the last of `shards`.
    reported_copies: u32,
    complete_copies: AtomicU32,
    shards: u32,
    _folder: TempDir,
}

impl FakeCollection {
    fn apply_change(&self, operation: PointOperations) -> OperationResult<()> {
        let _guard = self.changing.lock().unwrap();
        self.engine.update(UpdateOperation::PointOperation(operation))
    }
}

impl FakeCollections {
    pub(super) fn with_nodes(nodes: u32) -> Self {
        Self { all: Mutex::default(), nodes }
    }

    /// Says that collections with `of` in their names have this number of whole copies of their last shard.
    pub(super) fn set_copies(&self, of: &str, whole: u32) {
        for (_, shard) in self.all.lock().unwrap().iter().filter(|(name, _)| name.contains(of)) {
            shard.complete_copies.store(whole, Ordering::SeqCst);
        }
    }

    pub(super) fn collection_cluster_info(
        &self,
        call: message::CollectionClusterInfoRequest,
    ) -> Result<message::CollectionClusterInfoResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let mut info = message::CollectionClusterInfoResponse::default();
        for shard_id in 0..shard.shards {
            let is_last = shard_id + 1 == shard.shards;
            let whole = if is_last {
                shard.complete_copies.load(Ordering::SeqCst)
            } else {
                shard.reported_copies
            };
            let state = |copy| {
                let is_whole = copy < whole;
                if is_whole { message::ReplicaState::Active } else { message::ReplicaState::Dead }
            };
            info.local_shards.push(message::LocalShardInfo {
                shard_id,
                state: state(0).into(),
                ..Default::default()
            });
            info.remote_shards.extend((1..shard.reported_copies).map(|copy| {
                message::RemoteShardInfo {
                    shard_id,
                    peer_id: copy.into(),
                    state: state(copy).into(),
                    shard_key: None,
                }
            }));
        }
        Ok(info)
    }

    pub(super) fn list_names(&self) -> Vec<String> {
        self.all.lock().unwrap().keys().cloned().collect()
    }

    fn get_shard(&self, name: &str) -> Result<Arc<FakeCollection>, Status> {
        let shard = self.all.lock().unwrap().get(name).cloned();
        shard.ok_or_else(|| {
            Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"))
        })
    }

    pub(super) fn create(
        &self,
        call: message::CreateCollection,
    ) -> Result<message::CollectionOperationResponse, Status> {
        let mut all = self.all.lock().unwrap();
        let name = call.collection_name.clone();
        if all.contains_key(&name) {
            let output_text = format!("Wrong input: Collection `{name}` already exists!");
            return Err(Status::already_exists(output_text));
        }
        all.insert(name, Arc::new(create_collection(call, self.nodes)?));
        Ok(message::CollectionOperationResponse { result: true, time: 0.0 })
    }

    pub(super) fn update(
        &self,
        call: message::UpdateCollection,
    ) -> Result<message::CollectionOperationResponse, Status> {
        let links = call.hnsw_config.and_then(|links| links.m);
        let links = links.ok_or_else(|| Status::unimplemented("only links are changed"))?;
        self.get_shard(&call.collection_name)?.links.store(links, Ordering::SeqCst);
        Ok(message::CollectionOperationResponse { result: true, time: 0.0 })
    }

    pub(super) fn delete_collection(&self, name: &str) -> bool {
        self.all.lock().unwrap().remove(name).is_some()
    }

    pub(super) fn collection_exists(
        &self,
        call: message::CollectionExistsRequest,
    ) -> Result<message::CollectionExistsResponse, Status> {
        let exists = self.all.lock().unwrap().contains_key(&call.collection_name);
        let result = Some(message::CollectionExists { exists });
        Ok(message::CollectionExistsResponse { result, time: 0.0 })
    }

    pub(super) fn create_field_index(
        &self,
        call: message::CreateFieldIndexCollection,
    ) -> Result<message::PointsOperationResponse, Status> {
        if call.field_type() != message::FieldType::Keyword {
            return Err(Status::unimplemented("only keywords are indexed"));
        }
        let shard = self.get_shard(&call.collection_name)?;
        let schema = PayloadFieldSchema::FieldType(PayloadSchemaType::Keyword);
        let field_name = convert::parse_key(&call.field_name)?;
        let index = CreateIndex { field_name, field_schema: Some(schema) };
        let index = FieldIndexOperations::CreateIndex(index);
        let _guard = shard.changing.lock().unwrap();
        let result = shard.engine.update(UpdateOperation::FieldIndexOperation(index));
        render_update(result, call.wait)
    }

    pub(super) fn upsert(
        &self,
        call: message::UpsertPoints,
    ) -> Result<message::PointsOperationResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let point = |point| convert::convert_point(point, &shard.dense);
        let points: Vec<_> = call.points.into_iter().map(point).collect::<Result<_, _>>()?;
        let points = PointInsertOperations::PointsList(points);
        let operation = match call.update_filter {
            None => PointOperations::UpsertPoints(points),
            Some(filter) => PointOperations::UpsertPointsConditional(ConditionalInsertOperation {
                points_op: points,
                condition: convert::convert_filter(filter)?,
                update_mode: None,
            }),
        };
        render_update(shard.apply_change(operation), call.wait)
    }

    pub(super) fn delete_points(
        &self,
        call: message::DeletePoints,
    ) -> Result<message::PointsOperationResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let selected = call.points.and_then(|points| points.points_selector_one_of);
        let delete = match selected {
            Some(PointsSelectorOneOf::Filter(filter)) => {
                PointOperations::DeletePointsByFilter(convert::convert_filter(filter)?)
            }
            Some(PointsSelectorOneOf::Points(list)) => {
                let ids =
                    list.ids.into_iter().map(convert::convert_id).collect::<Result<_, _>>()?;
                PointOperations::DeletePoints { ids }
            }
            None => return Err(Status::invalid_argument("No points are selected")),
        };
        render_update(shard.apply_change(delete), call.wait)
    }

    pub(super) fn get_points(
        &self,
        call: message::GetPoints,
    ) -> Result<message::GetResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let ids: Vec<_> =
            call.ids.into_iter().map(convert::convert_id).collect::<Result<_, _>>()?;
        let (payload, none) =
            (Some(WithPayloadInterface::Bool(true)), Some(WithVector::Bool(false)));
        let records = shard.engine.retrieve(&ids, payload, none).map_err(internal_status)?;
        let result = records.into_iter().map(convert::convert_record).collect();
        Ok(message::GetResponse { result, ..Default::default() })
    }

    pub(super) fn scroll(
        &self,
        call: message::ScrollPoints,
    ) -> Result<message::ScrollResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let request = ScrollRequest {
            offset: call.offset.map(convert::convert_id).transpose()?,
            limit: call.limit.map(|limit| usize::try_from(limit).unwrap()),
            filter: call.filter.map(convert::convert_filter).transpose()?,
            with_payload: Some(WithPayloadInterface::Bool(true)),
            with_vector: WithVector::Bool(false),
            order_by: None,
        };
        let (records, _) = shard.engine.scroll(request).map_err(internal_status)?;
        let result = records.into_iter().map(convert::convert_record).collect();
        Ok(message::ScrollResponse { result, ..Default::default() })
    }

    pub(super) fn count(
        &self,
        call: message::CountPoints,
    ) -> Result<message::CountResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let filter = call.filter.map(convert::convert_filter).transpose()?;
        let request = CountRequest { filter, exact: call.exact.unwrap_or(true) };
        let count = shard.engine.count(request).map_err(internal_status)? as u64;
        let result = Some(message::CountResult { count });
        Ok(message::CountResponse { result, ..Default::default() })
    }

    pub(super) fn query(
        &self,
        call: message::QueryPoints,
    ) -> Result<message::QueryResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let request = SearchRequest {
            query: convert::convert_query(call.query, call.using)?,
            filter: call.filter.map(convert::convert_filter).transpose()?,
            params: call.params.map(convert::convert_params),
            limit: usize::try_from(call.limit.unwrap_or(10)).unwrap(),
            offset: 0,
            with_payload: Some(WithPayloadInterface::Bool(convert::wants_payload(
                call.with_payload,
            ))),
            with_vector: Some(WithVector::Bool(false)),
            score_threshold: None,
        };
        let found = shard.engine.search(request).map_err(internal_status)?;
        let result = found.into_iter().map(convert::convert_hit).collect();
        Ok(message::QueryResponse { result, ..Default::default() })
    }
}

/// Both services have a call of this name.
pub(super) trait DeleteCall<A, T> {
    fn delete(&self, call: A) -> Result<T, Status>;
}

/// And of this one.
pub(super) trait GetCall<A, T> {
    fn get(&self, call: A) -> Result<T, Status>;
}

impl DeleteCall<message::DeletePoints, message::PointsOperationResponse> for FakeCollections {
    fn delete(
        &self,
        call: message::DeletePoints,
    ) -> Result<message::PointsOperationResponse, Status> {
        self.delete_points(call)
    }
}

impl DeleteCall<message::DeleteCollection, message::CollectionOperationResponse>
    for FakeCollections
{
    fn delete(
        &self,
        call: message::DeleteCollection,
    ) -> Result<message::CollectionOperationResponse, Status> {
        let result = self.delete_collection(&call.collection_name);
        Ok(message::CollectionOperationResponse { result, time: 0.0 })
    }
}

impl GetCall<message::GetPoints, message::GetResponse> for FakeCollections {
    fn get(&self, call: message::GetPoints) -> Result<message::GetResponse, Status> {
        self.get_points(call)
    }
}

impl GetCall<message::GetCollectionInfoRequest, message::GetCollectionInfoResponse>
    for FakeCollections
{
    fn get(
        &self,
        call: message::GetCollectionInfoRequest,
    ) -> Result<message::GetCollectionInfoResponse, Status> {
        let shard = self.get_shard(&call.collection_name)?;
        let m = Some(shard.links.load(Ordering::SeqCst));
        let hnsw_config = Some(message::HnswConfigDiff { m, ..Default::default() });
        let config = Some(message::CollectionConfig { hnsw_config, ..Default::default() });
        let all = CountRequest { filter: None, exact: true };
        let points_count = Some(shard.engine.count(all).map_err(internal_status)? as u64);
        let info = message::CollectionInfo { config, points_count, ..Default::default() };
        Ok(message::GetCollectionInfoResponse { result: Some(info), time: 0.0 })
    }
}

fn create_collection(
    call: message::CreateCollection,
    nodes: u32,
) -> Result<FakeCollection, Status> {
    let log = WalOptions { segment_capacity: 1 << 20, ..WalOptions::default() };
    let mut config = EdgeConfigBuilder::new().wal_options(log);
    let mut dense = BTreeMap::new();
    for (name, params) in convert::read_dense_params(call.vectors_config)? {
        let size = usize::try_from(params.size).unwrap();
        if params.distance() != message::Distance::Cosine {
            return Err(Status::unimplemented("vectors are compared by cosine"));
        }
        if params.datatype() != message::Datatype::Float16 {
            return Err(Status::unimplemented("vectors are of half precision"));
        }
        let params = EdgeVectorParamsBuilder::new(size, Distance::Cosine)
            .datatype(VectorStorageDatatype::Float16)
            .build();
        config = config.vector(name.clone(), params);
        dense.insert(name, size);
    }
    for (name, params) in call.sparse_vectors_config.unwrap_or_default().map {
        let modifier = match params.modifier() {
            message::Modifier::Idf => Modifier::Idf,
            message::Modifier::None => Modifier::None,
        };
        let params = EdgeSparseVectorParamsBuilder::new().modifier(modifier).build();
        config = config.sparse_vector(name, params);
    }
    let folder = TempDir::new()?;
    let engine = EdgeShard::load(folder.path(), Some(config.build())).map_err(internal_status)?;
    let links = call.hnsw_config.and_then(|links| links.m).unwrap_or(16).into();
    let copies = call.replication_factor.unwrap_or(1).min(nodes);
    let shards = call.shard_number.unwrap_or(1);
    let (whole, changing) = (copies.into(), Mutex::default());
    Ok(FakeCollection {
        engine,
        changing,
        dense,
        links,
        reported_copies: copies,
        complete_copies: whole,
        shards,
        _folder: folder,
    })
}

/// Renders a change as the server does: without `wait` it is only acknowledged.
fn render_update(
    result: OperationResult<()>,
    wait: Option<bool>,
) -> Result<message::PointsOperationResponse, Status> {
    result.map_err(internal_status)?;
    let status = match wait {
        Some(true) => UpdateStatus::Completed,
        Some(false) | None => UpdateStatus::Acknowledged,
    };
    let result = Some(message::UpdateResult { operation_id: None, status: status.into() });
    Ok(message::PointsOperationResponse { result, ..Default::default() })
}

fn internal_status(error: qdrant_edge::OperationError) -> Status {
    Status::internal(error.to_string())
}
