//! Repairs roots whose index was found damaged or incomplete when the store was opened: a run of each, one by one.
//!
//! What fails is tried again, after a second, then less and less often down to once a minute. The list of
//! roots to repair is kept apart from the store, so that the next start continues a repair that is killed.
//!
//! A run that failed because the store was away begins again when it is back; one that failed otherwise does not.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use codeinfo_core::{LastRun, Root, RootId, task::BackoffSchedule};
use tracing::{debug, info, warn};

use super::{
    Ingest, IngestState, RunState, build_user_job, error::IngestError, pipeline::IngestJob,
    plan::RunMode,
};

/// How often a store that is not open yet is checked.
const PAUSE: Duration = Duration::from_secs(1);

/// Pauses before what could not be repaired is tried again: a disk that is not there yet, a service that does not
/// answer.
const RETRY: BackoffSchedule =
    BackoffSchedule { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// Repairs all of them, or as many as can be until the process stops.
pub(super) async fn run_repairs(ingest: Ingest) {
    let shared = &ingest.shared;
    let stopping = shared.deps.tasks.stop_token().clone();
    let mending = async {
        while shared.deps.store.check_writes().is_err() {
            tokio::time::sleep(PAUSE).await;
        }
        let (mut left, mut failures): (Option<BTreeSet<RootId>>, _) = (None, 0);
        loop {
            left = mend_once(&ingest, left).await;
            if left.as_ref().is_some_and(BTreeSet::is_empty) {
                return;
            }
            failures += 1;
            tokio::time::sleep(RETRY.wait_after(failures)).await;
        }
    };
    stopping.run_until_cancelled(mending).await;
}

/// Begins runs again that lost the store, once it is back, until the process stops.
pub(super) async fn resume_lost_runs(shared: Arc<IngestState>) {
    let resuming = async {
        let mut failures = 0;
        loop {
            if !shared.lock_runs().has_lost() {
                failures = 0;
                shared.lost.notified().await;
                continue;
            }
            failures += 1;
            tokio::time::sleep(RETRY.wait_after(failures)).await;
            match shared.deps.store.roots().await {
                Ok(_) => resume_once(&shared).await,
                Err(error) => debug!(%error, "the store is still away"),
            }
        }
    };
    shared.deps.tasks.stop_token().run_until_cancelled(resuming).await;
}

/// Begins what was lost again, and waits until all of it has ended.
async fn resume_once(shared: &IngestState) {
    let begun: Vec<_> = {
        let mut runs = shared.lock_runs();
        let lost = runs.take_lost();
        let mut begin = |job: IngestJob| match shared.admit_job(&mut runs, job.clone()) {
            Ok(run) => runs.watch_run(run).ok(),
            Err(IngestError::QueueFull(_)) => {
                runs.add_lost_job(job);
                None
            }
            // It is removed, or a run of it works already.
            Err(_) => None,
        };
        lost.into_iter().filter_map(&mut begin).collect()
    };
    info!(runs = begun.len(), "the store is back, beginning runs again that lost it");
    for mut run in begun {
        drop(run.wait_for(|status| status.state.is_final()).await);
    }
}

/// Tries to repair the roots that are left, or all that are damaged; returns those that could not be,
/// or `None` where that cannot be read.
async fn mend_once(ingest: &Ingest, left: Option<BTreeSet<RootId>>) -> Option<BTreeSet<RootId>> {
    let shared = &ingest.shared;
    let is_empty = left.is_none() && matches!(shared.deps.store.count(None).await, Ok(0));
    let needs_run = |root: &Root| needs_run(root, is_empty);
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
        let (id, owner, name) = (root.id, root.chunk_owner(), root.name.clone());
        let is_adopted = root.host.is_some();
        // Another process of the same server is at it.
        if shared.deps.store.is_leased(owner).await.unwrap_or(true) {
            failed.insert(id);
            continue;
        }
        let resumes = matches!(root.last_run, LastRun::Failed { .. });
        info!(root.name = %name, "completing what is damaged or incomplete");
        let ended = repair_root(ingest, root).await;
        // One that a user cancels is not begun again.
        if !matches!(ended, Ok(RunState::Completed | RunState::Skipped | RunState::Cancelled)) {
            warn!(root.name = %name, ?ended, "a damaged or incomplete repository could not be completed; trying again");
            if is_adopted {
                // It may have another id by now.
                return None;
            }
            // One that fails for want of the store again is left to `resume`, and one that fails otherwise to people.
            if !resumes {
                failed.insert(id);
            }
        }
    }
    Some(failed)
}

/// Whether a run of `root` begins by itself: its index is damaged, discarded or gone, its last run was killed or lost
/// the store, or a former version, which did not look for secrets, made it. A root of another host is completed there. One of an
/// unknown host that was discarded, or whose takeover was interrupted, is taken over by a host that has its folder.
fn needs_run(root: &Root, is_store_empty: bool) -> bool {
    if let Some(host) = &root.host {
        let is_to_adopt = matches!(root.last_run, LastRun::Discarded | LastRun::Interrupted);
        return host.is_unknown() && is_to_adopt;
    }
    match root.last_run {
        LastRun::Damaged | LastRun::Interrupted | LastRun::Discarded => true,
        LastRun::Completed => {
            let is_gone = is_store_empty && 0 < root.counts.chunks;
            root.last_ingest_at.is_some() && (root.private_files.is_none() || is_gone)
        }
        LastRun::Failed { resumes, .. } => resumes,
    }
}

/// Runs one root and returns how that ended.
async fn repair_root(ingest: &Ingest, root: Root) -> Result<RunState, IngestError> {
    let run = if root.host.is_some() {
        match ingest.adopt_root(root).await {
            // It is on another host.
            Err(IngestError::Path { .. }) => return Ok(RunState::Skipped),
            adopted => adopted?,
        }
    } else {
        let model_id = ingest.shared.deps.embedder.model().id();
        let root = Root { model_id, last_run: LastRun::Completed, ..root };
        ingest
            .shared
            .admit_job(&mut ingest.shared.lock_runs(), build_user_job(root, RunMode::Changes))?
    };
    // The sender lives until the run has ended.
    let mut run = ingest.watch_run(run)?;
    let ended = run.wait_for(|status| status.state.is_final()).await;
    Ok(ended.map_or(RunState::Error, |status| status.state))
}
