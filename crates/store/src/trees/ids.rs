//! The ids of all chunks of a root, remembered while it stays as it is.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{RootId, task::Tasks};
use uuid::Uuid;

use super::{super::StoreError, inner::Inner};

/// The ids of so many roots are remembered, which takes about 40 bytes a chunk.
const MAX_REMEMBERED: usize = 32;

/// Ids of some roots.
#[derive(Debug, Default)]
pub(super) struct Ids {
    remembered: Mutex<Remembered>,
}

/// The ids of each root, after so many changes of it, and under which owner.
type Remembered = HashMap<RootId, (u64, RootId, Arc<HashSet<Uuid>>)>;

impl Ids {
    /// Returns the ids of a root, as they are after so many changes of it.
    pub(super) async fn of(
        &self,
        (inner, tasks): (&Inner, &Tasks),
        (root, owner): (RootId, RootId),
        changes: u64,
    ) -> Result<Arc<HashSet<Uuid>>, StoreError> {
        let known = self.all().get(&root).cloned();
        if let Some((.., ids)) = known.filter(|(at, of, _)| (*at, *of) == (changes, owner)) {
            return Ok(ids);
        }
        let ids: Vec<Uuid> = listed((inner, tasks), root, owner).await?;
        let ids: Arc<HashSet<Uuid>> = Arc::new(ids.into_iter().collect());
        if inner.views.is_kept() {
            let mut all = self.all();
            if MAX_REMEMBERED <= all.len() {
                all.clear();
            }
            all.insert(root, (changes, owner, Arc::clone(&ids)));
        }
        Ok(ids)
    }

    fn all(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the ids of all chunks of a root, in no fixed order.
pub(super) async fn listed(
    (inner, tasks): (&Inner, &Tasks),
    root: RootId,
    owner: RootId,
) -> Result<Vec<Uuid>, StoreError> {
    let files = inner.engine.files(root).await?;
    let made = move || {
        let ids = files.iter().flat_map(|file| file.chunk_ids(owner, 0..file.chunks));
        ids.collect()
    };
    let failed = |error: tokio::task::JoinError| StoreError::Engine {
        action: "name chunks",
        reason: error.to_string(),
    };
    tasks.spawn_blocking(made).await.map_err(failed)
}
