//! Scans a root or a part of it, and loads the stored records.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{FileRecord, Root, RootId};
use codeinfo_worktree::beneath::RootDir;
use tokio_util::sync::CancellationToken;

use super::{RunDependencies, private};
use crate::{
    discover::{self, WalkContext, WalkMode, WalkResult},
    error::IngestError,
    io_watchdog::IoHeartbeat,
    plan::{self, FileRecords, RunMode},
    scope::PathScope,
};

/// A part of a root: the files on disk and the stored records.
pub(super) struct PartialScan {
    pub(super) folder: RootDir,
    pub(super) discovered: WalkResult,
    pub(super) records: FileRecords,
}

/// Returns true if a run of this part of a root would have anything to do.
pub(crate) async fn has_changes(
    deps: &RunDependencies,
    root: &Root,
    scope: &Arc<PathScope>,
    cancel: &CancellationToken,
) -> Result<bool, IngestError> {
    let PartialScan { discovered, records, .. } = scan_part(deps, root, scope, cancel).await?;
    let known = root.private_files.as_deref();
    if known.is_none_or(|known| private::have_secrets_changed(known, scope, &discovered)) {
        return Ok(true);
    }
    let unreadable_paths = list_unreadable_paths(&discovered);
    let plan = plan::plan_run(discovered.files, &records, &unreadable_paths, RunMode::Changes);
    Ok(!plan.read.is_empty() || !plan.gone.is_empty())
}

pub(super) async fn scan_part(
    deps: &RunDependencies,
    root: &Root,
    scope: &Arc<PathScope>,
    cancel: &CancellationToken,
) -> Result<PartialScan, IngestError> {
    let (folder, discovered) = walk_root(deps, root, Some(scope), cancel).await?;
    let records = if deps.folders.contain_any(root.id, scope.paths()) == Some(false) {
        // Another process may have indexed files of a folder that is unknown here.
        let found = discovered.files.iter().map(|file| &file.path);
        let distinct: HashSet<&String> = scope.paths().iter().chain(found).collect();
        let paths = distinct.into_iter().cloned().collect();
        key_by_path(deps.store.files_at(root.id, paths).await?)
    } else {
        // The store can only find the files of a folder by reading all records.
        let mut records = load_records(deps, root.id).await?;
        deps.folders.record_all_files(root.id, records.keys());
        records.retain(|path, _| scope.covers(path));
        records
    };
    Ok(PartialScan { folder, discovered, records })
}

/// Opens a root and walks it, or only its part in `scope`.
pub(super) async fn walk_root(
    deps: &RunDependencies,
    root: &Root,
    scope: Option<&Arc<PathScope>>,
    cancel: &CancellationToken,
) -> Result<(RootDir, WalkResult), IngestError> {
    let (tree, max_bytes) = (root.clone(), deps.max_file_bytes);
    let (scope, inner, private) = (scope.cloned(), cancel.clone(), deps.private_places());
    let work = move |pulse: &IoHeartbeat| {
        let folder = discover::open_root(&tree)?;
        let (root_path, scope) = (tree.path.as_path(), scope.as_deref());
        let resolved = private.resolve();
        let context = WalkContext { root_path, scope, private: &resolved, cancel: &inner, pulse };
        let mode = WalkMode::Files { max_bytes, keeps_all_paths: false };
        let discovered = discover::walk_root(&folder, context, mode)?;
        Ok((folder, discovered))
    };
    deps.watchdog.run_blocking(&root.path, cancel, work).await?
}

pub(super) async fn load_records(
    deps: &RunDependencies,
    root: RootId,
) -> Result<FileRecords, IngestError> {
    Ok(key_by_path(deps.store.files(root).await?))
}

fn key_by_path(records: Vec<FileRecord>) -> FileRecords {
    records.into_iter().map(|record| (record.path.clone(), record)).collect()
}

pub(super) fn list_unreadable_paths(discovered: &WalkResult) -> Vec<String> {
    let unreadable = discovered.skipped.iter().filter(|file| file.reason.is_temporary());
    unreadable.map(|file| file.path.clone()).collect()
}

/// Known folders of each root. Clones share them. A folder remains when all its files are gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexedFolders {
    known: Arc<Mutex<HashMap<RootId, HashSet<String>>>>,
}

impl IndexedFolders {
    /// Returns true if one of `paths` is a folder with indexed files; `None` if that is unknown.
    pub(super) fn contain_any(
        &self,
        root: RootId,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Option<bool> {
        let known = self.lock_folders();
        let folders = known.get(&root)?;
        Some(paths.into_iter().any(|path| folders.contains(path.as_ref())))
    }

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
    fn folders_are_known_after_recording_all_files() {
        let (folders, root) = (IndexedFolders::default(), RootId::from_path(Path::new("/demo")));
        let file = |path: &str| path.to_owned();
        folders.add_files(root, [&file("a/b/c.rs")]);
        assert_eq!(folders.contain_any(root, ["a"]), None);
        folders.record_all_files(root, [&file("a/b/c.rs"), &file("d.rs")]);
        folders.add_files(root, [&file("e/f.rs")]);
        for path in ["a", "a/b", "e"] {
            assert_eq!(folders.contain_any(root, ["x", path]), Some(true), "{path}");
        }
        assert_eq!(folders.contain_any(root, ["a/b/c.rs", "d.rs", "b", ""]), Some(false));
        folders.forget_root(root);
        assert_eq!(folders.contain_any(root, ["a"]), None);
    }
}
