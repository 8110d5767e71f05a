//! Makes the server ready: agrees with other processes on the model, creates what is missing, builds the vector index.

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Instant,
};

use qdrant_client::qdrant::{
    CollectionExistsRequest, CreateCollection, CreateFieldIndexCollection, Datatype,
    DeleteCollection, Distance, FieldType, GetCollectionInfoRequest, HnswConfigDiff,
    KeywordIndexParams, ListCollectionsRequest, Modifier, PayloadIndexParams, QuantizationConfig,
    QuantizationType, ScalarQuantization, SparseIndexConfig, SparseVectorConfig,
    SparseVectorParams, UpdateCollection, VectorParams, VectorParamsMap, VectorsConfig,
    payload_index_params::IndexParams, quantization_config::Quantization, vectors_config,
};
use tokio::sync::Mutex;
use tracing::{info, warn};
use uuid::Uuid;

use super::{
    QdrantNode, QdrantServer,
    convert::{DENSE, ROOT, TERMS},
    error::CallError,
    names::{self, CollectionKind, CollectionNames, ModelRecord},
};
use crate::OnMismatch;

const MODEL_RECORD_ID: Uuid = Uuid::from_u128(0x6d6f_6465_6c00_4000_8000_0000_0000_0001);
/// Maximum number of changes by other processes while this one prepares the server.
const MAX_ROUNDS: usize = 5;

// The approximate index is a graph that a search follows (HNSW). Malkov and Yashunin, "Efficient and robust approximate
// nearest neighbor search using Hierarchical Navigable Small World graphs", 2018, defines `m` and `ef`.
//
// Below `HNSW_MIN_CHUNKS` the server compares all vectors and so finds what the embedded engine finds. With the index,
// each copy of a shard has its own, and which copy answers changes: `benches/README.md` has the figures.

/// Maximum number of edges of a point (twice as many in the lowest layer).
const MAX_EDGES: usize = 16;
/// Number of edges without a graph: a search reads every point, one byte for each number.
const NO_EDGES: usize = 0;
/// Number of candidates of a search. Of the nearest hundred among 99,000, the graph led to 91 in 100
/// with a hundred of them, and to 97 with this many, for about one more millisecond.
pub(super) const SEARCH_CANDIDATES: usize = 512;
/// Factor by which more points than requested are found by rounded vectors and compared by whole
/// ones. On the development queries this changes no result.
pub(super) const OVERSAMPLING: f64 = 1.5;

#[derive(Default)]
pub(super) struct ServerReadiness {
    names: RwLock<Option<Arc<CollectionNames>>>,
    /// The generation that this process works with until it ends.
    generation: OnceLock<String>,
    /// Held while the server is being prepared; the last failure, and the start of that try.
    trying: Mutex<Option<(Instant, CallError)>>,
}

impl ServerReadiness {
    pub(super) fn forget_names(&self) {
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn current_names(&self) -> Option<Arc<CollectionNames>> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_names(&self, names: CollectionNames) -> Result<Arc<CollectionNames>, CallError> {
        if *self.generation.get_or_init(|| names.generation.clone()) != names.generation {
            let reason = "another process emptied it to embed everything again; restart this one";
            return Err(CallError::new_refusal(reason));
        }
        let names = Arc::new(names);
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&names));
        Ok(names)
    }
}

/// Frequency with which a payload index is used.
#[derive(Clone, Copy)]
pub(super) enum IndexUse {
    /// With each search.
    Often,
    Seldom,
}

impl QdrantServer {
    /// Returns the names of the collections, once the server is ready. Callers that wait for a try share its outcome.
    pub(super) async fn names(&self) -> Result<Arc<CollectionNames>, CallError> {
        if let Some(names) = self.readiness.current_names() {
            return Ok(names);
        }
        let asked = Instant::now();
        let mut last = self.readiness.trying.lock().await;
        if let Some(names) = self.readiness.current_names() {
            return Ok(names);
        }
        if let Some((_, error)) = last.as_ref().filter(|(began, _)| asked < *began) {
            return Err(error.clone());
        }
        let began = Instant::now();
        let ready = match Box::pin(self.prepare()).await {
            Ok(names) => self.readiness.set_names(names),
            Err(error) => Err(error),
        };
        *last = ready.as_ref().err().map(|error| (began, error.clone()));
        ready
    }

