//! A store that is opened later, once somebody knows how long its vectors are.
//!
//! An embedding service may not be there when the server starts. Until it answers, a new store holds
//! nothing, and readers get that; one that others share, and all writes, are refused with the reason.
//! Opening is tried again and again, so that nothing has to be restarted when the service is there. A
//! store that cannot be opened is wrapped here too, where a command reports on everything else.

use std::{
    future::{Future, ready},
    sync::Arc,
    time::Duration,
};

use codeinfo_core::{FileRecord, Host, Root, RootId, TermVector, task::Tasks};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::{Notify, watch};
use tracing::{info, warn};
use uuid::Uuid;

use super::{
    Among, Chunk, Health, Lease, Remembered, Scored, Size, StoreError, Stored, VectorStore,
};

/// How often opening is tried.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long a write waits for the store.
const OPEN_TIMEOUT: Duration = Duration::from_secs(3);

/// A store that is opened later.
pub struct DeferredStore {
    state: watch::Receiver<State>,
    wanted: Arc<Notify>,
    /// Whether others may have filled it.
    is_shared: bool,
}

/// What became of it so far.
#[derive(Clone)]
enum State {
    Waiting { reason: String },
    Refused(Arc<StoreError>),
    Open(Arc<dyn VectorStore>),
}

impl DeferredStore {
    /// Opens a store with `open`, which is tried until it succeeds. While it fails with
    /// [`StoreError::NotYet`], the store counts as empty unless it `is_shared` with other processes.
    pub fn new<F>(open: F, is_shared: bool, tasks: &Tasks) -> Self
    where
        F: Fn() -> BoxFuture<'static, Result<Arc<dyn VectorStore>, StoreError>> + Send + 'static,
    {
        let reason = "it was not asked yet".to_owned();
        let (sender, state) = watch::channel(State::Waiting { reason });
        let wanted = Arc::new(Notify::new());
        let (stopping, wake) = (tasks.stop_token().clone(), Arc::clone(&wanted));
        let waiting = async move {
            let mut is_reported = false;
            loop {
                let state = match open().await {
                    Ok(store) => {
                        info!("the store was opened");
                        sender.send_replace(State::Open(store));
                        return;
                    }
                    Err(StoreError::NotYet { reason }) => State::Waiting { reason },
                    Err(error) => State::Refused(Arc::new(error)),
                };
                sender.send_replace(state);
                if !is_reported && !stopping.is_cancelled() {
                    let reason = why_not(&sender.borrow()).to_string();
                    warn!(reason, "the store cannot be opened yet");
                    is_reported = true;
                }
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = wake.notified() => {}
                    () = tokio::time::sleep(INTERVAL) => {}
                }
            }
        };
        tasks.spawn(waiting);
        Self { state, wanted, is_shared }
    }

    /// Stands for a store that cannot be opened, and is not tried again.
    pub fn refused(error: StoreError, is_shared: bool) -> Self {
        let (_, state) = watch::channel(State::Refused(Arc::new(error)));
        Self { state, wanted: Arc::default(), is_shared }
    }

    fn store(&self) -> Option<Arc<dyn VectorStore>> {
        match &*self.state.borrow() {
            State::Open(store) => Some(Arc::clone(store)),
            State::Waiting { .. } | State::Refused(_) => None,
        }
    }

    /// Whether it holds nothing for certain.
    fn is_blank(&self) -> bool {
        !self.is_shared && matches!(&*self.state.borrow(), State::Waiting { .. })
    }

    /// Reads from the store, or else from nothing where there can be none yet.
    fn read<T: Default + Send + 'static, F>(
        &self,
        read: impl FnOnce(Arc<dyn VectorStore>) -> F,
    ) -> BoxFuture<'_, Result<T, StoreError>>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        match self.store() {
            Some(store) => read(store).boxed(),
            None if self.is_blank() => ready(Ok(T::default())).boxed(),
            None => ready(Err(self.not_yet())).boxed(),
        }
    }

    /// Writes to the store, waiting a little for it if need be.
    fn write<F>(
        &self,
        write: impl FnOnce(Arc<dyn VectorStore>) -> F + Send + 'static,
    ) -> BoxFuture<'_, Result<(), StoreError>>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        async move { write(self.demanded().await?).await }.boxed()
    }

    /// Returns the store, waiting a little for it if need be.
    async fn demanded(&self) -> Result<Arc<dyn VectorStore>, StoreError> {
        if self.store().is_none() {
            self.wanted.notify_one();
            let mut state = self.state.clone();
            let opening = state.wait_for(|state| matches!(state, State::Open(_)));
            drop(tokio::time::timeout(OPEN_TIMEOUT, opening).await);
        }
        self.store().ok_or_else(|| self.not_yet())
    }

    fn not_yet(&self) -> StoreError {
        why_not(&self.state.borrow())
    }
}

