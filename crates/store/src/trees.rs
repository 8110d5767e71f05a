//! Gives each root its own view of the chunks that the worktrees of a repository share.
//!
//! A chunk is stored once for a repository, under its [`Root::chunk_owner`]; a root has records of its files, and has a
//! chunk while its record of the chunk's path names the chunk's version. Search results are looked up by that, and more
//! are requested where many belong to other roots. A chunk is removed when no root needs it any more.
//!
//! In a git repository, former versions of files are kept for a week, so that switching back to a branch embeds
//! nothing: their records are stored under [`RootId::former_record_ids`], which no search reads.

mod chunk_ids;
mod family;
mod memory;
mod shared_engine;
mod view;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use codeinfo_core::{ChunkRecord, FileRecord, Root, RootId, task::Tasks};
use futures_util::future::try_join_all;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::{
    Change, ChunkQuery, ChunkScope, ChunkSelection, Engine, FileSelection, MAX_PAGE, ScoredChunk,
    StorageSize, StoreError, StoreMode, StoredChunk,
};
use chunk_ids::{ChunkIds, list_chunk_ids};
use memory::RootMemory;
use shared_engine::SharedEngine;
use view::FileView;

/// Factor by which more chunks are requested where too many belonged to other roots.
const LIMIT_GROWTH: usize = 4;
/// The same for a server, and the minimum number of chunks requested from one for a root with sibling trees.
const SERVER_LIMIT_GROWTH: usize = 16;
const MIN_SERVER_LIMIT: usize = 32;
/// Above this limit, the chunks of the one root that is searched are named by their ids.
const MAX_UNNAMED_LIMIT: usize = 2_000;
/// Maximum number of repetitions of a read whose roots changed meanwhile.
const MAX_TRIES: usize = 3;

/// An engine and the trees of its roots. Clones share it.
#[derive(Clone)]
pub(crate) struct SharedTrees {
    shared: Arc<SharedEngine>,
    /// Held while a change is being made.
    order: Arc<Mutex<()>>,
    ids: Arc<ChunkIds>,
    memory: Arc<RootMemory>,
    is_flat: bool,
    /// True if reads may return remembered files.
    is_remembering: bool,
}

/// A chunk that roots may have.
trait SharedChunk: Send {
    fn record(&self) -> &ChunkRecord;
    fn set_roots(&mut self, root: RootId, also: Vec<RootId>);
}

impl SharedChunk for ScoredChunk {
    fn record(&self) -> &ChunkRecord {
        &self.record
    }

    fn set_roots(&mut self, root: RootId, also: Vec<RootId>) {
        self.record.root = root;
        self.also = also;
    }
}

impl SharedChunk for StoredChunk {
    fn record(&self) -> &ChunkRecord {
        &self.record
    }

    fn set_roots(&mut self, root: RootId, _: Vec<RootId>) {
        self.record.root = root;
    }
}

impl SharedTrees {
    /// Wraps `engine`. If others write to it, files of roots are looked up each time, except in [`Self::with_memory`].
    pub(crate) fn new(engine: Arc<dyn Engine>, mode: StoreMode, tasks: Tasks) -> Self {
        let shared = Arc::new(SharedEngine::new(engine, mode == StoreMode::Shared, tasks));
        let (order, ids, memory) = Default::default();
        let is_flat = mode == StoreMode::Flat;
        Self { shared, order, ids, memory, is_flat, is_remembering: false }
    }

    /// Returns a view that may return what is remembered.
    pub(crate) fn with_memory(self, is_remembering: bool) -> Self {
        Self { is_remembering, ..self }
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        self.shared.engine.as_ref()
    }

    pub(crate) fn remembered_roots(&self) -> Option<Arc<Vec<Root>>> {
        self.memory.roots()
    }

    pub(crate) async fn roots(&self) -> Result<Vec<Root>, StoreError> {
        let changes = self.shared.families.changes();
        let roots = self.engine().roots().await?;
        if self.shared.families.is_shared() {
            self.shared.families.learn(&roots, changes);
            self.memory.update_roots(&roots);
        }
        Ok(roots)
    }

    pub(crate) async fn files(
        &self,
        selection: FileSelection,
    ) -> Result<Vec<FileRecord>, StoreError> {
        let Some(files) = self.remembered_files(selection.root) else {
            return self.engine().files(selection).await;
        };
        Ok(match selection.paths {
            None => files.by_path.values().cloned().collect(),
            Some(paths) => {
                paths.iter().filter_map(|path| files.by_path.get(path)).cloned().collect()
            }
        })
    }

