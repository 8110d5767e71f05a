//! A Qdrant server or cluster over gRPC: shared by many processes, each with a data folder of its own.
//!
//! The store opens whether the server answers or not; it is made ready by the first call that gets
//! through. Changes are made one call after the other, by a task that goes on when the caller goes away,
//! so that they keep their order; what one call writes travels in several messages at a time.
//!
//! The server looks after its own files: no checksums, journal or repair of ours apply.

mod control;
mod convert;
mod copies;
mod error;
mod graph;
mod hnsw;
mod lease;
mod link;
mod names;
mod read;
mod records;
mod setup;
mod write;

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::try_join_all};
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use crate::{
    Change, ChunkQuery, ChunkScope, ChunkSelection, ChunkSet, Engine, FileSelection, Lease,
    MAX_PAGE, OnMismatch, ProcessIdentity, QueryTarget, ScoredChunk, StoreError, StoreFuture,
    StoreHealth, StoredChunk, records::check_chunks,
};
use codeinfo_core::{FileRecord, Host, Root, RootId, task::Tasks};
use convert::Point;
use error::CallError;
use link::{Link, Node};
use names::{Collection, Model, Names};
use records::StoredRoot;
use setup::Readiness;

/// How long a read is tried again: somebody waits for it.
const READ_RETRY: Duration = Duration::from_secs(8);
/// How long opening tries to reach the server, and how long it waits for one that is slow, before going
/// on without it.
const OPEN_RETRY: Duration = Duration::from_secs(3);
const OPEN_WAIT: Duration = Duration::from_secs(20);

/// No more chunks are named one by one in a message: each takes forty bytes of it.
const MAX_NAMED: usize = 50_000;

/// A store that a Qdrant server keeps.
pub struct QdrantEngine {
    server: Arc<Server>,
    /// Held while a change is being made.
    order: Arc<Mutex<()>>,
    tasks: Tasks,
}

/// What the tasks of a store share.
struct Server {
    link: Link,
    settings: crate::QdrantSettings,
    model: Model,
    on_mismatch: OnMismatch,
    identity: ProcessIdentity,
    readiness: Readiness,
}

impl QdrantEngine {
    /// Prepares a store for vectors of `dimensions` made by `model` (its id). Fails where waiting
    /// would not help: another model, a refused key. Must be called on a runtime.
    #[expect(clippy::too_many_arguments, reason = "called once, by the composition root")]
    pub async fn open(
        settings: &crate::QdrantSettings,
        model: &str,
        dimensions: usize,
        on_mismatch: OnMismatch,
        identity: ProcessIdentity,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let server = Arc::new(Server {
            link: Link::new(settings, tasks.stopping().clone())?,
            settings: settings.clone(),
            model: Model { id: model.to_owned(), dimensions },
            on_mismatch,
            identity,
            readiness: Readiness::default(),
        });
        let opening = server.link.retry(OPEN_RETRY, || server.names());
        match tokio::time::timeout(OPEN_WAIT, opening).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.may_pass(1, 1) => {
                warn!(reason = %error.into_store_error("open the index"), "starting without the store");
            }
            Ok(Err(error)) => return Err(error.into_store_error("open the index")),
            Err(_) => warn!("starting without the store, which does not answer in time"),
        }
        Ok(Self { server, order: Arc::default(), tasks })
    }

    /// Makes a change in a task of its own, after those asked for before. When the caller goes away, a
    /// try that is under way is finished and no other one begun.
    async fn change<F>(
        &self,
        action: &'static str,
        change: impl FnOnce(Arc<Server>) -> F + Send + 'static,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        let turn = Arc::clone(&self.order).lock_owned().await;
        let server = Arc::clone(&self.server);
        let abandoned = CancellationToken::new();
        let _guard = abandoned.clone().drop_guard();
        let work = async move {
            let done = link::ABANDONED.scope(abandoned, change(server)).await;
            drop(turn);
            done
        };
        let failed = |error: tokio::task::JoinError| StoreError::Engine {
            action,
            reason: error.to_string(),
        };
        self.tasks.spawn_handle(work).await.map_err(failed)?
    }

    fn upsert(
        &self,
        into: Collection,
        points: Result<Vec<Point>, StoreError>,
    ) -> StoreFuture<'_, ()> {
        async move {
            let points = points?;
            let write = move |server: Arc<Server>| async move { server.upsert(into, points).await };
            self.change(into.write_action(), write).await
        }
        .boxed()
    }

    /// Deletes what is selected in each collection, one after the other.
    fn delete(&self, selected: Vec<(Collection, PointsSelectorOneOf)>) -> StoreFuture<'_, ()> {
        let delete = move |server: Arc<Server>| async move {
            for (from, selected) in selected {
                server.delete(from, selected).await?;
            }
            Ok(())
        };
        self.change("write the index", delete).boxed()
    }

    /// Searches among some chunks, in as many messages as it takes to name them.
    async fn search_set(
        &self,
        target: &QueryTarget,
        set: &ChunkSet,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        let ids: Vec<Uuid> = set.ids.iter().copied().collect();
        let search = |some: &[Uuid]| {
            let filter = convert::among(set.owner, some);
            self.server.search(target.clone(), Some(filter), limit)
        };
        let mut found = try_join_all(ids.chunks(MAX_NAMED).map(search)).await?.concat();
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        found.truncate(limit);
        Ok(found)
    }

    fn delete_named(&self, from: Collection, ids: &[Uuid]) -> StoreFuture<'_, ()> {
        let selected = (!ids.is_empty()).then(|| (from, convert::named(ids)));
        self.delete(selected.into_iter().collect())
    }
}

