//! The store that services use: an engine, opened now or later, whose worktrees share chunks, and a failure record.

#[cfg(test)]
mod tests;

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use codeinfo_core::{
    FileRecord, Host, Root, RootId, TermVector,
    error::{ErrorCode, format_error_chain},
    task::Tasks,
};
use futures_util::{FutureExt, future::BoxFuture};
use uuid::Uuid;

use crate::{
    Change, ChunkQuery, ChunkSelection, Engine, FileSelection, Lease, MAX_PAGE, NewChunk,
    ScoredChunk, StorageSize, StoreError, StoreFuture, StoreHealth, StoredChunk,
    opening::StoreOpening, trees::SharedTrees,
};

/// Processes that write to the engine of a store, and the meaning of its roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreMode {
    /// Only this process writes. Worktrees of a repository share chunks.
    Exclusive,
    /// Other processes write as well. Worktrees of a repository share chunks.
    Shared,
    /// Each root has the chunks that were written under its id: an engine by itself, for tests and measurements.
    Flat,
}

impl StoreMode {
    /// Returns the mode of a store that is shared with other processes or not.
    pub fn new(is_shared: bool) -> Self {
        if is_shared { Self::Shared } else { Self::Exclusive }
    }
}

/// Stores roots, files and chunks, and finds the nearest chunks. Clones share the engine.
///
/// Reads that take a limit return at most [`MAX_PAGE`] chunks, and none for a limit of 0. A read or search of a root
/// returns what that root has, also where it shares chunks with other worktrees. [`Engine`] and
/// [`Change`] document order and durability.
///
/// ```no_run
/// # async fn example() -> Result<(), codeinfo_store::StoreError> {
/// use codeinfo_core::task::Tasks;
/// use codeinfo_store::{ChunkQuery, EmbeddedEngine, EmbeddedStoreSettings, OnMismatch, Store, StoreMode};
///
/// let settings = EmbeddedStoreSettings { seal_chunks: 4096, background_merge: true, repairs: true };
/// let (folder, tasks) = (std::path::Path::new("/data/store"), Tasks::default());
/// let engine =
///     EmbeddedEngine::open(folder, "model@1", 256, OnMismatch::Refuse, &settings, tasks.clone()).await?;
/// let store = Store::new(engine, StoreMode::Exclusive, tasks);
/// let best = store.search(ChunkQuery::nearest(vec![1.0; 256], None, 5)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Store {
    opening: Arc<StoreOpening>,
    failures: Arc<StoreFailures>,
    /// True if reads may return remembered files.
    is_remembering: bool,
}

/// The roots of a shared store as last read, and a view of the store that answers from memory what these roots have.
///
/// A run writes its root before it changes any of its files. A caller that reads [`Store::roots`] during its search,
/// and gets the same roots, has therefore searched the current files.
#[derive(Clone)]
pub struct RememberedRoots {
    /// All roots.
    pub roots: Arc<Vec<Root>>,
    /// A view for reading only.
    pub store: Store,
}

impl Store {
    /// Creates a store of an open engine.
    pub fn new(engine: impl Engine + 'static, mode: StoreMode, tasks: Tasks) -> Self {
        Self::with_engine(Arc::new(engine), mode, tasks)
    }

    /// Creates a store of an open engine that others may use as well.
    pub fn with_engine(engine: Arc<dyn Engine>, mode: StoreMode, tasks: Tasks) -> Self {
        Self::with_opening(StoreOpening::ready(SharedTrees::new(engine, mode, tasks), mode))
    }

    /// Creates a store whose engine `open` opens, tried until it succeeds. While it fails with [`StoreError::NotYet`],
    /// the store counts as empty, unless other processes may have filled it.
    pub fn open_later<F>(open: F, mode: StoreMode, tasks: &Tasks) -> Self
    where
        F: Fn() -> BoxFuture<'static, Result<Arc<dyn Engine>, StoreError>> + Send + 'static,
    {
        Self::with_opening(StoreOpening::open_later(open, mode, tasks))
    }

    /// Creates a store that cannot be opened and fails with `error`.
    pub fn unopenable(error: StoreError, mode: StoreMode) -> Self {
        Self::with_opening(StoreOpening::unopenable(error, mode))
    }

    fn with_opening(opening: StoreOpening) -> Self {
        Self { opening: Arc::new(opening), failures: Arc::default(), is_remembering: false }
    }

