//! Helpers of tests of ingest: a real store whose writes can be held or made to fail, the
//! real embedder, and repositories in separate folders.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codeinfo_core::{FileRecord, Host, Root, RootId, RunId, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunStatus};
use codeinfo_store::{
    Change, ChunkQuery, ChunkSelection, EmbeddedEngine, Engine, FileSelection, Lease, MAX_PAGE,
    OnMismatch, ScoredChunk, StorageSize, Store, StoreError, StoreFuture, StoreHealth, StoreMode,
    StoredChunk,
};
use futures_util::FutureExt;
use tempfile::TempDir;
use tokio::sync::watch;
use uuid::Uuid;

/// Bounds of the runs; none passes another that people asked for.
pub const LIMITS: codeinfo_ingest::IngestSettings = codeinfo_ingest::IngestSettings {
    max_file_bytes: 1024 * 1024,
    max_queued_runs: 2,
    max_finished_runs: 64,
    run_patience: Duration::MAX,
};

pub struct TestIndex {
    folder: Arc<TempDir>,
    pub store: Store,
    pub engine: Arc<dyn Engine>,
    pub faults: Arc<WriteFaults>,
    pub ingest: Ingest,
    pub tasks: Tasks,
}

impl TestIndex {
    pub async fn new() -> Self {
        let tasks = Tasks::default();
        Self::with_embedder(Arc::new(BuiltinEmbedder::load(tasks.clone()).unwrap()), tasks).await
    }

    pub async fn with_embedder(embedder: Arc<dyn Embedder>, tasks: Tasks) -> Self {
        Self::with_limits(embedder, tasks, LIMITS).await
    }

    pub async fn with_limits(
        embedder: Arc<dyn Embedder>,
        tasks: Tasks,
        limits: codeinfo_ingest::IngestSettings,
    ) -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let settings = codeinfo_store::EmbeddedStoreSettings {
            seal_chunks: 4096,
            background_merge: true,
            repairs: true,
        };
        let model = embedder.model().clone();
        let inner = EmbeddedEngine::open(
            &folder.path().join("store"),
            &model.id(),
            embedder.dimensions().unwrap(),
            OnMismatch::Refuse,
            &settings,
            tasks.clone(),
        )
        .await
        .unwrap();
        let faults = Arc::new(WriteFaults::default());
        let engine = faults.wrap_engine(Arc::new(inner), Some(Arc::clone(&folder)));
        let store = Store::with_engine(Arc::clone(&engine), StoreMode::Exclusive, tasks.clone());
        let ingest = Ingest::new(store.clone(), embedder, limits, tasks.clone());
        Self { folder, store, engine, faults, ingest, tasks }
    }

    /// Makes a folder with files.
    pub fn create_repository(&self, name: &str, files: &[(&str, &str)]) -> TestRepository {
        let folder = self.folder.path().join("repos").join(name);
        fs::create_dir_all(&folder).unwrap();
        let repository = TestRepository(folder.canonicalize().unwrap());
        for (path, text) in files {
            repository.write(path, text);
        }
        repository
    }

    pub async fn ingest(&self, repository: &TestRepository) -> RunStatus {
        self.run_ingest(build_request(&repository.0)).await
    }

    pub async fn run_ingest(&self, request: IngestRequest) -> RunStatus {
        let run = self.ingest.start_run(request).await.unwrap();
        self.wait_for_run(run).await
    }

    pub async fn wait_for_run(&self, run: RunId) -> RunStatus {
        let mut status = self.ingest.watch_run(run).unwrap();
        status.wait_for(|status| status.state.is_final()).await.unwrap().clone()
    }

    /// The only root.
    pub async fn load_root(&self) -> Root {
        let roots = self.store.roots().await.unwrap();
        assert_eq!(roots.len(), 1);
        roots[0].clone()
    }

    /// Ids of all chunks.
    pub async fn list_chunk_ids(&self) -> Vec<Uuid> {
        self.load_stored_chunks().await.into_iter().map(|stored| stored.id).collect()
    }

    /// All chunks by path, as `lines language symbol`.
    pub async fn describe_chunks(&self) -> BTreeMap<String, Vec<String>> {
        let mut chunks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for StoredChunk { record: chunk, .. } in self.load_stored_chunks().await {
            let (language, symbol) =
                (chunk.language.unwrap_or_default(), chunk.symbol.unwrap_or_default());
            let line = format!("{}-{} {language} {symbol}", chunk.start_line, chunk.end_line);
            chunks.entry(chunk.path).or_default().push(line.trim_end().to_owned());
        }
        for lines in chunks.values_mut() {
            lines.sort();
        }
        chunks
    }

    /// All that is stored of each chunk, as JSON.
    pub async fn list_payloads(&self) -> Vec<String> {
        let json = |stored: StoredChunk| serde_json::to_string(&stored.record).unwrap();
        self.load_stored_chunks().await.into_iter().map(json).collect()
    }

    /// Paths of the files that have records.
    pub async fn list_indexed_files(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for root in self.store.roots().await.unwrap() {
            let files = self.store.files(root.id).await.unwrap();
            paths.extend(files.into_iter().map(|file| file.path));
        }
        paths.sort();
        paths
    }

    pub async fn load_stored_chunks(&self) -> Vec<StoredChunk> {
        self.store.chunks(None, None, MAX_PAGE).await.unwrap()
    }
}

