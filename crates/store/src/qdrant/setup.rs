//! Makes the server ready: agrees with other processes on the model, and creates what is missing.

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Instant,
};

use qdrant_client::qdrant::{
    CollectionExistsRequest, CreateCollection, CreateFieldIndexCollection, Datatype,
    DeleteCollection, Distance, FieldType, KeywordIndexParams, ListCollectionsRequest, Modifier,
    PayloadIndexParams, QuantizationConfig, QuantizationType, ScalarQuantization,
    SparseIndexConfig, SparseVectorConfig, SparseVectorParams, VectorParams, VectorParamsMap,
    VectorsConfig, payload_index_params::IndexParams, quantization_config::Quantization,
    vectors_config,
};
use tokio::sync::Mutex;
use tracing::info;
use uuid::Uuid;

use super::{
    super::OnMismatch,
    Server,
    convert::{DENSE, ROOT, TERMS},
    error::CallError,
    graph, hnsw,
    names::{self, Collection, Names, Record},
};

/// The id of the record that names the model.
const MODEL: Uuid = Uuid::from_u128(0x6d6f_6465_6c00_4000_8000_0000_0000_0001);
/// How often another process may change the record while this one gets ready.
const MAX_ROUNDS: usize = 5;

/// Whether the server was made ready by this process.
#[derive(Default)]
pub(super) struct Readiness {
    names: RwLock<Option<Arc<Names>>>,
    /// The generation that this process works with until it ends.
    generation: OnceLock<String>,
    /// Held while the server is being made ready; the last failure, and when that try began.
    trying: Mutex<Option<(Instant, CallError)>>,
}

impl Readiness {
    pub(super) fn forget(&self) {
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn names(&self) -> Option<Arc<Names>> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn found(&self, names: Names) -> Result<Arc<Names>, CallError> {
        if *self.generation.get_or_init(|| names.generation.clone()) != names.generation {
            let reason = "another process emptied it to embed everything again; restart this one";
            return Err(CallError::refused(reason));
        }
        let names = Arc::new(names);
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&names));
        Ok(names)
    }
}

/// How often an index of payloads is used.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// With each search.
    Often,
    /// While indexing.
    Seldom,
}

impl Server {
    /// Returns the names of the collections, once the server is ready. Callers that come while another
    /// one tries share what that comes to.
    pub(super) async fn names(&self) -> Result<Arc<Names>, CallError> {
        if let Some(names) = self.readiness.names() {
            return Ok(names);
        }
        let asked = Instant::now();
        let mut last = self.readiness.trying.lock().await;
        if let Some(names) = self.readiness.names() {
            return Ok(names);
        }
        if let Some((_, error)) = last.as_ref().filter(|(began, _)| asked < *began) {
            return Err(error.clone());
        }
        let began = Instant::now();
        let ready = match self.get_ready().await {
            Ok(names) => self.readiness.found(names),
            Err(error) => Err(error),
        };
        *last = ready.as_ref().err().map(|error| (began, error.clone()));
        ready
    }

    async fn get_ready(&self) -> Result<Names, CallError> {
        for _ in 0..MAX_ROUNDS {
            let record = self.agreed().await?;
            let names = Names::new(&self.settings.collection, &record);
            if !record.made {
                for collection in Collection::ALL {
                    self.make_collection(collection, &names).await?;
                }
            } else if let Some(lacking) = self.lacking(&names).await? {
                self.begin_again(&record, &lacking).await?;
                continue;
            }
            // A process that emptied the store before this saw no collections of ours to delete.
            if self.record::<Record>(MODEL).await?.as_ref() != Some(&record) {
                continue;
            }
            if !record.made {
                self.swap(MODEL, Some(&record.token), &record.made()).await?;
            }
            if self.may_discard() {
                self.delete_leftovers().await?;
            }
            return Ok(names);
        }
        Err(CallError::refused("other processes keep changing its model"))
    }

    /// Whether another model's collections may be deleted: once, when this process gets ready. What is
    /// found later is of a process that was started after it.
    fn may_discard(&self) -> bool {
        self.on_mismatch == OnMismatch::Discard && self.readiness.generation.get().is_none()
    }

    /// Returns a record of our model: the one there is, or a new one.
    async fn agreed(&self) -> Result<Record, CallError> {
        let current: Option<Record> = self.record(MODEL).await?;
        if let Some(record) = &current {
            match self.check(record) {
                Ok(()) => return Ok(record.clone()),
                Err(error) if !self.may_discard() => return Err(error),
                Err(_) => info!(model = record.model, "discarding what was indexed otherwise"),
            }
        }
        let expected = current.as_ref().map(|record| record.token.as_str());
        match self.swap(MODEL, expected, &self.new_record()).await? {
            Some(record) => self.check(&record).map(|()| record),
            None => {
                Err(CallError::Troubled { reason: "a record was not kept".to_owned(), lacks: None })
            }
        }
    }

    /// Begins a generation.
    fn new_record(&self) -> Record {
        Record::new(&self.model, self.host().is_some())
    }

    /// Refuses a generation of another model, or of hosts that are not taken as here.
    fn check(&self, record: &Record) -> Result<(), CallError> {
        if !record.is_of(&self.model) {
            let (stored, wanted) = (record.model.clone(), self.model.id.clone());
            return Err(CallError::Mismatch { stored, wanted });
        }
        if record.has_hosts != self.host().is_some() {
            return Err(CallError::OtherPaths { is_shared: !record.has_hosts });
        }
        Ok(())
    }