    /// Returns the engine's name: `embedded` or `qdrant`.
    pub fn backend(&self) -> &'static str {
        self.opening.backend()
    }

    /// Returns this host; see [`Engine::host`].
    pub fn host(&self) -> Option<Host> {
        self.trees()?.engine().host()
    }

    /// Returns every root, ordered by name.
    pub fn roots(&self) -> StoreFuture<'_, Vec<Root>> {
        self.read(|trees| async move { trees.roots().await })
    }

    /// Returns what was last read of a store to which each read is a round trip; `None` before the first read.
    pub fn remembered_roots(&self) -> Option<RememberedRoots> {
        let roots = self.trees()?.remembered_roots()?;
        Some(RememberedRoots { roots, store: Self { is_remembering: true, ..self.clone() } })
    }

    /// Writes a root, replacing the one with its id.
    pub fn put_root(&self, root: Root) -> StoreFuture<'_, ()> {
        self.apply(Change::PutRoot(Box::new(root)))
    }

    /// Removes a root with its files, and the chunks that no other root has.
    pub fn remove_root(&self, root: RootId) -> StoreFuture<'_, ()> {
        self.apply(Change::RemoveRoot { root, keeps_chunks: false })
    }

    /// Returns the record of every indexed file of a root, in no fixed order.
    pub fn files(&self, root: RootId) -> StoreFuture<'_, Vec<FileRecord>> {
        self.select_files(FileSelection { root, paths: None })
    }

    /// Returns the records of those of `paths` that are indexed files of a root, in no fixed order.
    pub fn files_at(&self, root: RootId, paths: Vec<String>) -> StoreFuture<'_, Vec<FileRecord>> {
        self.select_files(FileSelection { root, paths: Some(paths) })
    }

    fn select_files(&self, selection: FileSelection) -> StoreFuture<'_, Vec<FileRecord>> {
        self.read(move |trees| {
            let selection = selection.clone();
            async move { trees.files(selection).await }
        })
    }

    /// Writes file records, replacing those of the same paths.
    pub fn put_files(&self, files: Vec<FileRecord>) -> StoreFuture<'_, ()> {
        self.apply(Change::PutFiles(files))
    }

    /// Removes the records of those of `paths` that are indexed files of a root.
    pub fn remove_files(&self, root: RootId, paths: Vec<String>) -> StoreFuture<'_, ()> {
        self.apply(Change::RemoveFiles { root, paths })
    }

    /// Writes chunks; see [`Change::PutChunks`].
    pub fn put_chunks(&self, chunks: Vec<NewChunk>) -> StoreFuture<'_, ()> {
        self.apply(Change::PutChunks(chunks))
    }

    /// Removes the chunks with these ids.
    pub fn remove_chunks(&self, ids: Vec<Uuid>) -> StoreFuture<'_, ()> {
        self.apply(Change::RemoveChunks(ids))
    }

    /// Reads the chunks of a root, or all, in order of id, `limit` at a time, starting after `after`.
    pub fn chunks(
        &self,
        root: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<StoredChunk>> {
        self.read(move |trees| async move { trees.chunks(root, after, limit).await })
    }

    /// Returns the chunks with these ids that a root has, in no fixed order.
    pub fn chunks_by_id(&self, ids: Vec<Uuid>) -> StoreFuture<'_, Vec<StoredChunk>> {
        self.read(move |trees| {
            let ids = ids.clone();
            async move { trees.chunks_by_id(ids).await }
        })
    }

    /// Reads the chunks of an owner (see [`Root::chunk_owner`]) like [`Self::chunks`], including those that no root has.
    pub fn chunks_of_owner(
        &self,
        owner: RootId,
        after: Option<Uuid>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<StoredChunk>> {
        let page = move || ChunkSelection::Page { owner: Some(owner), after, limit };
        self.read(move |trees| async move { trees.engine().chunks(page()).await })
    }

    /// Counts the chunks of a root, or all, exactly.
    pub fn count(&self, root: Option<RootId>) -> StoreFuture<'_, u64> {
        self.read(move |trees| async move { trees.count(root).await })
    }

    /// Finds the best chunks for a query; see [`Engine::search`].
    pub fn search(&self, query: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>> {
        self.read(move |trees| {
            let query = query.clone();
            async move { trees.search(query).await }
        })
    }

    /// Finds all chunks that have one of `terms`, best first; `None` if one read cannot return them all.
    pub fn chunks_with_terms(
        &self,
        terms: TermVector,
        root: Option<RootId>,
    ) -> StoreFuture<'_, Option<Vec<ScoredChunk>>> {
        let read = move |trees: SharedTrees| {
            let query = ChunkQuery::lexical(terms.clone(), root, MAX_PAGE);
            async move { trees.search_completely(query).await }
        };
        self.read_or(|| Some(Vec::new()), read)
    }

    /// Acquires the right to change what belongs to a root; see [`Engine::lease`].
    pub fn lease(&self, root: RootId) -> StoreFuture<'_, Lease> {
        async move { self.opening.wait_for_trees().await?.engine().lease(root).await }.boxed()
    }

    /// Returns whether another process seems to have the lease of a root; see [`Engine::is_leased`].
    pub fn is_leased(&self, root: RootId) -> StoreFuture<'_, bool> {
        async move {
            match self.trees() {
                Some(trees) => trees.engine().is_leased(root).await,
                None => self.opening.answer_unopened(false),
            }
        }
        .boxed()
    }

    /// Asks the engine once whether it answers. Fails as the last write did, if it failed, and as a repetition of the
    /// last failed read.
    pub fn health(&self) -> StoreFuture<'_, StoreHealth> {
        async move {
            let trees = self.trees().ok_or_else(|| self.opening.error())?;
            let health = trees.engine().health().await?;
            self.failures.check_last_outcomes(trees).await?;
            Ok(health)
        }
        .boxed()
    }

    /// Fails when writes are impossible until the process is restarted; see [`Engine::check_writes`].
    pub fn check_writes(&self) -> Result<(), StoreError> {
        self.trees()
            .map_or_else(|| Err(self.opening.error()), |trees| trees.engine().check_writes())
    }

    /// Writes everything to disk; see [`Change::Flush`].
    pub fn flush(&self) -> StoreFuture<'_, ()> {
        self.apply(Change::Flush)
    }

    /// Describes damage that is not yet repaired; see [`Engine::damage`].
    pub fn damage(&self) -> Option<String> {
        self.trees()?.engine().damage()
    }

    /// Returns the disk space of a root; see [`Engine::size`].
    pub fn size(&self, root: RootId) -> Option<StorageSize> {
        self.trees()?.size(root)
    }

    /// Returns why calls have been waiting for a second or more.
    pub fn stall(&self) -> Option<String> {
        self.trees()?.engine().stall()
    }

    fn trees(&self) -> Option<SharedTrees> {
        Some(self.opening.trees()?.with_memory(self.is_remembering))
    }

    /// Reads, or returns an empty result where nothing can be stored yet.
    fn read<T, F>(
        &self,
        read: impl Fn(SharedTrees) -> F + Send + Sync + 'static,
    ) -> StoreFuture<'_, T>
    where
        T: Default + Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.read_or(T::default, read)
    }

    fn read_or<T, F>(
        &self,
        empty: impl FnOnce() -> T + Send + 'static,
        read: impl Fn(SharedTrees) -> F + Send + Sync + 'static,
    ) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        async move {
            let Some(trees) = self.trees() else { return self.opening.answer_unopened(empty()) };
            let outcome = read(trees).await;
            if !self.is_remembering {
                self.failures.note_read(outcome.as_ref().err(), read);
            }
            outcome
        }
        .boxed()
    }

    /// Makes a change, waiting a little for the store to open if need be.
    fn apply(&self, change: Change) -> StoreFuture<'_, ()> {
        async move {
            let outcome = match self.trees() {
                // Nothing was written.
                None if matches!(change, Change::Flush) => Ok(()),
                _ => match self.opening.wait_for_trees().await {
                    Ok(trees) => trees.apply(change).await,
                    Err(error) => Err(error),
                },
            };
            self.failures.note_write(outcome.as_ref().err());
            outcome
        }
        .boxed()
    }
}

