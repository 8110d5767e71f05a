//! Folders of a root that contain indexed files. A changed path that is not one of them has no
//! indexed files below it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::RootId;

/// Known folders of each root. Clones share them. A folder remains when all its files are gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexedFolders {
    known: Arc<Mutex<HashMap<RootId, HashSet<String>>>>,
}

impl IndexedFolders {
    /// Returns true if one of `paths` is a folder with indexed files, or `None` if the folders of
    /// the root are unknown.
    pub(super) fn have_any(
        &self,
        root: RootId,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Option<bool> {
        let known = self.lock_folders();
        let folders = known.get(&root)?;
        Some(paths.into_iter().any(|path| folders.contains(path.as_ref())))
    }

    /// Records the folders of all indexed files of a root.
    pub(super) fn record_all_files<'a>(
        &self,
        root: RootId,
        files: impl IntoIterator<Item = &'a String>,
    ) {
        self.lock_folders().entry(root).or_default();
        self.add_files(root, files);
    }

    /// Records the folders of more indexed files, if those of the root are known.
    pub(super) fn add_files<'a>(&self, root: RootId, files: impl IntoIterator<Item = &'a String>) {
        let mut known = self.lock_folders();
        let Some(folders) = known.get_mut(&root) else { return };
        for file in files {
            let mut path = file.as_str();
            while let Some((folder, _)) = path.rsplit_once('/') {
                if !folders.insert(folder.to_owned()) {
                    // Its parents are already recorded.
                    break;
                }
                path = folder;
            }
        }
    }

    /// Drops the folders of a root, so that the next run reads its files from the store.
    pub(crate) fn forget_root(&self, root: RootId) {
        self.lock_folders().remove(&root);
    }

    /// Locks the folders. A poisoned lock is safe to use: at most a folder is missing.
    fn lock_folders(&self) -> MutexGuard<'_, HashMap<RootId, HashSet<String>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn folders_are_known_once_all_files_were_seen() {
        let (folders, root) = (IndexedFolders::default(), RootId::from_path(Path::new("/demo")));
        let file = |path: &str| path.to_owned();
        folders.add_files(root, [&file("a/b/c.rs")]);
        assert_eq!(folders.have_any(root, ["a"]), None);
        folders.record_all_files(root, [&file("a/b/c.rs"), &file("d.rs")]);
        folders.add_files(root, [&file("e/f.rs")]);
        for path in ["a", "a/b", "e"] {
            assert_eq!(folders.have_any(root, ["x", path]), Some(true), "{path}");
        }
        assert_eq!(folders.have_any(root, ["a/b/c.rs", "d.rs", "b", ""]), Some(false));
        folders.forget_root(root);
        assert_eq!(folders.have_any(root, ["a"]), None);
    }
}
