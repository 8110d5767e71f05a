//! A Qdrant server or cluster over gRPC: shared by many processes, each with a data folder of its own.
//!
//! The engine opens whether the server answers or not; the first successful call prepares the server. Changes are made
//! one after the other, by a task that continues when the caller is dropped. The server protects its own files: our
//! checksums and repair do not apply.

mod control;
mod convert;
mod error;
mod health;
mod lease;
mod link;
mod names;
mod read;
mod setup;
mod write;

use std::{future::Future, sync::Arc, time::Duration};

use codeinfo_core::{FileRecord, Host, Root, RootId, task::Tasks};
use futures_util::{FutureExt, future::try_join_all};
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use crate::{
    Change, ChunkQuery, ChunkScope, ChunkSelection, ChunkSet, Engine, FileSelection, Lease,
    MAX_PAGE, OnMismatch, ProcessIdentity, QdrantSettings, QueryTarget, ScoredChunk, StoreError,
    StoreFuture, StoreHealth, StoredChunk, engine::check_chunks,
};
use convert::{NewPoint, StoredRoot};
use error::CallError;
use link::{QdrantLink, QdrantNode};
use names::{CollectionKind, CollectionNames, EmbeddingModel};
use setup::ServerReadiness;

/// Maximum time for retries of a read, whose caller waits.
const READ_RETRY: Duration = Duration::from_secs(8);
/// Maximum time for retries while opening, and for a slow server before the engine opens without it.
const OPEN_RETRY: Duration = Duration::from_secs(3);
const OPEN_WAIT: Duration = Duration::from_secs(20);

/// Maximum number of chunks that one message names, forty bytes each.
const MAX_NAMED: usize = 50_000;

/// The engine of a Qdrant server.
pub struct QdrantEngine {
    server: Arc<QdrantServer>,
    /// Held while a change is being made.
    order: Arc<Mutex<()>>,
    tasks: Tasks,
}

/// State that the tasks of an engine share.
struct QdrantServer {
    link: QdrantLink,
    settings: QdrantSettings,
    model: EmbeddingModel,
    on_mismatch: OnMismatch,
    identity: ProcessIdentity,
    readiness: ServerReadiness,
}

impl QdrantEngine {
    /// Prepares an engine for vectors of `dimensions` made by `model` (its id). Fails where waiting
    /// would not help: another model, a refused key. Must be called on a runtime.
    pub async fn open(
        settings: &QdrantSettings,
        model: &str,
        dimensions: usize,
        on_mismatch: OnMismatch,
        identity: ProcessIdentity,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let server = Arc::new(QdrantServer {
            link: QdrantLink::new(settings, tasks.stop_token().clone())?,
            settings: settings.clone(),
            model: EmbeddingModel { id: model.to_owned(), dimensions },
            on_mismatch,
            identity,
            readiness: ServerReadiness::default(),
        });
        let opening = server.link.retry(OPEN_RETRY, || server.names());
        match tokio::time::timeout(OPEN_WAIT, opening).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.is_retryable(1, 1) => {
                warn!(reason = %error.into_store_error("open the index"), "starting without the store");
            }
            Ok(Err(error)) => return Err(error.into_store_error("open the index")),
            Err(_) => warn!("starting without the store, which does not answer in time"),
        }
        Ok(Self { server, order: Arc::default(), tasks })
    }

    /// Makes a change in a task, after those requested before. If the caller is dropped, no further try is begun.
    async fn change_in_order<F>(
        &self,
        action: &'static str,
        change: impl FnOnce(Arc<QdrantServer>) -> F + Send + 'static,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        let permit = Arc::clone(&self.order).lock_owned().await;
        let server = Arc::clone(&self.server);
        let abandoned = CancellationToken::new();
        let _guard = abandoned.clone().drop_guard();
        let work = async move {
            let outcome = link::ABANDONED.scope(abandoned, change(server)).await;
            drop(permit);
            outcome
        };
        let outcome = self.tasks.spawn_handle(work).await;
        outcome.map_err(|error| StoreError::engine(action, &error))?
    }

    fn upsert_in_order(
        &self,
        into: CollectionKind,
        points: Result<Vec<NewPoint>, StoreError>,
    ) -> StoreFuture<'_, ()> {
        async move {
            let checked = points?;
            let write = move |server: Arc<QdrantServer>| async move {
                server.upsert_points(into, checked).await
            };
            self.change_in_order(into.write_action(), write).await
        }
        .boxed()
    }

    fn delete_in_order(
        &self,
        selected: Vec<(CollectionKind, PointsSelectorOneOf)>,
    ) -> StoreFuture<'_, ()> {
        let delete = move |server: Arc<QdrantServer>| async move {
            for (from, selected) in selected {
                server.delete_points(from, selected).await?;
            }
            Ok(())
        };
        self.change_in_order("write the index", delete).boxed()
    }

    /// Searches among some chunks, in as many messages as it takes to name them.
    async fn search_set(
        &self,
        target: &QueryTarget,
        set: &ChunkSet,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        let ids: Vec<Uuid> = set.ids.iter().copied().collect();
        let search = |page_ids: &[Uuid]| {
            let filter = convert::filter_ids(set.owner, page_ids);
            self.server.search_chunks(target.clone(), Some(filter), limit)
        };
        let mut found = try_join_all(ids.chunks(MAX_NAMED).map(search)).await?.concat();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        found.truncate(limit);
        Ok(found)
    }

    fn delete_by_id(&self, from: CollectionKind, ids: &[Uuid]) -> StoreFuture<'_, ()> {
        let selected = (!ids.is_empty()).then(|| (from, convert::select_ids(ids)));
        self.delete_in_order(selected.into_iter().collect())
    }
}