impl Server {
    /// Returns this host, unless all of them have the same folders.
    fn host(&self) -> Option<Host> {
        (!self.settings.shared_paths).then(|| self.identity.host.clone())
    }

    /// Returns the names of the collections, as soon as the server is ready.
    async fn ready(&self, retry_for: Duration) -> Result<Arc<Names>, StoreError> {
        let names = self.link.retry(retry_for.min(self.settings.retry), || self.names()).await;
        names.map_err(|error| error.into_store_error("use the index"))
    }

    /// Reads. Somebody waits, so that it is tried again for a short time only.
    async fn read<T, F>(
        &self,
        action: &'static str,
        attempt: impl Fn(Node, Arc<Names>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>>,
    {
        let retry_for = READ_RETRY.min(self.settings.retry);
        self.call(retry_for, self.settings.timeout, attempt)
            .await
            .map_err(|error| error.into_store_error(action))
    }

    /// Makes a change that may be made again without harm. None may arrive after the lease under which it
    /// was sent has gone to another process, which is a third of its length after the holder stops.
    async fn write<F>(
        &self,
        action: &'static str,
        attempt: impl Fn(Node, Arc<Names>) -> F,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<tonic::Response<()>, tonic::Status>>,
    {
        let limit = self.settings.lease / 3;
        self.call(self.settings.retry, limit, attempt)
            .await
            .map_err(|error| error.into_store_error(action))
    }

    async fn call<T, F>(
        &self,
        retry_for: Duration,
        limit: Duration,
        attempt: impl Fn(Node, Arc<Names>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>>,
    {
        let once = async || {
            let names = self.names().await?;
            let attempt = |node| attempt(node, Arc::clone(&names));
            let done = self.link.once_within(limit, attempt).await;
            if matches!(done, Err(CallError::Missing { .. })) {
                // Another process may have emptied the store: looks again.
                self.readiness.forget();
            }
            done
        };
        self.link.retry(retry_for, once).await
    }

    async fn health(&self) -> Result<StoreHealth, CallError> {
        // At each node once: what another one serves is not away.
        self.link.retry(Duration::ZERO, || self.look_at_health()).await
    }

    async fn look_at_health(&self) -> Result<StoreHealth, CallError> {
        let health = |node: Node| async move {
            node.server().health_check(qdrant_client::qdrant::HealthCheckRequest {}).await
        };
        let version = self.link.once(health).await?.version;
        let names = self.names().await?;
        let counted = self.link.once(|node| {
            let request = qdrant_client::qdrant::CountPoints {
                collection_name: names.of(Collection::Chunks),
                exact: Some(false),
                ..Default::default()
            };
            async move { node.points().count(request).await }
        });
        let looking = async { Ok(self.link.find_unreachable().await) };
        let (counted, copies, unreachable) =
            tokio::try_join!(counted, self.copies(&names), looking)?;
        let chunks = counted.result.unwrap_or_default().count;
        Ok(StoreHealth { version: Some(version), chunks, copies, unreachable })
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
            let stored: Vec<StoredRoot> = self.server.all(Collection::Roots, None).await?;
            let (own, names) = (self.server.host(), self.server.ready(READ_RETRY).await?);
            let placed = |root: StoredRoot| root.into_root(own.as_ref(), &names);
            let mut roots: Vec<Root> = stored.into_iter().map(placed).collect();
            roots.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(roots)
        }
        .boxed()
    }

    fn files(&self, selection: FileSelection) -> StoreFuture<'_, Vec<FileRecord>> {
        async move {
            let FileSelection { root, paths } = selection;
            let Some(paths) = paths else {
                return self.server.all(Collection::Files, Some(root)).await;
            };
            let ids = records::file_ids(root, &paths);
            Ok(self.server.named(Collection::Files, &ids).await?.into_values().collect())
        }
        .boxed()
    }

    fn chunks(&self, selection: ChunkSelection) -> StoreFuture<'_, Vec<StoredChunk>> {
        async move {
            let stored = |(id, record)| StoredChunk { id, record };
            match selection {
                ChunkSelection::Page { owner, after, limit } => {
                    let limit = limit.min(MAX_PAGE);
                    let page = self.server.scroll(Collection::Chunks, owner, after, limit);
                    Ok(page.await?.into_iter().map(stored).collect())
                }
                ChunkSelection::Ids(ids) => {
                    let found = self.server.named(Collection::Chunks, &ids).await?;
                    Ok(found.into_iter().map(stored).collect())
                }
            }
        }
        .boxed()
    }

    fn count(&self, owner: Option<RootId>) -> StoreFuture<'_, u64> {
        async move { self.server.count(owner).await }.boxed()
    }

    fn search(&self, query: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>> {
        async move {
            let ChunkQuery { target, scope, limit } = query;
            let filter = match scope {
                ChunkScope::Everything => None,
                ChunkScope::Root(root) => Some(convert::of_root(root)),
                ChunkScope::Among(set) => return self.search_set(&target, &set, limit).await,
            };
            self.server.search(target, filter, limit).await
        }
        .boxed()
    }

    fn apply(&self, change: Change) -> StoreFuture<'_, ()> {
        match change {
            Change::PutRoot(root) => {
                let write = move |server: Arc<Server>| async move {
                    let names = server.ready(server.settings.retry).await?;
                    let point = records::root(root, server.host(), &names.generation)?;
                    server.upsert(Collection::Roots, vec![point]).await
                };
                self.change(Collection::Roots.write_action(), write).boxed()
            }
            Change::RemoveRoot { root, keeps_chunks } => {
                let of_root = PointsSelectorOneOf::Filter(convert::of_root(root));
                let chunks = (!keeps_chunks).then_some(Collection::Chunks);
                let root_last = chunks.into_iter().chain([Collection::Files, Collection::Roots]);
                self.delete(root_last.map(|from| (from, of_root.clone())).collect())
            }
            Change::PutFiles(files) => self.upsert(Collection::Files, records::files(&files)),
            Change::RemoveFiles { root, paths } => {
                self.delete_named(Collection::Files, &records::file_ids(root, &paths))
            }
            Change::PutChunks(chunks) => {
                let checked = check_chunks(&chunks, self.server.model.dimensions);
                self.upsert(Collection::Chunks, checked.and_then(|()| records::chunks(chunks)))
            }
            Change::RemoveChunks(ids) => self.delete_named(Collection::Chunks, &ids),
            // Acknowledged writes are in the server's log, and the server optimizes by itself.
            Change::Flush => async {
                if !self.tasks.stopping().is_cancelled() {
                    self.server.build_graph().await;
                }
                Ok(())
            }
            .boxed(),
        }
    }

    fn lease(&self, root: RootId) -> StoreFuture<'_, Lease> {
        async move { lease::take(&self.server, root, &self.tasks).await }.boxed()
    }

    fn is_leased(&self, root: RootId) -> StoreFuture<'_, bool> {
        async move { self.server.is_leased(root).await }.boxed()
    }

    fn health(&self) -> StoreFuture<'_, StoreHealth> {
        async {
            self.server.health().await.map_err(|error| error.into_store_error("use the index"))
        }
        .boxed()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn stall(&self) -> Option<String> {
        self.server.link.stalls.reason()
    }
}
