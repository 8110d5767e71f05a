//! Collections of a server that belong to one test and vanish with it.
//!
//! The server is the fake one that all tests of a process share, or the real one that `QDRANT_TEST_URL`
//! names (one address or more, as in `QDRANT_URL`), with `QDRANT_TEST_API_KEY` and
//! `QDRANT_TEST_REPLICATION` where they are set.

use std::{sync::LazyLock, thread, time::Duration};

use codeinfo_core::{Host, Secret, task::Tasks};
use codeinfo_store::{OnMismatch, ProcessIdentity, QdrantEngine, StoreError, StoreMode};
use qdrant_client::qdrant::{
    NamedVectors, PointStruct, RetrievedPoint, ScrollPoints, UpsertPoints, Vectors,
    point_id::PointIdOptions, vectors::VectorsOptions, with_payload_selector::SelectorOptions,
};
use serde_json::Value;
use uuid::Uuid;

use super::{FakeQdrant, convert};
use crate::store::{DIMENSIONS, EngineStorage, MODEL, Store};

static SHARED: LazyLock<FakeQdrant> = LazyLock::new(FakeQdrant::start);

/// Collections with names that no other test uses.
pub struct QdrantFixture {
    pub settings: codeinfo_store::QdrantSettings,
}

impl QdrantFixture {
    /// Returns one of the server that the tests run on.
    pub fn new() -> Self {
        match read_variable("QDRANT_TEST_URL") {
            None => Self::for_server(&SHARED),
            Some(urls) => {
                let urls = urls.split(',').map(|url| url.trim().to_owned()).collect();
                let mut fixture = Self::with_urls(urls);
                fixture.settings.api_key = read_variable("QDRANT_TEST_API_KEY").map(Secret::new);
                if let Some(copies) = read_variable("QDRANT_TEST_REPLICATION") {
                    fixture.settings.replication = copies.parse().unwrap();
                }
                fixture
            }
        }
    }

    /// Returns a fixture of this server.
    pub fn for_server(fake_qdrant: &FakeQdrant) -> Self {
        Self::with_urls(fake_qdrant.urls())
    }

    fn with_urls(urls: Vec<String>) -> Self {
        let settings = codeinfo_store::QdrantSettings {
            urls,
            api_key: None,
            collection: format!("test-{}", Uuid::new_v4().simple()),
            // Rarity of terms is counted in each shard.
            shared_paths: true,
            shards: Some(1),
            replication: 1,
            write_consistency: 1,
            timeout: Duration::from_secs(20),
            retry: Duration::from_secs(10),
            lease: Duration::from_mins(1),
            hnsw_min_chunks: 200_000,
        };
        Self { settings }
    }

    /// Returns the server's maximum number of links of each chunk in the graph (`m` of HNSW).
    pub async fn read_max_links(&self) -> u64 {
        let client = connect_client(&self.settings).unwrap();
        let chunks = self.find_collection(&client, "chunks").await;
        let info = client.collection_info(chunks).await.unwrap().result.unwrap();
        info.config.unwrap().hnsw_config.unwrap().m.unwrap()
    }

    /// Returns the name of one of the collections, by its content.
    async fn find_collection(&self, client: &qdrant_client::Qdrant, kind: &str) -> String {
        let names = client.list_collections().await.unwrap().collections.into_iter();
        let start = format!("{}_{kind}_", self.settings.collection);
        names.map(|collection| collection.name).find(|name| name.starts_with(&start)).unwrap()
    }

    /// Ids and payloads of one kind, as the server has them.
    pub async fn list_points(&self, kind: &str) -> Vec<(String, Value)> {
        let client = connect_client(&self.settings).unwrap();
        let collection_name = self.find_collection(&client, kind).await;
        let with_payload = Some(SelectorOptions::Enable(true).into());
        let request = ScrollPoints { collection_name, with_payload, ..Default::default() };
        let point = |point: RetrievedPoint| {
            let Some(PointIdOptions::Uuid(id)) = point.id.unwrap().point_id_options else {
                panic!("an id that is no UUID");
            };
            let mut payload = Value::from(convert::to_json_object(point.payload));
            payload.sort_all_objects();
            (id, payload)
        };
        client.scroll(request).await.unwrap().result.into_iter().map(point).collect()
    }

