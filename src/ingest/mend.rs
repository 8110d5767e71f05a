//! Repairs roots whose index was found damaged or incomplete when the store was opened: a run of each, one by one.
//!
//! What fails is tried again each minute. The list of roots to repair is kept apart from the
//! store, so that a repair that is killed goes on.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tracing::{info, warn};

use super::{Shared, State, error::IngestError, job, plan::Mode};
use crate::domain::{LastRun, Root, RootId};

/// How often a store that is not open yet is checked.
const PAUSE: Duration = Duration::from_secs(1);

/// Pause before what could not be repaired is tried again: a disk that is not there yet, a service that
/// does not answer.
const RETRY: Duration = Duration::from_mins(1);

/// Repairs all of them, or as many as can be until the process stops.
pub(super) async fn mend(shared: Arc<Shared>) {
    let stopping = shared.deps.tasks.stopping().clone();
    let mending = async {
        while shared.deps.store.check_writes().is_err() {
            tokio::time::sleep(PAUSE).await;
        }
        let mut left: Option<BTreeSet<RootId>> = None;
        loop {
            left = mend_once(&shared, left).await;
            if left.as_ref().is_some_and(BTreeSet::is_empty) {
                return;
            }
            tokio::time::sleep(RETRY).await;
        }
    };
    stopping.run_until_cancelled(mending).await;
}

/// Tries to repair the roots that are left, or all that are damaged; returns those that could not be,
/// or `None` where that cannot be read.
async fn mend_once(shared: &Shared, left: Option<BTreeSet<RootId>>) -> Option<BTreeSet<RootId>> {
    // What failed since says why instead.
    let is_damaged = |root: &Root| match &left {
        Some(left) => left.contains(&root.id) && (!root.last_run.is_completed() || needs_run(root)),
        None => needs_run(root),
    };
    let roots: Vec<Root> = match shared.deps.store.roots().await {
        Ok(roots) => roots.into_iter().filter(is_damaged).collect(),
        Err(error) => {
            warn!(%error, "roots to repair could not be read");
            return left;
        }
    };
    let mut failed = BTreeSet::new();
    for root in roots {
        let (id, owner, name) = (root.id, root.owner(), root.name.clone());
        // Another process of the same server is at it.
        if shared.deps.store.is_leased(owner).await.unwrap_or(true) {
            failed.insert(id);
            continue;
        }
        info!(root.name = %name, "completing what is damaged or incomplete");
        let ended = repair(shared, root).await;
        // One that a user cancels is not begun again.
        if !matches!(ended, Ok(State::Completed | State::Skipped | State::Cancelled)) {
            warn!(root.name = %name, ?ended, "a damaged or incomplete repository could not be completed; trying again");
            failed.insert(id);
        }
    }
    Some(failed)
}

/// Whether a run of `root` begins by itself: its index is damaged, its last run was killed, or a former
/// version, which did not look for secrets, made it. What another host has is completed there.
fn needs_run(root: &Root) -> bool {
    if root.host.is_some() {
        return false;
    }
    match root.last_run {
        LastRun::Damaged | LastRun::Interrupted => true,
        LastRun::Completed => root.last_ingest_at.is_some() && root.private_files.is_none(),
        LastRun::Failed { .. } | LastRun::Discarded => false,
    }
}

/// Runs one root and returns how that ended.
async fn repair(shared: &Shared, root: Root) -> Result<State, IngestError> {
    let root =
        Root { model_id: shared.deps.embedder.model().id(), last_run: LastRun::Completed, ..root };
    let mut run = {
        let mut runs = shared.runs();
        let run = shared.admit(&mut runs, job(root, Mode::Changes))?;
        runs.watch(run)?
    };
    // The sender lives until the run has ended.
    let ended = run.wait_for(|status| status.state.is_final()).await;
    Ok(ended.map_or(State::Error, |status| status.state))
}
