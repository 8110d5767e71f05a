//! One of several processes that share a Qdrant server.

use std::{path::Path, sync::Arc, time::Duration};

use codeinfo_core::{LastRun, Root, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunStatus};
use codeinfo_store::{Store, StoreMode};
use uuid::Uuid;

use super::fixture::QdrantFixture;
use crate::ingest::WriteFaults;

/// Far more than any wait here takes.
const LIMIT: Duration = Duration::from_mins(3);

/// One process of several, with its own store and ingest.
pub struct IngestProcess {
    pub store: Store,
    pub ingest: Ingest,
}

impl IngestProcess {
    pub async fn new(fixture: &QdrantFixture, owner: &str) -> Self {
        Self::with_faults(fixture, owner, &Arc::default()).await
    }

    /// Returns a process whose writes have these faults.
    pub async fn with_faults(
        fixture: &QdrantFixture,
        owner: &str,
        faults: &Arc<WriteFaults>,
    ) -> Self {
        let tasks = Tasks::default();
        let embedder = BuiltinEmbedder::load(tasks.clone()).unwrap();
        let (id, dimensions) = (embedder.model().id(), embedder.dimensions().unwrap());
        let engine = fixture.open_engine(&id, dimensions, owner, &tasks).await.unwrap();
        let engine = faults.wrap_engine(Arc::new(engine), None);
        let store = Store::with_engine(engine, StoreMode::Shared, tasks.clone());
        let limits =
            codeinfo_ingest::IngestSettings { max_queued_runs: 8, ..crate::ingest::LIMITS };
        let ingest = Ingest::new(store.clone(), Arc::new(embedder), limits, tasks);
        Self { store, ingest }
    }

    pub async fn ingest(&self, path: &Path) -> RunStatus {
        let request = IngestRequest { path: path.to_owned(), ..IngestRequest::default() };
        let run = self.ingest.start_run(request).await.unwrap();
        let mut status = self.ingest.watch_run(run).unwrap();
        status.wait_for(|status| status.state.is_final()).await.unwrap().clone()
    }

    /// Returns the ids of all chunks, which depend on their path and version.
    pub async fn list_chunk_ids(&self) -> Vec<Uuid> {
        let all = self.store.chunks(None, None, 10_000);
        all.await.unwrap().into_iter().map(|chunk| chunk.id).collect()
    }

    pub async fn list_roots(&self) -> Vec<Root> {
        self.store.roots().await.unwrap()
    }

    /// Waits until the last run of the only repository has a state.
    pub async fn wait_for_last_run(&self, is_reached: impl Fn(&LastRun) -> bool) {
        let reaching = async {
            while !self.list_roots().await.first().is_some_and(|root| is_reached(&root.last_run)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LIMIT, reaching).await.unwrap();
    }
}