    async fn prepare(&self) -> Result<CollectionNames, CallError> {
        for _ in 0..MAX_ROUNDS {
            let record = self.agree_on_record().await?;
            let names = CollectionNames::new(&self.settings.collection, &record);
            if !record.made {
                for collection in CollectionKind::ALL {
                    self.create_collection(collection, &names).await?;
                }
            } else if let Some(lacking) = self.find_missing_collection(&names).await? {
                self.replace_record(&record, &lacking).await?;
                continue;
            }
            // A process that emptied the store before this did not see our collections.
            if self.read_record::<ModelRecord>(MODEL_RECORD_ID).await?.as_ref() != Some(&record) {
                continue;
            }
            if !record.made {
                self.swap_record(MODEL_RECORD_ID, Some(&record.token), &record.with_collections())
                    .await?;
            }
            if self.may_discard() {
                self.delete_leftovers().await?;
            }
            return Ok(names);
        }
        Err(CallError::new_refusal("other processes keep changing its model"))
    }

    /// Returns whether another model's collections may be deleted: once, as this process prepares the server. Later
    /// ones belong to a process started after it.
    fn may_discard(&self) -> bool {
        self.on_mismatch == OnMismatch::Discard && self.readiness.generation.get().is_none()
    }

    async fn agree_on_record(&self) -> Result<ModelRecord, CallError> {
        let current: Option<ModelRecord> = self.read_record(MODEL_RECORD_ID).await?;
        if let Some(record) = &current {
            match self.check_record(record) {
                Ok(()) => return Ok(record.clone()),
                Err(error) if !self.may_discard() => return Err(error),
                Err(_) => info!(model = record.model, "discarding what was indexed otherwise"),
            }
        }
        let expected = current.as_ref().map(|record| record.token.as_str());
        match self.swap_record(MODEL_RECORD_ID, expected, &self.new_record()).await? {
            Some(record) => self.check_record(&record).map(|()| record),
            None => {
                Err(CallError::Troubled { reason: "a record was not kept".to_owned(), lacks: None })
            }
        }
    }

    fn new_record(&self) -> ModelRecord {
        ModelRecord::new(&self.model, self.host().is_some())
    }

    /// Refuses a generation of another model, or one with another meaning of paths.
    fn check_record(&self, record: &ModelRecord) -> Result<(), CallError> {
        if !record.matches_model(&self.model) {
            let (stored, wanted) = (record.model.clone(), self.model.id.clone());
            return Err(CallError::Mismatch { stored, wanted });
        }
        if record.has_hosts != self.host().is_some() {
            return Err(CallError::OtherPaths { is_shared: !record.has_hosts });
        }
        Ok(())
    }

    async fn find_missing_collection(
        &self,
        names: &CollectionNames,
    ) -> Result<Option<String>, CallError> {
        let present = self.list_collections().await?;
        let wanted = CollectionKind::ALL.map(|collection| names.name(collection));
        Ok(wanted.into_iter().find(|name| !present.contains(name)))
    }

    async fn replace_record(&self, record: &ModelRecord, lacking: &str) -> Result<(), CallError> {
        if !self.may_discard() {
            return Err(CallError::new_refusal(format!(
                "its collection `{lacking}` is gone; start with `--reembed` to embed every \
                 repository again"
            )));
        }
        info!(collection = lacking, "beginning again, because a collection is gone");
        self.swap_record(MODEL_RECORD_ID, Some(&record.token), &self.new_record()).await.map(drop)
    }

    /// Deletes collections of other generations. The record is read after the list, which thus has no later generation.
    async fn delete_leftovers(&self) -> Result<(), CallError> {
        let present = self.list_collections().await?;
        let Some(record) = self.read_record::<ModelRecord>(MODEL_RECORD_ID).await? else {
            return Ok(());
        };
        let prefix = &self.settings.collection;
        for name in present {
            if names::is_leftover(&name, prefix, &record.generation) {
                let request = DeleteCollection { collection_name: name, timeout: None };
                let delete = |node: QdrantNode| async move {
                    node.collections_client().delete(request).await
                };
                self.link.try_once(delete).await?;
            }
        }
        Ok(())
    }

    async fn list_collections(&self) -> Result<Vec<String>, CallError> {
        let list = |node: QdrantNode| async move {
            node.collections_client().list(ListCollectionsRequest {}).await
        };
        let collections = self.link.try_once(list).await?.collections;
        Ok(collections.into_iter().map(|collection| collection.name).collect())
    }

    async fn create_collection(
        &self,
        collection: CollectionKind,
        names: &CollectionNames,
    ) -> Result<(), CallError> {
        let name = names.name(collection);
        let plain = self.collection_params(name.clone());
        let request = match collection {
            CollectionKind::Files | CollectionKind::Roots => plain,
            CollectionKind::Chunks => CreateCollection {
                vectors_config: Some(self.dense_params()),
                sparse_vectors_config: Some(sparse_params()),
                hnsw_config: Some(with_edges(NO_EDGES)),
                shard_number: self.settings.shards,
                ..plain
            },
        };
        self.create_if_missing(request).await?;
        // Processes of former versions filter by path.
        for (field, how_often) in [(ROOT, IndexUse::Often), ("path", IndexUse::Seldom)] {
            self.create_keyword_index(name.clone(), field, how_often).await?;
        }
        Ok(())
    }