/// A folder to be ingested.
pub struct TestRepository(pub PathBuf);

impl TestRepository {
    pub fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.join(path).parent().unwrap()).unwrap();
        fs::write(self.join(path), text).unwrap();
    }
}

pub fn build_request(path: &Path) -> IngestRequest {
    IngestRequest { path: path.to_owned(), ..IngestRequest::default() }
}

/// Faults of writes to a store.
#[derive(Default)]
pub struct WriteFaults {
    /// Number of further writes that succeed; `None` for all.
    left: Mutex<Option<usize>>,
    /// Roots whose next lease is refused, as if another process had them.
    leased: Mutex<BTreeSet<RootId>>,
    is_holding: watch::Sender<bool>,
    held: watch::Sender<bool>,
    /// The most chunks that one write and one removal had.
    largest_write: AtomicUsize,
    largest_removal: AtomicUsize,
}

impl WriteFaults {
    /// Returns an engine whose writes have these faults, in a folder that outlives it.
    pub fn wrap_engine(
        self: &Arc<Self>,
        inner: Arc<dyn Engine>,
        folder: Option<Arc<TempDir>>,
    ) -> Arc<dyn Engine> {
        Arc::new(FaultyEngine { inner, faults: Arc::clone(self), _folder: folder })
    }

    /// Lets this number of writes succeed and all later ones fail, as if the process had been killed.
    pub fn fail_after_writes(&self, writes: usize) {
        *self.left.lock().unwrap() = Some(writes);
    }

    pub fn stop_failing(&self) {
        *self.left.lock().unwrap() = None;
    }

    /// Refuses the next lease of a root, as if another process had it.
    pub fn lease_to_other_process(&self, root: RootId) {
        self.leased.lock().unwrap().insert(root);
    }

    /// Returns whether another process has a root, and ends its lease.
    pub fn end_foreign_lease(&self, root: RootId) -> bool {
        self.leased.lock().unwrap().remove(&root)
    }

    /// Holds writes of chunks until [`WriteFaults::release_writes`].
    pub fn hold_writes(&self) {
        self.held.send_replace(false);
        self.is_holding.send_replace(true);
    }

    pub fn release_writes(&self) {
        self.is_holding.send_replace(false);
    }

    /// Waits until a write is held.
    pub async fn wait_for_held_write(&self) {
        self.held.subscribe().wait_for(|held| *held).await.unwrap();
    }

    /// Returns the most chunks that one write and one removal had.
    pub fn max_chunks_per_write(&self) -> [usize; 2] {
        [&self.largest_write, &self.largest_removal].map(|most| most.load(Ordering::Relaxed))
    }