    /// Returns the name of a collection that was made and is gone.
    async fn lacking(&self, names: &Names) -> Result<Option<String>, CallError> {
        let present = self.collections().await?;
        let wanted = Collection::ALL.map(|collection| names.of(collection));
        Ok(wanted.into_iter().find(|name| !present.contains(name)))
    }

    async fn begin_again(&self, record: &Record, lacking: &str) -> Result<(), CallError> {
        if !self.may_discard() {
            return Err(CallError::refused(format!(
                "its collection `{lacking}` is gone; start with `--reembed` to embed every \
                 repository again"
            )));
        }
        info!(collection = lacking, "beginning again, because a collection is gone");
        self.swap(MODEL, Some(&record.token), &self.new_record()).await.map(drop)
    }

    /// Deletes what other models embedded. The record is read after the list: what a later generation
    /// makes is not in it.
    async fn delete_leftovers(&self) -> Result<(), CallError> {
        let present = self.collections().await?;
        let Some(record) = self.record::<Record>(MODEL).await? else { return Ok(()) };
        let prefix = &self.settings.collection;
        for name in present {
            if names::is_leftover(&name, prefix, &record.generation) {
                let request = DeleteCollection { collection_name: name, timeout: None };
                let delete = |node: super::Node| {
                    let request = request.clone();
                    async move { node.collections().delete(request).await }
                };
                self.link.once(delete).await?;
            }
        }
        Ok(())
    }

    async fn collections(&self) -> Result<Vec<String>, CallError> {
        let list = |node: super::Node| async move {
            node.collections().list(ListCollectionsRequest {}).await
        };
        let listed = self.link.once(list).await?.collections;
        Ok(listed.into_iter().map(|collection| collection.name).collect())
    }

    async fn make_collection(
        &self,
        collection: Collection,
        names: &Names,
    ) -> Result<(), CallError> {
        let name = names.of(collection);
        let plain = self.collection(name.clone());
        let request = match collection {
            Collection::Files | Collection::Roots => plain,
            Collection::Chunks => CreateCollection {
                vectors_config: Some(self.dense()),
                sparse_vectors_config: Some(sparse()),
                hnsw_config: Some(graph::with_m(hnsw::NO_GRAPH)),
                shard_number: self.settings.shards,
                ..plain
            },
        };
        self.make(request).await?;
        // Processes of former versions ask for paths.
        for (field, how_often) in [(ROOT, Use::Often), ("path", Use::Seldom)] {
            let params = keyword(how_often);
            self.index(name.clone(), field, params, FieldType::Keyword).await?;
        }
        Ok(())
    }

    /// Returns what all collections have in common.
    #[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
    pub(super) fn collection(&self, collection_name: String) -> CreateCollection {
        CreateCollection {
            collection_name,
            on_disk_payload: Some(true),
            replication_factor: Some(self.settings.replication),
            write_consistency_factor: Some(self.settings.write_consistency),
            ..Default::default()
        }
    }

    /// Creates a collection unless it is there, even where another process is faster.
    pub(super) async fn make(&self, request: CreateCollection) -> Result<(), CallError> {
        let name = &request.collection_name;
        if self.is_there(name).await? {
            return Ok(());
        }
        let create = |node: super::Node| {
            let request = request.clone();
            async move { node.collections().create(request).await }
        };
        match self.link.once(create).await {
            Ok(_) => Ok(()),
            Err(_) if self.is_there(name).await? => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn is_there(&self, name: &str) -> Result<bool, CallError> {
        let request = CollectionExistsRequest { collection_name: name.to_owned() };
        let ask = |node: super::Node| {
            let request = request.clone();
            async move { node.collections().collection_exists(request).await }
        };
        Ok(self.link.once(ask).await?.result.is_some_and(|result| result.exists))
    }

    pub(super) async fn index(
        &self,
        collection_name: String,
        field: &str,
        params: PayloadIndexParams,
        kind: FieldType,
    ) -> Result<(), CallError> {
        let request = CreateFieldIndexCollection {
            collection_name,
            wait: Some(true),
            field_name: field.to_owned(),
            field_type: Some(kind.into()),
            field_index_params: Some(params),
            ..Default::default()
        };
        let create = |node: super::Node| {
            let request = request.clone();
            async move { node.points().create_field_index(request).await }
        };
        self.link.once(create).await.map(drop)
    }

    /// Whole vectors stay on disk, one byte for each number in memory: searches go by those and compare
    /// the best of them whole.
    #[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
    fn dense(&self) -> VectorsConfig {
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
fn sparse() -> SparseVectorConfig {
    let params = SparseVectorParams {
        index: Some(SparseIndexConfig { on_disk: Some(true), ..Default::default() }),
        modifier: Some(Modifier::Idf.into()),
    };
    SparseVectorConfig { map: [(TERMS.to_owned(), params)].into() }
}

/// Searches under a filter look at all that the filter leaves, so that edges for it would be useless.
#[expect(deprecated, reason = "servers before 1.20 know no other words for it")]
pub(super) fn keyword(how_often: Use) -> PayloadIndexParams {
    let is_often = matches!(how_often, Use::Often);
    let params = KeywordIndexParams {
        is_tenant: is_often.then_some(true),
        on_disk: Some(!is_often),
        enable_hnsw: Some(false),
        ..Default::default()
    };
    PayloadIndexParams { index_params: Some(IndexParams::KeywordIndexParams(params)) }
}
