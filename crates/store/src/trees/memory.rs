//! What the roots of a shared store had when they were last read, so that not every search asks for it.
//!
//! A run writes its root before it changes anything of it and again when it ends. A root that reads as before therefore
//! has the files that it had.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{FileRecord, Root, RootId, Timestamp};
use uuid::Uuid;

use super::{
    super::{Among, StoreError},
    Trees,
};

/// The most files of all roots that are remembered, which take about 300 bytes each and 40 a chunk.
const MAX_FILES: usize = 200_000;

/// Maximum number of chunks that every search of a root with other trees names to the server, 40 bytes each. More are
/// named only where most of the nearest belong to the other trees.
const MAX_NAMED: usize = 2_000;

/// What one root has.
#[derive(Debug)]
pub(super) struct Files {
    /// Its files by their paths.
    pub(super) by_path: HashMap<String, FileRecord>,
    /// The ids of its chunks.
    chunk_ids: Arc<HashSet<Uuid>>,
}

impl Files {
    /// Takes over the files of a root whose chunks are kept under `owner`.
    fn from_records(owner: RootId, files: Vec<FileRecord>) -> Self {
        let chunk_ids = files.iter().flat_map(|file| file.chunk_ids(owner, 0..file.chunks));
        let chunk_ids = Arc::new(chunk_ids.collect());
        let by_path = files.into_iter().map(|file| (file.path.clone(), file)).collect();
        Self { by_path, chunk_ids }
    }
}

impl Trees {
    /// Returns the files of a root, if they are remembered and may be used, and has them read otherwise, so that they
    /// are there the next time.
    pub(super) fn remembered_files(&self, root: RootId) -> Option<Arc<Files>> {
        if !self.is_remembering {
            return None;
        }
        let known = self.memory.files(root);
        if known.is_none()
            && let Some(begun) = self.memory.begin(root)
        {
            let (inner, memory) = (Arc::clone(&self.inner), Arc::clone(&self.memory));
            let tasks = self.tasks.clone();
            self.tasks.spawn(async move {
                let read = tasks.stop_token().run_until_cancelled(inner.engine.files(root)).await;
                let learn = move || memory.learn(&begun, read.and_then(Result::ok));
                drop(tasks.spawn_blocking(learn).await);
            });
        }
        known
    }

    /// Returns the chunks among which a root of an owner is searched, where they are to be named one by one.
    pub(super) async fn among(
        &self,
        root: RootId,
        owner: RootId,
        are_others_near: bool,
        changes: u64,
    ) -> Result<Option<Among>, StoreError> {
        let has_others = 1 < self.inner.family().await?.of(owner).count();
        let remembered = if has_others { self.remembered_files(root) } else { None };
        let ids = match remembered.map(|files| Arc::clone(&files.chunk_ids)) {
            Some(ids) if are_others_near || ids.len() <= MAX_NAMED => ids,
            None if are_others_near || (has_others && self.inner.views.is_kept()) => {
                self.ids.of((&self.inner, &self.tasks), (root, owner), changes).await?
            }
            Some(_) | None => return Ok(None),
        };
        Ok(Some(Among { owner, ids }))
    }
}

/// The roots as they were last read, and the files of some.
#[derive(Debug, Default)]
pub(super) struct Memory {
    state: Mutex<MemoryState>,
}

#[derive(Debug, Default)]
struct MemoryState {
    roots: Option<Arc<Vec<Root>>>,
    files: HashMap<RootId, RememberedFiles>,
}

/// The files of a root that last changed at a time.
#[derive(Debug)]
struct RememberedFiles {
    changed_at: Timestamp,
    /// `None` while they are being read, or where they are too many.
    files: Option<Arc<Files>>,
}

impl Memory {
    /// Returns the roots as they were last read.
    pub(super) fn roots(&self) -> Option<Arc<Vec<Root>>> {
        self.state().roots.clone()
    }

    /// Takes over all roots, as they were read, and forgets the files of those that changed.
    pub(super) fn follow(&self, roots: &[Root]) {
        let mut state = self.state();
        if state.roots.as_ref().is_some_and(|known| known.as_slice() == roots) {
            return;
        }
        let changes: HashMap<RootId, Timestamp> =
            roots.iter().filter_map(|root| Some((root.id, last_change(root)?))).collect();
        state.files.retain(|id, entry| changes.get(id) == Some(&entry.changed_at));
        state.roots = Some(Arc::new(roots.to_vec()));
    }

