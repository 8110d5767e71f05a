//! The version of each path that a root has.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use codeinfo_core::{FileRecord, RootId};

use super::memory::RootFiles;

/// The versions that one root has of some paths, or of all.
#[derive(Debug, Clone)]
pub(super) enum FileView {
    Hashed(Arc<VersionHashes>),
    Remembered(Arc<RootFiles>),
    /// Files that were read for one request.
    Loaded(HashMap<String, String>),
}

/// All files of a root. Hashes have 64 bits and use keys of the process, so that no repository can provoke collisions.
#[derive(Debug, Default)]
pub(super) struct VersionHashes {
    versions: RwLock<HashMap<u64, u64>>,
    hasher: RandomState,
}

impl FileView {
    pub(super) fn from_records(files: &[FileRecord]) -> Self {
        let versions = files.iter().map(|file| (file.path.clone(), file.version.clone()));
        Self::Loaded(versions.collect())
    }

    pub(super) fn has_version(&self, path: &str, version: &str) -> bool {
        match self {
            Self::Hashed(hashes) => {
                hashes.read().get(&hashes.hash(path)) == Some(&hashes.hash(version))
            }
            Self::Remembered(files) => {
                files.by_path.get(path).is_some_and(|file| file.version == version)
            }
            Self::Loaded(versions) => versions.get(path).is_some_and(|loaded| loaded == version),
        }
    }
}

impl VersionHashes {
    fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    fn hash_files(&self, files: &[FileRecord]) -> HashMap<u64, u64> {
        files.iter().map(|file| (self.hash(&file.path), self.hash(&file.version))).collect()
    }

    // A panic in the middle of a change cannot harm readers of other paths.
    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, u64>> {
        self.versions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, u64>> {
        self.versions.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Views of all roots that were read, unless other processes change them as well.
#[derive(Debug)]
pub(super) struct FileViews {
    by_root: RwLock<HashMap<RootId, Arc<VersionHashes>>>,
    are_kept: bool,
    /// Number of changes of each root, and of all.
    changes: RwLock<HashMap<Option<RootId>, u64>>,
}

impl FileViews {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { by_root: RwLock::default(), are_kept: !is_shared, changes: RwLock::default() }
    }

    pub(super) fn are_kept(&self) -> bool {
        self.are_kept
    }

    /// Returns a number that differs after each change of a root, or of any.
    pub(super) fn changes(&self, root: Option<RootId>) -> u64 {
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        changes.get(&root).copied().unwrap_or_default()
    }

    fn count_change(&self, root: RootId) {
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        for counted in [None, Some(root)] {
            *changes.entry(counted).or_default() += 1;
        }
    }

    pub(super) fn get(&self, root: RootId) -> Option<FileView> {
        self.find_hashes(root).map(FileView::Hashed)
    }

    pub(super) fn learn(&self, root: RootId, files: &[FileRecord]) -> FileView {
        let hashes = Arc::new(VersionHashes::default());
        let versions = hashes.hash_files(files);
        *hashes.write() = versions;
        self.lock().insert(root, Arc::clone(&hashes));
        FileView::Hashed(hashes)
    }

    pub(super) fn note_written(&self, root: RootId, files: &[FileRecord]) {
        if let Some(hashes) = self.find_hashes(root) {
            let versions = hashes.hash_files(files);
            hashes.write().extend(versions);
        }
        self.count_change(root);
    }

    pub(super) fn note_removed(&self, root: RootId, paths: &[String]) {
        if let Some(hashes) = self.find_hashes(root) {
            let mut versions = hashes.write();
            for path in paths {
                versions.remove(&hashes.hash(path));
            }
        }
        self.count_change(root);
    }

    /// Forgets the view of a root, which is read again when it is needed.
    pub(super) fn forget(&self, root: RootId) {
        self.lock().remove(&root);
    }

    fn find_hashes(&self, root: RootId) -> Option<Arc<VersionHashes>> {
        self.by_root.read().unwrap_or_else(PoisonError::into_inner).get(&root).cloned()
    }

    fn lock(&self) -> RwLockWriteGuard<'_, HashMap<RootId, Arc<VersionHashes>>> {
        self.by_root.write().unwrap_or_else(PoisonError::into_inner)
    }
}