    fn count_write(&self) -> Result<(), StoreError> {
        let mut left = self.left.lock().unwrap();
        match &mut *left {
            None => Ok(()),
            Some(0) => {
                Err(StoreError::Engine { action: "write", reason: "it was told to".to_owned() })
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }
}

struct FaultyEngine {
    inner: Arc<dyn Engine>,
    faults: Arc<WriteFaults>,
    /// Outlives the store in it, which writes once more when it is dropped.
    _folder: Option<Arc<TempDir>>,
}

impl FaultyEngine {
    /// Removes a root in the steps of an engine, any of which may be the last.
    async fn remove_root(&self, root: RootId) -> Result<(), StoreError> {
        let page = ChunkSelection::Page { owner: Some(root), after: None, limit: MAX_PAGE };
        let chunks = self.inner.chunks(page).await?;
        let ids = chunks.into_iter().map(|chunk| chunk.id).collect();
        self.inner.apply(Change::RemoveChunks(ids)).await?;
        self.faults.count_write()?;
        let files = self.inner.files(FileSelection { root, paths: None }).await?;
        let paths = files.into_iter().map(|file| file.path).collect();
        self.inner.apply(Change::RemoveFiles { root, paths }).await?;
        self.faults.count_write()?;
        self.inner.apply(Change::RemoveRoot { root, keeps_chunks: false }).await
    }
}

impl Engine for FaultyEngine {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn host(&self) -> Option<Host> {
        self.inner.host()
    }

    fn roots(&self) -> StoreFuture<'_, Vec<Root>> {
        self.inner.roots()
    }

    fn files(&self, selection: FileSelection) -> StoreFuture<'_, Vec<FileRecord>> {
        self.inner.files(selection)
    }

    fn chunks(&self, selection: ChunkSelection) -> StoreFuture<'_, Vec<StoredChunk>> {
        self.inner.chunks(selection)
    }

    fn count(&self, owner: Option<RootId>) -> StoreFuture<'_, u64> {
        self.inner.count(owner)
    }

    fn search(&self, query: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>> {
        self.inner.search(query)
    }

    fn apply(&self, change: Change) -> StoreFuture<'_, ()> {
        match &change {
            Change::PutChunks(chunks) => {
                self.faults.largest_write.fetch_max(chunks.len(), Ordering::Relaxed);
            }
            Change::RemoveChunks(ids) => {
                self.faults.largest_removal.fetch_max(ids.len(), Ordering::Relaxed);
            }
            _ => {}
        }
        async move {
            if matches!(change, Change::PutChunks(_)) && *self.faults.is_holding.borrow() {
                self.faults.held.send_replace(true);
                let mut holding = self.faults.is_holding.subscribe();
                drop(holding.wait_for(|holding| !holding).await);
            }
            if !matches!(change, Change::Flush) {
                self.faults.count_write()?;
            }
            match change {
                Change::RemoveRoot { root, keeps_chunks: false } => self.remove_root(root).await,
                change => self.inner.apply(change).await,
            }
        }
        .boxed()
    }

    fn lease(&self, root: RootId) -> StoreFuture<'_, Lease> {
        self.inner.lease(root)
    }

    fn is_leased(&self, root: RootId) -> StoreFuture<'_, bool> {
        if self.faults.end_foreign_lease(root) {
            return async { Ok(true) }.boxed();
        }
        self.inner.is_leased(root)
    }

    fn health(&self) -> StoreFuture<'_, StoreHealth> {
        self.inner.health()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        self.inner.check_writes()
    }

    fn damage(&self) -> Option<String> {
        self.inner.damage()
    }

    fn size(&self, owner: RootId) -> Option<StorageSize> {
        self.inner.size(owner)
    }

    fn stall(&self) -> Option<String> {
        self.inner.stall()
    }
}

/// Returns the chunks of a tree, wherever they are stored: paths, lines and text.
pub async fn list_tree_chunks(store: &Store, root: RootId) -> BTreeSet<(String, u32, String)> {
    let chunks = store.chunks(Some(root), None, MAX_PAGE).await.unwrap();
    assert!(chunks.iter().all(|stored| stored.record.root == root));
    let place =
        |stored: StoredChunk| (stored.record.path, stored.record.start_line, stored.record.text);
    chunks.into_iter().map(place).collect()
}

/// Writes enough files for several writes of a run, with other text in each version.
pub fn write_large_repository(folder: &Path, version: &str) {
    for file in 0..120 {
        let functions = (0..8).map(|n| {
            let body = format!("    let pump = \"{version} {file} {n}\";\n").repeat(20);
            format!("/// Fills tank {n}.\nfn fill_{file}_{n}() {{\n{body}}}\n\n")
        });
        let text: String = functions.collect();
        fs::write(folder.join(format!("tank_{file:03}.rs")), text).unwrap();
    }
}
