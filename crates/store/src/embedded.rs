//! Adapter of the embedded index: nothing to start, all in one folder, one process at a time. The
//! index blocks, so every call runs off the runtime's workers.

use std::{io, path::Path, sync::Arc};

use codeinfo_core::{FileRecord, Root, RootId, task::Tasks};
use codeinfo_index::{Index, IndexHit, IndexOptions, IndexScope, IndexWriter, Snapshot};
use futures_util::{FutureExt, future::ready};
use tokio::sync::Mutex;

use crate::{
    Change, ChunkQuery, ChunkScope, ChunkSelection, EmbeddedStoreSettings, Engine, FileSelection,
    IndexError, Lease, OnMismatch, QueryTarget, ScoredChunk, StorageSize, StoreError, StoreFuture,
    StoreHealth, StoredChunk, engine::check_chunks,
};

/// The embedded engine. Dropping it commits, which blocks for some tenths of a second, and, unless the
/// process is stopping, waits for segments that are being merged.
pub struct EmbeddedEngine {
    index: Arc<Index>,
    /// Held while a change is being made.
    order: Arc<Mutex<()>>,
    background_merge: bool,
    dimensions: usize,
    tasks: Tasks,
}

impl EmbeddedEngine {
    /// Opens or creates the engine in `folder` for vectors of `dimensions` made by `model`, an id.
    pub async fn open(
        folder: &Path,
        model: &str,
        dimensions: usize,
        on_mismatch: OnMismatch,
        settings: &EmbeddedStoreSettings,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let EmbeddedStoreSettings { repairs, seal_chunks, background_merge } = *settings;
        // The next server checks what a command does not read.
        let checks_all = background_merge || repairs;
        let options = IndexOptions {
            model: model.to_owned(),
            dimensions,
            on_mismatch,
            repairs,
            checks_all,
            seal_chunks,
        };
        let index_folder = folder.to_owned();
        let opening = move || Ok(Index::open(&index_folder, &options)?);
        let index = Arc::new(run_blocking(&tasks, "open the index", opening).await?);
        let engine = Self { index, order: Arc::default(), background_merge, dimensions, tasks };
        // Segments that a process without background merging left.
        engine.change_index("inspect its segments", |_| Ok(())).await?;
        Ok(engine)
    }

    /// Reads the id of the model that filled the engine in `folder`, and the length of its vectors;
    /// `None` if there is no index yet.
    pub async fn read_model(
        folder: &Path,
        tasks: &Tasks,
    ) -> Result<Option<(String, usize)>, StoreError> {
        let index_folder = folder.to_owned();
        run_blocking(tasks, "open the index", move || Ok(Index::read_model(&index_folder)?)).await
    }

    fn read<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Snapshot) -> io::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let snapshot = self.index.snapshot();
        let work = move || work(&snapshot).map_err(|error| StoreError::engine(action, &error));
        run_blocking(&self.tasks, action, work).boxed()
    }

    /// Makes a change after those requested before; one that has begun outlives its future.
    async fn change_index(
        &self,
        action: &'static str,
        change: impl FnOnce(&mut IndexWriter) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let permit = Arc::clone(&self.order).lock_owned().await;
        let index = Arc::clone(&self.index);
        // Not in a process that ends after one command.
        let may_merge = self.background_merge && !self.tasks.stop_token().is_cancelled();
        let work = move || {
            index.write(change)?;
            if may_merge {
                index.start_merging();
            }
            drop(index);
            drop(permit);
            Ok(())
        };
        run_blocking(&self.tasks, action, work).await
    }
}

impl Drop for EmbeddedEngine {
    fn drop(&mut self) {
        if !self.tasks.stop_token().is_cancelled() {
            self.index.wait_for_merging();
        }
    }
}