impl QdrantServer {
    /// Returns this host, unless all hosts have the same folders.
    fn host(&self) -> Option<Host> {
        (!self.settings.shared_paths).then(|| self.identity.host.clone())
    }

    /// Returns the names of the collections, as soon as the server is ready.
    async fn wait_until_ready(
        &self,
        retry_for: Duration,
    ) -> Result<Arc<CollectionNames>, StoreError> {
        let names = self.link.retry(retry_for.min(self.settings.retry), || self.names()).await;
        names.map_err(|error| error.into_store_error("use the index"))
    }

    /// Reads, with retries for a short time only, because the caller waits.
    async fn read<T, F>(
        &self,
        action: &'static str,
        attempt: impl Fn(QdrantNode, Arc<CollectionNames>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>>,
    {
        let retry_for = READ_RETRY.min(self.settings.retry);
        self.call_with_retries(retry_for, self.settings.timeout, attempt)
            .await
            .map_err(|error| error.into_store_error(action))
    }

    /// Makes an idempotent change. None may arrive after its lease went to another process, which is a third of the
    /// lease's length after the holder stops.
    async fn write<F>(
        &self,
        action: &'static str,
        attempt: impl Fn(QdrantNode, Arc<CollectionNames>) -> F,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<tonic::Response<()>, tonic::Status>>,
    {
        let limit = self.settings.lease / 3;
        self.call_with_retries(self.settings.retry, limit, attempt)
            .await
            .map_err(|error| error.into_store_error(action))
    }

    async fn call_with_retries<T, F>(
        &self,
        retry_for: Duration,
        limit: Duration,
        attempt: impl Fn(QdrantNode, Arc<CollectionNames>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>>,
    {
        let once = async || {
            let names = self.names().await?;
            let attempt = |node| attempt(node, Arc::clone(&names));
            let outcome = self.link.try_within(limit, attempt).await;
            if matches!(outcome, Err(CallError::Missing { .. })) {
                // Another process may have emptied the server.
                self.readiness.forget_names();
            }
            outcome
        };
        self.link.retry(retry_for, once).await
    }
}

impl Engine for QdrantEngine {
    fn backend(&self) -> &'static str {
        "qdrant"
    }

    fn host(&self) -> Option<Host> {
        self.server.host()
    }

    fn roots(&self) -> StoreFuture<'_, Vec<Root>> {
        async {
            let stored: Vec<StoredRoot> = self.server.read_all(CollectionKind::Roots, None).await?;
            let (own, names) =
                (self.server.host(), self.server.wait_until_ready(READ_RETRY).await?);
            let into_root = |root: StoredRoot| root.into_root(own.as_ref(), &names);
            let mut roots: Vec<Root> = stored.into_iter().map(into_root).collect();
            roots.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(roots)
        }
        .boxed()
    }

    fn files(&self, selection: FileSelection) -> StoreFuture<'_, Vec<FileRecord>> {
        async move {
            let FileSelection { root, paths } = selection;
            let Some(paths) = paths else {
                return self.server.read_all(CollectionKind::Files, Some(root)).await;
            };
            let ids = convert::file_ids(root, &paths);
            Ok(self.server.read_by_id(CollectionKind::Files, &ids).await?.into_values().collect())
        }
        .boxed()
    }

    fn chunks(&self, selection: ChunkSelection) -> StoreFuture<'_, Vec<StoredChunk>> {
        async move {
            let stored = |(id, record)| StoredChunk { id, record };
            match selection {
                ChunkSelection::Page { owner, after, limit } => {
                    let max_chunks = limit.min(MAX_PAGE);
                    let page =
                        self.server.read_page(CollectionKind::Chunks, owner, after, max_chunks);
                    Ok(page.await?.into_iter().map(stored).collect())
                }
                ChunkSelection::Ids(ids) => {
                    let found = self.server.read_by_id(CollectionKind::Chunks, &ids).await?;
                    Ok(found.into_iter().map(stored).collect())
                }
            }
        }
        .boxed()
    }

    fn count(&self, owner: Option<RootId>) -> StoreFuture<'_, u64> {
        async move { self.server.count_chunks(owner).await }.boxed()
    }