type RepeatableRead = Arc<dyn Fn(SharedTrees) -> StoreFuture<'static, ()> + Send + Sync>;

/// Failures of the last read and write, for health checks, which an engine may answer while every read fails. A failed
/// read is repeated by the next check; a failed write is reported until one succeeds.
#[derive(Default)]
struct StoreFailures {
    read: Mutex<Option<RepeatableRead>>,
    write: Mutex<Option<String>>,
}

impl StoreFailures {
    fn note_read<T: 'static, F>(
        &self,
        error: Option<&StoreError>,
        read: impl Fn(SharedTrees) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        match error {
            None => self.set_read(None),
            Some(error) if is_failure(error) => self.set_read(Some(Arc::new(move |trees| {
                let reading = read(trees);
                async move { reading.await.map(drop) }.boxed()
            }))),
            Some(_) => {}
        }
    }

    fn note_write(&self, error: Option<&StoreError>) {
        let failure =
            error.filter(|error| is_failure(error)).map(|error| format_error_chain(error));
        if failure.is_some() || error.is_none() {
            *self.write.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        }
    }

    /// Fails as the last write failed, if it did, and repeats a read that failed.
    async fn check_last_outcomes(&self, trees: SharedTrees) -> Result<(), StoreError> {
        let failure = self.write.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reason) = failure {
            return Err(StoreError::Engine { action: "make the last change", reason });
        }
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(read) = read {
            read(trees).await?;
            self.set_read(None);
        }
        Ok(())
    }

    fn set_read(&self, failed: Option<RepeatableRead>) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }
}

/// Returns whether an error is the store's, and not the caller's or that of a store that was never opened.
fn is_failure(error: &StoreError) -> bool {
    error.code() == ErrorCode::StoreUnavailable
        && !matches!(error, StoreError::NotYet { .. } | StoreError::Unopened(_))
}