    /// Writes a point without vectors, as no process of this version would.
    pub async fn write_point(&self, kind: &str, id: Uuid, payload: &Value) {
        let client = connect_client(&self.settings).unwrap();
        let collection_name = self.find_collection(&client, kind).await;
        let payload = convert::to_message_fields(payload.as_object().unwrap().clone());
        let vectors = VectorsOptions::Vectors(NamedVectors::default());
        let vectors = Vectors { vectors_options: Some(vectors) };
        let point =
            PointStruct { id: Some(id.to_string().into()), payload, vectors: Some(vectors) };
        let request = UpsertPoints {
            collection_name,
            wait: Some(true),
            points: vec![point],
            ..Default::default()
        };
        client.upsert_points(request).await.unwrap();
    }

    /// Opens the store as one of several processes.
    pub async fn open_as_owner(&self, owner: &str, tasks: &Tasks) -> Store {
        self.open_with_model(MODEL, DIMENSIONS, owner, tasks).await.unwrap()
    }

    pub async fn open_with_model(
        &self,
        model: &str,
        dimensions: usize,
        owner: &str,
        tasks: &Tasks,
    ) -> Result<Store, StoreError> {
        let engine = self.open_engine(model, dimensions, owner, tasks).await?;
        Ok(Store::new(engine, StoreMode::Flat, tasks.clone()))
    }

    pub async fn open_engine(
        &self,
        model: &str,
        dimensions: usize,
        owner: &str,
        tasks: &Tasks,
    ) -> Result<QdrantEngine, StoreError> {
        let (identity, refuse) = (make_identity(owner), OnMismatch::Refuse);
        QdrantEngine::open(&self.settings, model, dimensions, refuse, identity, tasks.clone()).await
    }
}

impl EngineStorage for QdrantFixture {
    async fn create() -> Self {
        Self::new()
    }

    async fn open_for_model(
        &self,
        model: &str,
        on_mismatch: OnMismatch,
    ) -> Result<Store, StoreError> {
        let identity = make_identity("one");
        let settings = &self.settings;
        let tasks = Tasks::default();
        let opening =
            QdrantEngine::open(settings, model, DIMENSIONS, on_mismatch, identity, tasks.clone());
        Ok(Store::new(opening.await?, StoreMode::Flat, tasks))
    }
}

/// Returns a process by its name, which is the only one of its host.
fn make_identity(owner: &str) -> ProcessIdentity {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_DNS, owner.as_bytes());
    let host = Host { id, name: format!("host-{owner}") };
    ProcessIdentity { owner: owner.to_owned(), name: format!("process {owner}"), host }
}

impl Drop for QdrantFixture {
    fn drop(&mut self) {
        let settings = self.settings.clone();
        // A separate runtime: this may be dropped within one.
        let cleaning = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(delete_collections(&settings))
        });
        let cleaned = cleaning.join();
        if !thread::panicking() {
            // The fake server may have closed its nodes for good.
            drop(cleaned.unwrap());
        }
    }
}

fn connect_client(
    settings: &codeinfo_store::QdrantSettings,
) -> Result<qdrant_client::Qdrant, qdrant_client::QdrantError> {
    let mut client = qdrant_client::Qdrant::from_url(&settings.urls[0]).skip_compatibility_check();
    client.api_key = settings.api_key.as_ref().map(|key| key.expose().to_owned());
    client.build()
}

async fn delete_collections(
    settings: &codeinfo_store::QdrantSettings,
) -> Result<(), qdrant_client::QdrantError> {
    let client = connect_client(settings)?;
    for collection in client.list_collections().await?.collections {
        if collection.name.starts_with(&settings.collection) {
            client.delete_collection(collection.name).await?;
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "tests may be pointed at a real server")]
fn read_variable(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.trim().is_empty())
}