    pub(crate) async fn chunks(
        &self,
        root: Option<RootId>,
        mut after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        if self.is_flat {
            return self.engine().chunks(ChunkSelection::Page { owner: root, after, limit }).await;
        }
        let limit = limit.min(MAX_PAGE);
        let family = self.shared.family().await?;
        let owner = root.map(|root| family.owner(root));
        if let (Some(root), Some(owner)) = (root, owner)
            && family.has_siblings(owner)
        {
            // Chunks of other trees may be many more.
            let mut ids = list_chunk_ids(&self.shared, root, owner).await?;
            ids.sort_unstable();
            ids.retain(|id| after.is_none_or(|after| after < *id));
            ids.truncate(limit);
            let mut page = self.engine().chunks(ChunkSelection::Ids(ids)).await?;
            page.sort_unstable_by_key(|stored| stored.id);
            return self.keep_visible(Some(root), page).await;
        }
        let mut visible = Vec::new();
        while visible.len() < limit {
            let page = self.engine().chunks(ChunkSelection::Page { owner, after, limit }).await?;
            let is_last = page.len() < limit;
            after = page.last().map(|stored| stored.id);
            visible.extend(self.keep_visible(root, page).await?);
            if is_last {
                break;
            }
        }
        visible.truncate(limit);
        Ok(visible)
    }

    pub(crate) async fn chunks_by_id(
        &self,
        ids: Vec<Uuid>,
    ) -> Result<Vec<StoredChunk>, StoreError> {
        let chunks = self.engine().chunks(ChunkSelection::Ids(ids)).await?;
        self.keep_visible(None, chunks).await
    }

    pub(crate) async fn count(&self, root: Option<RootId>) -> Result<u64, StoreError> {
        let Some(root) = root.filter(|_| !self.is_flat) else {
            return self.engine().count(root).await;
        };
        let files = self.engine().files(FileSelection { root, paths: None }).await?;
        Ok(files.iter().map(|file| u64::from(file.chunks)).sum())
    }

