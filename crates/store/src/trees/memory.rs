//! The files of the roots of a shared store as last read, so that not every search reads them. A root that reads as
//! before has the same files, as [`Root::last_change`] explains.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{FileRecord, Root, RootId, Timestamp};
use uuid::Uuid;

use super::SharedTrees;
use crate::FileSelection;

/// Maximum number of remembered files of all roots, which take about 300 bytes each and 40 a chunk.
const MAX_FILES: usize = 200_000;

#[derive(Debug)]
pub(super) struct RootFiles {
    pub(super) by_path: HashMap<String, FileRecord>,
    pub(super) chunk_ids: Arc<HashSet<Uuid>>,
}

impl RootFiles {
    /// Collects the files of a root whose chunks are stored under `owner`.
    fn from_records(owner: RootId, files: Vec<FileRecord>) -> Self {
        let chunk_ids = files.iter().flat_map(|file| file.chunk_ids(owner, 0..file.chunks));
        let chunk_ids = Arc::new(chunk_ids.collect());
        let by_path = files.into_iter().map(|file| (file.path.clone(), file)).collect();
        Self { by_path, chunk_ids }
    }
}

impl SharedTrees {
    /// Returns a root's files if they are remembered and may be used; otherwise starts to read them for the next time.
    pub(super) fn remembered_files(&self, root: RootId) -> Option<Arc<RootFiles>> {
        if !self.is_remembering {
            return None;
        }
        let remembered = self.memory.files(root);
        if remembered.is_none()
            && let Some(begun) = self.memory.begin_reading(root)
        {
            let (shared, memory) = (Arc::clone(&self.shared), Arc::clone(&self.memory));
            self.shared.tasks.spawn(async move {
                let reading = shared.engine.files(FileSelection { root, paths: None });
                let read = shared.tasks.stop_token().run_until_cancelled(reading).await;
                let learn = move || memory.store_files(&begun, read.and_then(Result::ok));
                drop(shared.tasks.spawn_blocking(learn).await);
            });
        }
        remembered
    }
}

/// The roots as they were last read, and the files of some.
#[derive(Debug, Default)]
pub(super) struct RootMemory {
    state: Mutex<RootMemoryState>,
}

#[derive(Debug, Default)]
struct RootMemoryState {
    roots: Option<Arc<Vec<Root>>>,
    files: HashMap<RootId, RememberedFiles>,
}

#[derive(Debug)]
struct RememberedFiles {
    changed_at: Timestamp,
    /// `None` while they are being read, or where they are too many.
    files: Option<Arc<RootFiles>>,
}

impl RootMemory {
    pub(super) fn roots(&self) -> Option<Arc<Vec<Root>>> {
        self.lock_state().roots.clone()
    }

    /// Stores all roots as they were read, and forgets the files of those that changed.
    pub(super) fn update_roots(&self, roots: &[Root]) {
        let mut state = self.lock_state();
        if state.roots.as_ref().is_some_and(|former| former.as_slice() == roots) {
            return;
        }
        let changes: HashMap<RootId, Timestamp> =
            roots.iter().filter_map(|root| Some((root.id, root.last_change()?))).collect();
        state.files.retain(|id, entry| changes.get(id) == Some(&entry.changed_at));
        state.roots = Some(Arc::new(roots.to_vec()));
    }

    pub(super) fn files(&self, root: RootId) -> Option<Arc<RootFiles>> {
        self.lock_state().files.get(&root)?.files.clone()
    }

    /// Returns a root whose files are neither remembered nor being read; the caller reads and stores them.
    pub(super) fn begin_reading(&self, id: RootId) -> Option<Root> {
        let mut state = self.lock_state();
        let root = state.roots.as_ref()?.iter().find(|root| root.id == id)?.clone();
        let changed_at = root.last_change()?;
        if state.files.contains_key(&id) {
            return None;
        }
        state.files.insert(id, RememberedFiles { changed_at, files: None });
        Some(root)
    }

    /// Stores a root's files unless it has changed since or there is no room. Without files, they are read again later.
    pub(super) fn store_files(&self, root: &Root, records: Option<Vec<FileRecord>>) {
        let files = records.map(|records| RootFiles::from_records(root.chunk_owner(), records));
        let mut state = self.lock_state();
        let current = state.files.get(&root.id).map(|entry| entry.changed_at);
        let Some(changed_at) = current.filter(|at| root.last_change() == Some(*at)) else { return };
        let Some(files) = files else {
            state.files.remove(&root.id);
            return;
        };
        let all = state.files.values().flat_map(|entry| &entry.files);
        let remembered: usize = all.map(|files| files.by_path.len()).sum();
        if remembered + files.by_path.len() <= MAX_FILES {
            state
                .files
                .insert(root.id, RememberedFiles { changed_at, files: Some(Arc::new(files)) });
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, RootMemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let memory = RootMemory::default();
        let app = root(1);
        assert!(memory.roots().is_none() && memory.begin_reading(app.id).is_none());
        memory.update_roots(std::slice::from_ref(&app));
        let begun = memory.begin_reading(app.id).unwrap();
        assert!(memory.begin_reading(app.id).is_none() && memory.files(app.id).is_none());
        memory.store_files(&begun, Some(vec![file(&app)]));
        let renamed = Root { name: "other".to_owned(), ..app.clone() };
        memory.update_roots(std::slice::from_ref(&renamed));
        assert_eq!(memory.files(app.id).unwrap().by_path.len(), 1);
        assert_eq!(*memory.roots().unwrap(), [renamed]);
        for changed in [root(2), Root { last_run: LastRun::Interrupted, ..app.clone() }] {
            memory.update_roots(std::slice::from_ref(&app));
            if let Some(begun) = memory.begin_reading(app.id) {
                memory.store_files(&begun, Some(vec![file(&app)]));
            }
            assert!(memory.files(app.id).is_some());
            memory.update_roots(&[changed]);
            assert!(memory.files(app.id).is_none());
        }
    }

    #[test]
    fn files_that_were_read_while_their_root_changed_are_not_taken_over() {
        let memory = RootMemory::default();
        let app = root(1);
        memory.update_roots(std::slice::from_ref(&app));
        let begun = memory.begin_reading(app.id).unwrap();
        memory.update_roots(&[root(2)]);
        memory.store_files(&begun, Some(vec![file(&app)]));
        assert!(memory.files(app.id).is_none());
        // They can be read again, as after a failure.
        let begun = memory.begin_reading(app.id).unwrap();
        memory.store_files(&begun, None);
        let begun = memory.begin_reading(app.id).unwrap();
        let file = |number| FileRecord { path: format!("{number}.rs"), ..file(&app) };
        memory.store_files(&begun, Some((0..=MAX_FILES).map(file).collect()));
        assert!(memory.files(app.id).is_none() && memory.begin_reading(app.id).is_none());
    }

    #[test]
    fn the_files_of_a_root_that_an_older_version_wrote_are_not_remembered() {
        let memory = RootMemory::default();
        let app = Root { changed_at: None, ..root(1) };
        memory.update_roots(std::slice::from_ref(&app));
        assert!(memory.begin_reading(app.id).is_none());
    }
}