    /// Returns the files of a root, if they are remembered.
    pub(super) fn files(&self, of: RootId) -> Option<Arc<Files>> {
        self.state().files.get(&of)?.files.clone()
    }

    /// Returns a root if its files are neither remembered nor being read: the caller then reads them, and calls
    /// [`Self::learn`].
    pub(super) fn begin(&self, of: RootId) -> Option<Root> {
        let mut state = self.state();
        let root = state.roots.as_ref()?.iter().find(|root| root.id == of)?.clone();
        let changed_at = last_change(&root)?;
        if state.files.contains_key(&of) {
            return None;
        }
        state.files.insert(of, RememberedFiles { changed_at, files: None });
        Some(root)
    }

    /// Takes over the files of a root as it was, unless it has changed since or there is no room. Without files, they
    /// are to be read again.
    pub(super) fn learn(&self, root: &Root, files: Option<Vec<FileRecord>>) {
        let files = files.map(|files| Files::from_records(root.chunk_owner(), files));
        let mut state = self.state();
        let current = state.files.get(&root.id).map(|entry| entry.changed_at);
        let Some(changed_at) = current.filter(|at| last_change(root) == Some(*at)) else { return };
        let Some(files) = files else {
            state.files.remove(&root.id);
            return;
        };
        let all = state.files.values().flat_map(|entry| &entry.files);
        let known: usize = all.map(|files| files.by_path.len()).sum();
        if known + files.by_path.len() <= MAX_FILES {
            state
                .files
                .insert(root.id, RememberedFiles { changed_at, files: Some(Arc::new(files)) });
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns when the files of a root last began to change; `None` while a run may be changing them.
fn last_change(root: &Root) -> Option<Timestamp> {
    root.changed_at.filter(|_| root.last_run.is_completed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeinfo_core::LastRun;

    fn root(changed_at: u64) -> Root {
        let changed_at = serde_json::from_value(changed_at.into()).unwrap();
        Root { changed_at, ..Root::from_folder("/app".into()) }
    }

    fn file(root: &Root) -> FileRecord {
        let (path, version) = ("a.rs".to_owned(), "16-0".to_owned());
        FileRecord { root: root.id, path, version, size: 1, modified_ns: 1, chunks: 1 }
    }

    #[test]
    fn files_are_remembered_until_their_root_changes() {
        let memory = Memory::default();
        let app = root(1);
        assert!(memory.roots().is_none() && memory.begin(app.id).is_none());
        memory.follow(std::slice::from_ref(&app));
        let begun = memory.begin(app.id).unwrap();
        assert!(memory.begin(app.id).is_none() && memory.files(app.id).is_none());
        memory.learn(&begun, Some(vec![file(&app)]));
        let renamed = Root { name: "other".to_owned(), ..app.clone() };
        memory.follow(std::slice::from_ref(&renamed));
        assert_eq!(memory.files(app.id).unwrap().by_path.len(), 1);
        assert_eq!(*memory.roots().unwrap(), [renamed]);
        for changed in [root(2), Root { last_run: LastRun::Interrupted, ..app.clone() }] {
            memory.follow(std::slice::from_ref(&app));
            if let Some(begun) = memory.begin(app.id) {
                memory.learn(&begun, Some(vec![file(&app)]));
            }
            assert!(memory.files(app.id).is_some());
            memory.follow(&[changed]);
            assert!(memory.files(app.id).is_none());
        }
    }

    #[test]
    fn files_that_were_read_while_their_root_changed_are_not_taken_over() {
        let memory = Memory::default();
        let app = root(1);
        memory.follow(std::slice::from_ref(&app));
        let begun = memory.begin(app.id).unwrap();
        memory.follow(&[root(2)]);
        memory.learn(&begun, Some(vec![file(&app)]));
        assert!(memory.files(app.id).is_none());
        // They can be read again, as after a failure.
        let begun = memory.begin(app.id).unwrap();
        memory.learn(&begun, None);
        let begun = memory.begin(app.id).unwrap();
        let file = |number| FileRecord { path: format!("{number}.rs"), ..file(&app) };
        memory.learn(&begun, Some((0..=MAX_FILES).map(file).collect()));
        assert!(memory.files(app.id).is_none() && memory.begin(app.id).is_none());
    }

    #[test]
    fn the_files_of_a_root_that_an_older_version_wrote_are_not_remembered() {
        let memory = Memory::default();
        let app = Root { changed_at: None, ..root(1) };
        memory.follow(std::slice::from_ref(&app));
        assert!(memory.begin(app.id).is_none());
    }
}
