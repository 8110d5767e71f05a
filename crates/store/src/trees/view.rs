//! Which version of each path a root has.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use codeinfo_core::{FileRecord, RootId};

use super::memory::Files;

/// What one root has of some paths, or of all.
#[derive(Debug, Clone)]
pub(super) enum View {
    /// All that it has, by the hashes of path and version.
    Known(Arc<Known>),
    /// The same of a root of a shared store, as it was remembered.
    Remembered(Arc<Files>),
    /// What was read for one question.
    Read(HashMap<String, String>),
}

/// All that a root has. Hashes are of 64 bits with keys of the process, so that nobody can make two meet.
#[derive(Debug, Default)]
pub(super) struct Known {
    versions: RwLock<HashMap<u64, u64>>,
    hasher: RandomState,
}

impl View {
    /// Takes over records of files.
    pub(super) fn of(files: &[FileRecord]) -> Self {
        let versions = files.iter().map(|file| (file.path.clone(), file.version.clone()));
        Self::Read(versions.collect())
    }

    /// Whether the root has a version of a path.
    pub(super) fn has(&self, path: &str, version: &str) -> bool {
        match self {
            Self::Known(known) => known.read().get(&known.hash(path)) == Some(&known.hash(version)),
            Self::Remembered(files) => {
                files.by_path.get(path).is_some_and(|file| file.version == version)
            }
            Self::Read(versions) => versions.get(path).is_some_and(|known| known == version),
        }
    }
}

impl Known {
    fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    // No change can be left half made in a way that matters to a reader of another path.
    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, u64>> {
        self.versions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, u64>> {
        self.versions.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all roots have that were asked for, unless other processes change it, too.
#[derive(Debug)]
pub(super) struct Views {
    known: RwLock<HashMap<RootId, Arc<Known>>>,
    is_kept: bool,
    /// How many changes of each root were noted, and of all.
    changes: RwLock<HashMap<Option<RootId>, u64>>,
}

impl Views {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { known: RwLock::default(), is_kept: !is_shared, changes: RwLock::default() }
    }

    /// Whether what was learned is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Returns a number that is another one after each change of a root, or of any.
    pub(super) fn changes(&self, of: Option<RootId>) -> u64 {
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        changes.get(&of).copied().unwrap_or_default()
    }

    fn note(&self, root: RootId) {
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        for of in [None, Some(root)] {
            *changes.entry(of).or_default() += 1;
        }
    }

    /// Returns what a root has, if that is known.
    pub(super) fn get(&self, root: RootId) -> Option<View> {
        self.known(root).map(View::Known)
    }

    /// Takes over all that a root has.
    pub(super) fn learn(&self, root: RootId, files: &[FileRecord]) -> View {
        let known = Arc::new(Known::default());
        let hashes = files.iter().map(|file| (known.hash(&file.path), known.hash(&file.version)));
        let versions = hashes.collect();
        *known.write() = versions;
        self.all().insert(root, Arc::clone(&known));
        View::Known(known)
    }

    /// Notes records that were written.
    pub(super) fn wrote(&self, root: RootId, files: &[FileRecord]) {
        if let Some(known) = self.known(root) {
            let hashes =
                files.iter().map(|file| (known.hash(&file.path), known.hash(&file.version)));
            let hashes: Vec<(u64, u64)> = hashes.collect();
            known.write().extend(hashes);
        }
        self.note(root);
    }

    /// Notes records that were removed.
    pub(super) fn removed(&self, root: RootId, paths: &[String]) {
        if let Some(known) = self.known(root) {
            let mut versions = known.write();
            for path in paths {
                versions.remove(&known.hash(path));
            }
        }
        self.note(root);
    }

    /// Forgets what a root has, which is then read when it is asked for.
    pub(super) fn forget(&self, root: RootId) {
        self.all().remove(&root);
    }

    fn known(&self, root: RootId) -> Option<Arc<Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&root).cloned()
    }

    fn all(&self) -> RwLockWriteGuard<'_, HashMap<RootId, Arc<Known>>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