impl Engine for EmbeddedEngine {
    fn backend(&self) -> &'static str {
        "embedded"
    }

    fn roots(&self) -> StoreFuture<'_, Vec<Root>> {
        let mut roots: Vec<Root> = self.index.snapshot().roots().cloned().collect();
        roots.sort_by(|a, b| a.name.cmp(&b.name));
        ready(Ok(roots)).boxed()
    }

    fn files(&self, selection: FileSelection) -> StoreFuture<'_, Vec<FileRecord>> {
        self.read("read the index", move |snapshot| match selection.paths {
            None => snapshot.files(selection.root),
            Some(paths) => snapshot.files_at(selection.root, &paths),
        })
    }

    fn chunks(&self, selection: ChunkSelection) -> StoreFuture<'_, Vec<StoredChunk>> {
        self.read("read the index", move |snapshot| match selection {
            ChunkSelection::Page { owner, after, limit } => snapshot.chunks(owner, after, limit),
            ChunkSelection::Ids(ids) => snapshot.chunks_by_id(&ids),
        })
    }

    fn count(&self, owner: Option<RootId>) -> StoreFuture<'_, u64> {
        self.read("count the chunks", move |snapshot| Ok(snapshot.count(owner)))
    }

    fn search(&self, query: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>> {
        self.read("search", move |snapshot| {
            let scope = match &query.scope {
                ChunkScope::Everything => IndexScope::default(),
                ChunkScope::Root(root) => IndexScope { owner: Some(*root), among: None },
                ChunkScope::Among(set) => {
                    IndexScope { owner: Some(set.owner), among: Some(&set.ids) }
                }
            };
            let hits = match &query.target {
                QueryTarget::Vector(vector) => snapshot.nearest(vector, scope, query.limit),
                QueryTarget::Terms(terms) => snapshot.lexical(terms, scope, query.limit),
            };
            Ok(hits?.into_iter().map(ScoredChunk::from).collect())
        })
    }

    fn apply(&self, change: Change) -> StoreFuture<'_, ()> {
        let action = match &change {
            Change::PutRoot(_) => "write the list of repositories",
            Change::RemoveRoot { .. } => "remove the repository",
            Change::PutFiles(_)
            | Change::RemoveFiles { .. }
            | Change::PutChunks(_)
            | Change::RemoveChunks(_) => "write the index",
            Change::Flush => "write the index to disk",
        };
        let checked = match &change {
            Change::PutChunks(chunks) => check_chunks(chunks, self.dimensions),
            _ => Ok(()),
        };
        async move {
            checked?;
            self.change_index(action, move |writer| apply_to_index(writer, change)).await
        }
        .boxed()
    }

    fn lease(&self, _: RootId) -> StoreFuture<'_, Lease> {
        // The lock of the folder keeps other processes away.
        ready(Ok(Lease::permanent())).boxed()
    }

    fn is_leased(&self, _: RootId) -> StoreFuture<'_, bool> {
        ready(Ok(false)).boxed()
    }

    fn health(&self) -> StoreFuture<'_, StoreHealth> {
        let chunks = self.index.snapshot().count(None);
        ready(Ok(StoreHealth { chunks, ..StoreHealth::default() })).boxed()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        Ok(self.index.check_writes()?)
    }

    fn damage(&self) -> Option<String> {
        self.index.damage()
    }

    fn size(&self, owner: RootId) -> Option<StorageSize> {
        Some(self.index.snapshot().size(owner))
    }
}

impl From<IndexHit> for ScoredChunk {
    fn from(hit: IndexHit) -> Self {
        Self { id: hit.id, score: hit.score, record: hit.record, also: Vec::new() }
    }
}

fn apply_to_index(writer: &mut IndexWriter, change: Change) -> Result<(), IndexError> {
    match change {
        Change::PutRoot(root) => writer.put_root(*root)?,
        Change::RemoveRoot { root, keeps_chunks } => writer.remove_root(root, keeps_chunks)?,
        Change::PutFiles(files) => writer.put_files(files)?,
        Change::RemoveFiles { root, paths } => writer.remove_files(root, &paths),
        Change::PutChunks(chunks) => writer.put_chunks(chunks)?,
        Change::RemoveChunks(ids) => writer.remove_chunks(ids),
        Change::Flush => writer.commit()?,
    }
    Ok(())
}

async fn run_blocking<T: Send + 'static>(
    tasks: &Tasks,
    action: &'static str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tasks.spawn_blocking(work).await.map_err(|error| StoreError::engine(action, &error))?
}
