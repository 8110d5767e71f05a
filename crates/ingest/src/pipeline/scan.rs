//! Scans a root, or a part of it, and reads what the store knows of that.

use std::{collections::HashSet, sync::Arc};

use codeinfo_core::{FileRecord, Root, RootId};
use codeinfo_worktree::beneath::Beneath;
use tokio_util::sync::CancellationToken;

use super::{Deps, private};
use crate::{
    discover::{self, Discovered, Wanted, Way},
    error::IngestError,
    plan::{self, Mode, Records},
    pulse::Pulse,
    scope::Scope,
};

/// A part of a root: what is on disk, and what the store has of it.
pub(super) struct Seen {
    pub(super) folder: Beneath,
    pub(super) discovered: Discovered,
    pub(super) records: Records,
}

/// Returns whether a run of this part of a root would find anything to do.
pub(crate) async fn changes(
    deps: &Deps,
    root: &Root,
    scope: &Arc<Scope>,
    cancel: &CancellationToken,
) -> Result<bool, IngestError> {
    let Seen { discovered, records, .. } = within(deps, root, scope, cancel).await?;
    let known = root.private_files.as_deref();
    if known.is_none_or(|known| private::have_changed(known, scope, &discovered)) {
        return Ok(true);
    }
    let untouchable = untouchable(&discovered);
    let plan = plan::plan(discovered.files, &records, &untouchable, Mode::Changes);
    Ok(!plan.read.is_empty() || !plan.gone.is_empty())
}

/// Scans a part of a root.
pub(super) async fn within(
    deps: &Deps,
    root: &Root,
    scope: &Arc<Scope>,
    cancel: &CancellationToken,
) -> Result<Seen, IngestError> {
    let (folder, discovered) = walk(deps, root, Some(scope), cancel).await?;
    let records = if deps.folders.have_any(root.id, scope.paths()) == Some(false) {
        // Another process may have indexed files of a folder that is not known here.
        let found = discovered.files.iter().map(|file| &file.path);
        let paths: HashSet<&String> = scope.paths().iter().chain(found).collect();
        let paths = paths.into_iter().cloned().collect();
        by_path(deps.store.files_at(root.id, paths).await?)
    } else {
        // The store can only find the files of a folder by going through all of them.
        let mut records = records(deps, root.id).await?;
        deps.folders.learn(root.id, records.keys());
        records.retain(|path, _| scope.covers(path));
        records
    };
    Ok(Seen { folder, discovered, records })
}

/// Opens a root and walks it, or the part of it in scope.
pub(super) async fn walk(
    deps: &Deps,
    root: &Root,
    scope: Option<&Arc<Scope>>,
    cancel: &CancellationToken,
) -> Result<(Beneath, Discovered), IngestError> {
    let (tree, max_bytes) = (root.clone(), deps.max_file_bytes);
    let (scope, inner, private) = (scope.cloned(), cancel.clone(), deps.private_places());
    let work = move |pulse: &Pulse| {
        let folder = discover::open_root(&tree)?;
        let (place, scope) = (tree.path.as_path(), scope.as_deref());
        let private = private.resolve();
        let way = Way { place, scope, private: &private, cancel: &inner, pulse };
        let discovered =
            discover::within(&folder, way, Wanted::Files { max_bytes, names_all: false })?;
        Ok((folder, discovered))
    };
    deps.watchdog.run(&root.path, cancel, work).await?
}

/// Returns what the store knows of every file of a root.
pub(super) async fn records(deps: &Deps, root: RootId) -> Result<Records, IngestError> {
    Ok(by_path(deps.store.files(root).await?))
}

fn by_path(records: Vec<FileRecord>) -> Records {
    records.into_iter().map(|record| (record.path.clone(), record)).collect()
}

/// Returns the paths that were there but could not be read.
pub(super) fn untouchable(discovered: &Discovered) -> Vec<String> {
    let unreadable = discovered.skipped.iter().filter(|file| file.reason.is_passing());
    unreadable.map(|file| file.path.clone()).collect()
}
