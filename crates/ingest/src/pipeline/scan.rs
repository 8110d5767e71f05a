//! Scans a root or a part of it and loads the stored records.

use std::{collections::HashSet, sync::Arc};

use codeinfo_core::{FileRecord, Root, RootId};
use codeinfo_worktree::beneath::RootDir;
use tokio_util::sync::CancellationToken;

use super::{RunDependencies, private};
use crate::{
    discover::{self, WalkContext, WalkMode, WalkResult},
    error::IngestError,
    plan::{self, FileRecords, RunMode},
    pulse::IoHeartbeat,
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
    if known.is_none_or(|known| private::have_changed(known, scope, &discovered)) {
        return Ok(true);
    }
    let untouchable = list_unreadable_paths(&discovered);
    let plan = plan::plan_run(discovered.files, &records, &untouchable, RunMode::Changes);
    Ok(!plan.read.is_empty() || !plan.gone.is_empty())
}

/// Scans a part of a root.
pub(super) async fn scan_part(
    deps: &RunDependencies,
    root: &Root,
    scope: &Arc<PathScope>,
    cancel: &CancellationToken,
) -> Result<PartialScan, IngestError> {
    let (folder, discovered) = walk_root(deps, root, Some(scope), cancel).await?;
    let records = if deps.folders.have_any(root.id, scope.paths()) == Some(false) {
        // Another process may have indexed files of a folder that is unknown here.
        let found = discovered.files.iter().map(|file| &file.path);
        let distinct: HashSet<&String> = scope.paths().iter().chain(found).collect();
        let paths = distinct.into_iter().cloned().collect();
        by_path(deps.store.files_at(root.id, paths).await?)
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
        let (place, scope) = (tree.path.as_path(), scope.as_deref());
        let resolved = private.resolve();
        let way = WalkContext { place, scope, private: &resolved, cancel: &inner, pulse };
        let discovered = discover::walk_root(
            &folder,
            way,
            WalkMode::Files { max_bytes, keeps_all_paths: false },
        )?;
        Ok((folder, discovered))
    };
    deps.watchdog.run_blocking(&root.path, cancel, work).await?
}

/// Loads the records of all files of a root.
pub(super) async fn load_records(
    deps: &RunDependencies,
    root: RootId,
) -> Result<FileRecords, IngestError> {
    Ok(by_path(deps.store.files(root).await?))
}

fn by_path(records: Vec<FileRecord>) -> FileRecords {
    records.into_iter().map(|record| (record.path.clone(), record)).collect()
}

/// Returns the paths that exist but could not be read.
pub(super) fn list_unreadable_paths(discovered: &WalkResult) -> Vec<String> {
    let unreadable = discovered.skipped.iter().filter(|file| file.reason.is_passing());
    unreadable.map(|file| file.path.clone()).collect()
}
