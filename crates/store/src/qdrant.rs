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

use futures_util::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};
use qdrant_client::qdrant::{Filter, points_selector::PointsSelectorOneOf};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use super::{
    Among, Chunk, Health, Identity, Lease, MAX_PAGE, OnMismatch, Scored, StoreError, Stored,
    VectorStore, check,
};
use codeinfo_core::{FileRecord, Host, Root, RootId, TermVector, task::Tasks};
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
pub struct Qdrant {
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
    identity: Identity,
    readiness: Readiness,
}

impl Qdrant {
    /// Prepares a store for vectors of `dimensions` made by `model` (its id). Fails where waiting
    /// would not help: another model, a refused key. Must be called on a runtime.
    pub async fn open(
        settings: &crate::QdrantSettings,
        model: &str,
        dimensions: usize,
        on_mismatch: OnMismatch,
        identity: Identity,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let server = Arc::new(Server {
            link: Link::new(settings, tasks.stop_token().clone())?,
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
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let points = points?;
            let write = move |server: Arc<Server>| async move { server.upsert(into, points).await };
            self.change(into.write_action(), write).await
        }
        .boxed()
    }

    /// Deletes what is selected in each collection, one after the other.
    fn delete(
        &self,
        selected: Vec<(Collection, PointsSelectorOneOf)>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let delete = move |server: Arc<Server>| async move {
            for (from, selected) in selected {
                server.delete(from, selected).await?;
            }
            Ok(())
        };
        self.change("write the index", delete).boxed()
    }

    fn delete_named(
        &self,
        from: Collection,
        ids: &[Uuid],
    ) -> BoxFuture<'_, Result<(), StoreError>> {
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

    async fn health(&self) -> Result<Health, CallError> {
        // At each node once: what another one serves is not away.
        self.link.retry(Duration::ZERO, || self.look_at_health()).await
    }

    async fn look_at_health(&self) -> Result<Health, CallError> {
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
        Ok(Health { version: Some(version), chunks, copies, unreachable })
    }
}

impl VectorStore for Qdrant {
    fn backend(&self) -> &'static str {
        "qdrant"
    }

    fn host(&self) -> Option<Host> {
        self.server.host()
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>> {
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

    fn put_root(&self, root: Root) -> BoxFuture<'_, Result<(), StoreError>> {
        let write = move |server: Arc<Server>| async move {
            let names = server.ready(server.settings.retry).await?;
            let point = records::root(root, server.host(), &names.generation)?;
            server.upsert(Collection::Roots, vec![point]).await
        };
        self.change(Collection::Roots.write_action(), write).boxed()
    }

    fn remove_root(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        let of_root = PointsSelectorOneOf::Filter(convert::of_root(root));
        let root_last = [Collection::Chunks, Collection::Files, Collection::Roots];
        self.delete(root_last.map(|from| (from, of_root.clone())).into())
    }

    fn remove_tree(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        let of_root = PointsSelectorOneOf::Filter(convert::of_root(root));
        self.delete(
            [Collection::Files, Collection::Roots].map(|from| (from, of_root.clone())).into(),
        )
    }

    fn files(&self, of: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        async move { self.server.all(Collection::Files, Some(of)).await }.boxed()
    }

    fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        async move {
            let ids = records::file_ids(root, &paths);
            Ok(self.server.named(Collection::Files, &ids).await?.into_values().collect())
        }
        .boxed()
    }

    fn chunks_with(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        async move {
            let found = self.server.named(Collection::Chunks, &ids).await?.into_iter();
            Ok(found.map(|(id, record)| Stored { id, record }).collect())
        }
        .boxed()
    }

    fn put_files(&self, files: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.upsert(Collection::Files, records::files(&files))
    }

    fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.delete_named(Collection::Files, &records::file_ids(root, &paths))
    }

    fn put_chunks(&self, chunks: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>> {
        let checked = check::chunks(&chunks, self.server.model.dimensions);
        self.upsert(Collection::Chunks, checked.and_then(|()| records::chunks(chunks)))
    }

    fn remove_chunks(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.delete_named(Collection::Chunks, &ids)
    }

    fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        async move {
            let page = self.server.scroll(Collection::Chunks, of, after, limit.min(MAX_PAGE));
            Ok(page.await?.into_iter().map(|(id, record)| Stored { id, record }).collect())
        }
        .boxed()
    }

    fn count(&self, of: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move { self.server.count(of).await }.boxed()
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        async move { self.server.nearest(to, of.map(convert::of_root), limit).await }.boxed()
    }

    fn nearest_among(
        &self,
        to: Vec<f32>,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        async move {
            let search = |filter| self.server.nearest(to.clone(), Some(filter), limit);
            in_parts(&among, limit, search).await
        }
        .boxed()
    }

    fn lexical_among(
        &self,
        terms: TermVector,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        async move {
            let search = |filter| self.server.lexical(terms.clone(), Some(filter), limit);
            in_parts(&among, limit, search).await
        }
        .boxed()
    }

    fn lexical(
        &self,
        terms: TermVector,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        async move { self.server.lexical(terms, of.map(convert::of_root), limit).await }.boxed()
    }

    fn lease(&self, root: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        async move { lease::take(&self.server, root, &self.tasks).await }.boxed()
    }

    fn is_leased(&self, root: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
        async move { self.server.is_leased(root).await }.boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
        async {
            self.server.health().await.map_err(|error| error.into_store_error("use the index"))
        }
        .boxed()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async {
            // What was acknowledged is in the server's log, which tidies up by itself.
            if !self.tasks.stop_token().is_cancelled() {
                self.server.build_graph().await;
            }
            Ok(())
        }
        .boxed()
    }

    fn stall(&self) -> Option<String> {
        self.server.link.stalls.latest_reason()
    }
}

/// Searches among some chunks, in as many messages as these take to name.
async fn in_parts<F>(
    among: &Among,
    limit: usize,
    search: impl Fn(Filter) -> F,
) -> Result<Vec<Scored>, StoreError>
where
    F: Future<Output = Result<Vec<Scored>, StoreError>>,
{
    let ids: Vec<Uuid> = among.ids.iter().copied().collect();
    let parts: Vec<_> =
        ids.chunks(MAX_NAMED).map(|some| search(convert::among(among.owner, some))).collect();
    let mut found = try_join_all(parts).await?.concat();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    found.truncate(limit);
    Ok(found)
}
