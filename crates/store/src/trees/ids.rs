//! The ids of all chunks of a root, remembered until the root changes.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::RootId;
use uuid::Uuid;

use super::inner::Inner;
use crate::{FileSelection, StoreError};

/// Maximum number of roots whose ids are remembered, which takes about 40 bytes a chunk.
const MAX_REMEMBERED: usize = 32;

/// Chunk ids of some roots.
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
        inner: &Inner,
        root: RootId,
        owner: RootId,
        changes: u64,
    ) -> Result<Arc<HashSet<Uuid>>, StoreError> {
        let remembered = self.lock().get(&root).cloned();
        let is_current = |known: &RememberedIds| (known.changes, known.owner) == (changes, owner);
        if let Some(known) = remembered.filter(is_current) {
            return Ok(known.ids);
        }
        let listed = list_chunk_ids(inner, root, owner).await?;
        let ids: Arc<HashSet<Uuid>> = Arc::new(listed.into_iter().collect());
        if inner.views.are_kept() {
            let mut all = self.lock();
            if MAX_REMEMBERED <= all.len() {
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

/// Reads the ids of all chunks of a root, in no fixed order.
pub(super) async fn list_chunk_ids(
    inner: &Inner,
    root: RootId,
    owner: RootId,
) -> Result<Vec<Uuid>, StoreError> {
    let files = inner.engine.files(FileSelection { root, paths: None }).await?;
    let derive_ids = move || {
        let ids = files.iter().flat_map(|file| file.chunk_ids(owner, 0..file.chunks));
        ids.collect()
    };
    let failed = |error: tokio::task::JoinError| StoreError::Engine {
        action: "name chunks",
        reason: error.to_string(),
    };
    inner.tasks.spawn_blocking(derive_ids).await.map_err(failed)
}
