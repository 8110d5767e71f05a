//! The ids of the chunks of a root, by which it is searched apart from its sibling trees; remembered until it changes.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::RootId;
use uuid::Uuid;

use super::{SharedTrees, shared_engine::SharedEngine};
use crate::{ChunkSet, FileSelection, StoreError};

/// Maximum chunks that each search of a root with sibling trees names to the server, 40 bytes each. More are named only
/// where most of the nearest belong to siblings.
const MAX_NAMED: usize = 2_000;

impl SharedTrees {
    /// Returns the chunks among which a root of an owner is searched, where they are named one by one.
    pub(super) async fn chunk_set(
        &self,
        root: RootId,
        owner: RootId,
        are_siblings_near: bool,
        changes: u64,
    ) -> Result<Option<ChunkSet>, StoreError> {
        let has_siblings = self.shared.family().await?.has_siblings(owner);
        let remembered = if has_siblings { self.remembered_files(root) } else { None };
        let ids = match remembered.map(|files| Arc::clone(&files.chunk_ids)) {
            Some(ids) if are_siblings_near || ids.len() <= MAX_NAMED => ids,
            None if are_siblings_near || (has_siblings && self.shared.views.are_kept()) => {
                self.ids.load(&self.shared, root, owner, changes).await?
            }
            Some(_) | None => return Ok(None),
        };
        Ok(Some(ChunkSet { owner, ids }))
    }
}

/// Maximum number of roots whose ids are remembered, which takes about 40 bytes a chunk.
const MAX_ID_ROOTS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct ChunkIds {
    remembered: Mutex<HashMap<RootId, RememberedIds>>,
}

#[derive(Debug, Clone)]
struct RememberedIds {
    /// Changes of the root before it was read.
    changes: u64,
    owner: RootId,
    ids: Arc<HashSet<Uuid>>,
}

impl ChunkIds {
    /// Returns the chunk ids of a root after `changes` changes of it.
    pub(super) async fn load(
        &self,
        shared: &SharedEngine,
        root: RootId,
        owner: RootId,
        changes: u64,
    ) -> Result<Arc<HashSet<Uuid>>, StoreError> {
        let remembered = self.lock().get(&root).cloned();
        let is_current = |known: &RememberedIds| (known.changes, known.owner) == (changes, owner);
        if let Some(known) = remembered.filter(is_current) {
            return Ok(known.ids);
        }
        let listed = list_chunk_ids(shared, root, owner).await?;
        let ids: Arc<HashSet<Uuid>> = Arc::new(listed.into_iter().collect());
        if shared.views.are_kept() {
            let mut all = self.lock();
            if all.len() >= MAX_ID_ROOTS {
                all.clear();
            }
            all.insert(root, RememberedIds { changes, owner, ids: Arc::clone(&ids) });
        }
        Ok(ids)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RootId, RememberedIds>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn list_chunk_ids(
    shared: &SharedEngine,
    root: RootId,
    owner: RootId,
) -> Result<Vec<Uuid>, StoreError> {
    let files = shared.engine.files(FileSelection { root, paths: None }).await?;
    let derive_ids = move || {
        let ids = files.iter().flat_map(|file| file.chunk_ids(owner, 0..file.chunks));
        ids.collect()
    };
    let ids = shared.tasks.spawn_blocking(derive_ids).await;
    ids.map_err(|error| StoreError::engine("name chunks", &error))
}