    pub(crate) fn size(&self, root: RootId) -> Option<StorageSize> {
        let family = self.shared.families.get();
        let owner = family.as_ref().map_or(root, |family| family.owner(root));
        let size = self.engine().size(owner)?;
        let Some(family) = family.filter(|family| family.has_siblings(owner)) else {
            return Some(size);
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is an estimate"
        )]
        let bytes = (size.bytes as f64 * family.chunk_share(root)) as u64;
        Some(StorageSize { bytes, is_estimate: true })
    }

    /// Searches the chunks of one root or of all. Reads from the engine until enough of its results belong to the root,
    /// or there are no more. A root with sibling trees is searched by the ids of its chunks, where these are remembered,
    /// or where most of the results belong to siblings.
    pub(crate) async fn search(&self, query: ChunkQuery) -> Result<Vec<ScoredChunk>, StoreError> {
        let root = match query.scope {
            ChunkScope::Everything => None,
            ChunkScope::Root(root) => Some(root),
            ChunkScope::Among(_) => return self.engine().search(query).await,
        };
        if self.is_flat {
            return self.engine().search(query).await;
        }
        let family = self.shared.family().await?;
        let owner = root.map(|root| family.owner(root));
        let limit = query.limit.min(MAX_PAGE);
        let has_siblings = owner.is_some_and(|owner| family.has_siblings(owner));
        let (mut engine_limit, mut growth) = (limit, LIMIT_GROWTH);
        if has_siblings && self.is_remembering && limit > 0 {
            // Asking a server for more takes another round trip.
            (engine_limit, growth) = ((2 * limit).max(MIN_SERVER_LIMIT), SERVER_LIMIT_GROWTH);
        }
        let mut tries = 0;
        loop {
            let changes = self.shared.views.changes(root);
            let is_many = engine_limit > MAX_UNNAMED_LIMIT.max(limit);
            let among = match root.zip(owner) {
                Some((root, owner)) => self.chunk_set(root, owner, is_many, changes).await?,
                None => None,
            };
            let is_named = among.is_some();
            let (scope, query_limit) = match among {
                Some(set) => (ChunkScope::Among(set), limit),
                None => (owner.into(), engine_limit),
            };
            let engine_query =
                ChunkQuery { scope, limit: query_limit, target: query.target.clone() };
            let found = self.engine().search(engine_query).await?;
            let is_all = is_named || found.len() < engine_limit || engine_limit >= MAX_PAGE;
            let mut visible = self.keep_visible(root, found).await?;
            // Results are of one moment, and the files of roots of another.
            if changes != self.shared.views.changes(root) && tries < MAX_TRIES {
                tries += 1;
                continue;
            }
            if is_all || visible.len() >= limit {
                visible.truncate(limit);
                return Ok(visible);
            }
            engine_limit = (engine_limit * growth).min(MAX_PAGE);
        }
    }

    /// Searches once; `None` if there may be more results than the limit.
    pub(crate) async fn search_completely(
        &self,
        query: ChunkQuery,
    ) -> Result<Option<Vec<ScoredChunk>>, StoreError> {
        let (mut engine_query, limit) = (query.clone(), query.limit);
        let mut searched_root = None;
        if let ChunkScope::Root(root) = query.scope {
            engine_query.scope = ChunkScope::Root(self.owner(root).await?);
            searched_root = Some(root);
        }
        let found = self.engine().search(engine_query).await?;
        if found.len() >= limit {
            return Ok(None);
        }
        self.keep_visible(searched_root, found).await.map(Some)
    }

    async fn owner(&self, root: RootId) -> Result<RootId, StoreError> {
        if self.is_flat { Ok(root) } else { Ok(self.shared.family().await?.owner(root)) }
    }

    /// Keeps the chunks that one root has, or any root, and sets their roots.
    async fn keep_visible<T: SharedChunk>(
        &self,
        searched_root: Option<RootId>,
        found: Vec<T>,
    ) -> Result<Vec<T>, StoreError> {
        if self.is_flat {
            return Ok(found);
        }
        let family = self.shared.family().await?;
        let mut paths: HashMap<RootId, BTreeSet<&str>> = HashMap::new();
        for chunk in &found {
            let ChunkRecord { root, path, .. } = chunk.record();
            paths.entry(*root).or_default().insert(path);
        }
        let trees = paths.iter().flat_map(|(owner, paths)| {
            let trees = family
                .trees_of(*owner)
                .filter(|root| searched_root.is_none_or(|searched| searched == *root));
            trees.map(move |root| (*owner, root, paths))
        });
        // On a server, each is a request.
        let loading = trees.map(|(owner, root, paths)| async move {
            Ok::<_, StoreError>((owner, root, self.load_view(root, paths).await?))
        });
        let mut views: HashMap<RootId, Vec<(RootId, FileView)>> = HashMap::new();
        for (owner, root, view) in try_join_all(loading).await? {
            views.entry(owner).or_default().push((root, view));
        }
        let visible = found.into_iter().filter_map(|mut chunk| {
            let ChunkRecord { root, path, version, .. } = chunk.record();
            let views_of_owner = views.get(root)?.iter();
            let mut roots = views_of_owner
                .filter(|(_, view)| view.has_version(path, version))
                .map(|(root, _)| *root);
            let (first, also) = (roots.next()?, roots.collect());
            chunk.set_roots(first, also);
            Some(chunk)
        });
        Ok(visible.collect())
    }

    async fn load_view(
        &self,
        root: RootId,
        paths: &BTreeSet<&str>,
    ) -> Result<FileView, StoreError> {
        if let Some(files) = self.remembered_files(root) {
            return Ok(FileView::Remembered(files));
        }
        if let Some(view) = self.shared.views.get(root) {
            return Ok(view);
        }
        // A write at the same time must not be missed.
        let permit =
            if self.shared.views.are_kept() { Some(self.order.lock().await) } else { None };
        let view = self.shared.load_view(root, paths).await;
        drop(permit);
        view
    }

    /// Makes a change after those requested before it, and completes it even if the caller is dropped, so that the
    /// views of roots follow the engine.
    pub(crate) async fn apply(&self, change: Change) -> Result<(), StoreError> {
        if self.is_flat {
            return self.engine().apply(change).await;
        }
        let action = match &change {
            Change::PutRoot(_) => "write a root",
            Change::RemoveRoot { .. } => "remove a root",
            Change::PutFiles(_) => "write files",
            Change::RemoveFiles { .. } => "remove files",
            Change::PutChunks(_) => "write chunks",
            Change::RemoveChunks(_) => "remove chunks",
            Change::Flush => "flush",
        };
        let permit = Arc::clone(&self.order).lock_owned().await;
        let shared = Arc::clone(&self.shared);
        let work = async move {
            let outcome = shared.apply(change).await;
            drop(permit);
            outcome
        };
        let outcome = self.shared.tasks.spawn_handle(work).await;
        outcome.map_err(|error| StoreError::engine(action, &error))?
    }
}