    #[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
    pub(super) fn collection_params(&self, collection_name: String) -> CreateCollection {
        CreateCollection {
            collection_name,
            on_disk_payload: Some(true),
            replication_factor: Some(self.settings.replication),
            write_consistency_factor: Some(self.settings.write_consistency),
            ..Default::default()
        }
    }

    /// Creates a collection unless it exists, even if another process is faster.
    pub(super) async fn create_if_missing(
        &self,
        request: CreateCollection,
    ) -> Result<(), CallError> {
        let name = request.collection_name.clone();
        if self.has_collection(&name).await? {
            return Ok(());
        }
        let create =
            |node: QdrantNode| async move { node.collections_client().create(request).await };
        match self.link.try_once(create).await {
            Ok(_) => Ok(()),
            Err(_) if self.has_collection(&name).await? => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn has_collection(&self, name: &str) -> Result<bool, CallError> {
        let request = CollectionExistsRequest { collection_name: name.to_owned() };
        let ask = |node: QdrantNode| async move {
            node.collections_client().collection_exists(request).await
        };
        Ok(self.link.try_once(ask).await?.result.is_some_and(|result| result.exists))
    }

    pub(super) async fn create_keyword_index(
        &self,
        collection_name: String,
        field: &str,
        how_often: IndexUse,
    ) -> Result<(), CallError> {
        let request = CreateFieldIndexCollection {
            collection_name,
            wait: Some(true),
            field_name: field.to_owned(),
            field_type: Some(FieldType::Keyword.into()),
            field_index_params: Some(keyword_index(how_often)),
            ..Default::default()
        };
        let create = |node: QdrantNode| async move {
            node.points_client().create_field_index(request).await
        };
        self.link.try_once(create).await.map(drop)
    }

    /// Makes the server build the index once there are many chunks. Can be repeated, as the end of the next run does.
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
        let request = GetCollectionInfoRequest { collection_name: collection_name.clone() };
        let look = |node: QdrantNode| async move { node.collections_client().get(request).await };
        let info = self.link.try_once(look).await?.result.unwrap_or_default();
        let m = info.config.and_then(|config| config.hnsw_config).and_then(|hnsw| hnsw.m);
        let are_many = info.points_count.unwrap_or_default() >= self.settings.hnsw_min_chunks;
        Ok(Some(collection_name).filter(|_| are_many && m == Some(NO_EDGES as u64)))
    }

    async fn set_hnsw(&self, collection: &str) -> Result<(), CallError> {
        let request = UpdateCollection {
            collection_name: collection.to_owned(),
            hnsw_config: Some(with_edges(MAX_EDGES)),
            ..Default::default()
        };
        let update =
            |node: QdrantNode| async move { node.collections_client().update(request).await };
        self.link.try_once(update).await.map(drop)
    }

    /// Returns the parameters of dense vectors: whole vectors stay on disk, one byte for each number in memory; searches
    /// use those bytes and compare the best with whole vectors.
    #[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
    fn dense_params(&self) -> VectorsConfig {
        let scalar = ScalarQuantization {
            r#type: QuantizationType::Int8.into(),
            always_ram: Some(true),
            ..Default::default()
        };
        let params = VectorParams {
            size: self.model.dimensions as u64,
            distance: Distance::Cosine.into(),
            on_disk: Some(true),
            // As the embedded engine does: whole vectors only order the best.
            datatype: Some(Datatype::Float16.into()),
            quantization_config: Some(QuantizationConfig {
                quantization: Some(Quantization::Scalar(scalar)),
            }),
            ..Default::default()
        };
        let map = VectorParamsMap { map: [(DENSE.to_owned(), params)].into() };
        VectorsConfig { config: Some(vectors_config::Config::ParamsMap(map)) }
    }
}

#[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
fn sparse_params() -> SparseVectorConfig {
    let params = SparseVectorParams {
        index: Some(SparseIndexConfig { on_disk: Some(true), ..Default::default() }),
        modifier: Some(Modifier::Idf.into()),
    };
    SparseVectorConfig { map: [(TERMS.to_owned(), params)].into() }
}

/// Returns the parameters of a payload index, without graph edges: searches with a filter read all matching points.
#[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
fn keyword_index(how_often: IndexUse) -> PayloadIndexParams {
    let is_often = matches!(how_often, IndexUse::Often);
    let params = KeywordIndexParams {
        is_tenant: is_often.then_some(true),
        on_disk: Some(!is_often),
        enable_hnsw: Some(false),
        ..Default::default()
    };
    PayloadIndexParams { index_params: Some(IndexParams::KeywordIndexParams(params)) }
}

fn with_edges(m: usize) -> HnswConfigDiff {
    HnswConfigDiff { m: Some(m as u64), ..Default::default() }
}