fn why_not(state: &State) -> StoreError {
    match state {
        State::Waiting { reason } => StoreError::NotYet { reason: reason.clone() },
        State::Refused(error) => StoreError::Unopened(Arc::clone(error)),
        State::Open(_) => StoreError::NotYet { reason: "it has just answered".to_owned() },
    }
}

impl VectorStore for DeferredStore {
    fn backend(&self) -> &'static str {
        if self.is_shared { "qdrant" } else { "embedded" }
    }

    fn host(&self) -> Option<Host> {
        self.store()?.host()
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>> {
        self.read(move |store| async move { store.roots().await })
    }

    fn remembered(&self) -> Option<Remembered> {
        self.store()?.remembered()
    }

    fn put_root(&self, root: Root) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.put_root(root).await })
    }

    fn remove_root(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.remove_root(root).await })
    }

    fn remove_tree(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.remove_tree(root).await })
    }

    fn files(&self, of: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        self.read(move |store| async move { store.files(of).await })
    }

    fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        self.read(move |store| async move { store.files_at(root, paths).await })
    }

    fn chunks_with(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read(move |store| async move { store.chunks_with(ids).await })
    }

    fn put_files(&self, files: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.put_files(files).await })
    }

    fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.remove_files(root, paths).await })
    }

    fn put_chunks(&self, chunks: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.put_chunks(chunks).await })
    }

    fn remove_chunks(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |store| async move { store.remove_chunks(ids).await })
    }

    fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read(move |store| async move { store.chunks(of, after, limit).await })
    }

    fn kept(
        &self,
        owner: RootId,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read(move |store| async move { store.kept(owner, after, limit).await })
    }

    fn holders(
        &self,
        terms: TermVector,
        of: Option<RootId>,
    ) -> BoxFuture<'_, Result<Option<Vec<Scored>>, StoreError>> {
        match self.store() {
            Some(store) => async move { store.holders(terms, of).await }.boxed(),
            None if self.is_blank() => ready(Ok(Some(Vec::new()))).boxed(),
            None => ready(Err(self.not_yet())).boxed(),
        }
    }

    fn count(&self, of: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.read(move |store| async move { store.count(of).await })
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| async move { store.nearest(to, of, limit).await })
    }

    fn lexical(
        &self,
        terms: TermVector,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| async move { store.lexical(terms, of, limit).await })
    }

    fn nearest_among(
        &self,
        to: Vec<f32>,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| async move { store.nearest_among(to, among, limit).await })
    }

    fn lexical_among(
        &self,
        terms: TermVector,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| async move { store.lexical_among(terms, among, limit).await })
    }

    fn lease(&self, root: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        async move { self.demanded().await?.lease(root).await }.boxed()
    }

    fn is_leased(&self, root: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.read(move |store| async move { store.is_leased(root).await })
    }

    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
        match self.store() {
            Some(store) => async move { store.health().await }.boxed(),
            None => ready(Err(self.not_yet())).boxed(),
        }
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        self.store().map_or_else(|| Err(self.not_yet()), |store| store.check_writes())
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.store() {
            Some(store) => async move { store.flush().await }.boxed(),
            // Nothing was written.
            None => ready(Ok(())).boxed(),
        }
    }

    fn damage(&self) -> Option<String> {
        self.store()?.damage()
    }

    fn size(&self, of: RootId) -> Option<Size> {
        self.store()?.size(of)
    }

    fn stall(&self) -> Option<String> {
        self.store()?.stall()
    }
}
