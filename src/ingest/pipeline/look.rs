//! Looks at a root, or at a part of it, and at what the store knows of that.

use std::{collections::HashSet, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::Tools;
use crate::{
    domain::{FileRecord, Root, RootId},
    ingest::{
        discover::{self, Discovered},
        error::IngestError,
        plan::{self, Mode, Records},
        scope::Scope,
        skip::Reason,
    },
};

/// A part of a root: what is on disk, and what the store has of it.
pub(super) struct Seen {
    pub(super) discovered: Discovered,
    pub(super) records: Records,
}

/// Returns whether a run of this part of a root would find anything to do.
pub(in crate::ingest) async fn changes(
    tools: &Tools,
    root: &Root,
    scope: &Arc<Scope>,
    cancel: &CancellationToken,
) -> Result<bool, IngestError> {
    let Seen { discovered, records } = within(tools, root, scope, cancel).await?;
    let untouchable = untouchable(&discovered);
    let plan = plan::plan(discovered.files, &records, &untouchable, Mode::Changes);
    Ok(!plan.read.is_empty() || !plan.gone.is_empty())
}

/// Looks at a part of a root.
pub(super) async fn within(
    tools: &Tools,
    root: &Root,
    scope: &Arc<Scope>,
    cancel: &CancellationToken,
) -> Result<Seen, IngestError> {
    let (folder, limit) = (root.path.clone(), tools.max_file_bytes);
    let (within, cancel) = (Arc::clone(scope), cancel.clone());
    let walk = move || discover::discover_within(&folder, limit, &within, &cancel);
    let discovered = tools.tasks.spawn_blocking(walk).await??;
    let records = if tools.folders.have_any(root.id, scope.paths()) == Some(false) {
        // Another process may have indexed files of a folder that is not known here.
        let found = discovered.files.iter().map(|file| &file.path);
        let paths: HashSet<&String> = scope.paths().iter().chain(found).collect();
        by_path(tools.catalog.files_at(root.id, paths).await?)
    } else {
        // The store can only tell the files of a folder by going through all of them.
        let mut records = records(tools, root.id).await?;
        tools.folders.learn(root.id, records.keys());
        records.retain(|path, _| scope.covers(path));
        records
    };
    Ok(Seen { discovered, records })
}

/// Walks the whole root.
pub(super) async fn whole(
    tools: &Tools,
    root: &Root,
    cancel: &CancellationToken,
) -> Result<Discovered, IngestError> {
    let (folder, limit) = (root.path.clone(), tools.max_file_bytes);
    let cancel = cancel.clone();
    tools.tasks.spawn_blocking(move || discover::discover(&folder, limit, &cancel)).await?
}

/// Returns what the store knows of every file of a root.
pub(super) async fn records(tools: &Tools, root: RootId) -> Result<Records, IngestError> {
    Ok(by_path(tools.catalog.files(root).await?))
}

fn by_path(records: Vec<FileRecord>) -> Records {
    records.into_iter().map(|record| (record.path.clone(), record)).collect()
}

/// Returns the paths that were there but could not be looked at.
pub(super) fn untouchable(discovered: &Discovered) -> Vec<String> {
    let unreadable = discovered.skipped.iter().filter(|file| file.reason == Reason::Unreadable);
    unreadable.map(|file| file.path.clone()).collect()
}