    fn search(&self, query: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>> {
        async move {
            let ChunkQuery { target, scope, limit } = query;
            let filter = match scope {
                ChunkScope::Everything => None,
                ChunkScope::Root(root) => Some(convert::filter_root(root)),
                ChunkScope::Among(set) => return self.search_set(&target, &set, limit).await,
            };
            self.server.search_chunks(target, filter, limit).await
        }
        .boxed()
    }

    fn apply(&self, change: Change) -> StoreFuture<'_, ()> {
        match change {
            Change::PutRoot(root) => {
                let write = move |server: Arc<QdrantServer>| async move {
                    let names = server.wait_until_ready(server.settings.retry).await?;
                    let point = convert::root_point(*root, server.host(), &names.generation)?;
                    server.upsert_points(CollectionKind::Roots, vec![point]).await
                };
                self.change_in_order(CollectionKind::Roots.write_action(), write).boxed()
            }
            Change::RemoveRoot { root, keeps_chunks } => {
                let root_points = PointsSelectorOneOf::Filter(convert::filter_root(root));
                let chunks = (!keeps_chunks).then_some(CollectionKind::Chunks);
                let root_last =
                    chunks.into_iter().chain([CollectionKind::Files, CollectionKind::Roots]);
                self.delete_in_order(root_last.map(|from| (from, root_points.clone())).collect())
            }
            Change::PutFiles(files) => {
                self.upsert_in_order(CollectionKind::Files, convert::file_points(&files))
            }
            Change::RemoveFiles { root, paths } => {
                self.delete_by_id(CollectionKind::Files, &convert::file_ids(root, &paths))
            }
            Change::PutChunks(chunks) => {
                let checked = check_chunks(&chunks, self.server.model.dimensions);
                self.upsert_in_order(
                    CollectionKind::Chunks,
                    checked.and_then(|()| convert::chunk_points(chunks)),
                )
            }
            Change::RemoveChunks(ids) => self.delete_by_id(CollectionKind::Chunks, &ids),
            // Acknowledged writes are in the server's log, and the server optimizes by itself.
            Change::Flush => async {
                if !self.tasks.stop_token().is_cancelled() {
                    self.server.build_graph().await;
                }
                Ok(())
            }
            .boxed(),
        }
    }

    fn lease(&self, root: RootId) -> StoreFuture<'_, Lease> {
        async move { lease::acquire_lease(&self.server, root, &self.tasks).await }.boxed()
    }

    fn is_leased(&self, root: RootId) -> StoreFuture<'_, bool> {
        async move { self.server.is_leased(root).await }.boxed()
    }

    fn health(&self) -> StoreFuture<'_, StoreHealth> {
        async {
            self.server
                .check_health()
                .await
                .map_err(|error| error.into_store_error("use the index"))
        }
        .boxed()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn stall(&self) -> Option<String> {
        self.server.link.stalls.latest_reason()
    }
}
