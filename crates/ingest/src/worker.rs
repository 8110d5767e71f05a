//! Tasks that execute runs, repair damaged roots and restart runs that lost the store.
//!
//! Workers never run two trees of one repository at the same time. A failed repair is retried at
//! growing intervals. The list of roots to repair is stored apart from the vectors, so that the
//! next start continues after a kill. A failed run is restarted only if the store was unavailable.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use codeinfo_core::{LastRun, Root, RootId, Timestamp, task::BackoffSchedule};
use codeinfo_store::StoreError;
use tracing::{debug, error, info, warn};

use super::{
    Ingest, IngestState, build_user_job,
    error::IngestError,
    pipeline::{self, IngestJob, RunOrigin},
    plan::RunMode,
    runs::{NextRun, WorkerLane},
    status::{PastRun, RunFindings, RunProgress, RunState, RunStatus},
};

/// Interval between checks whether the store is open.
const PAUSE: Duration = Duration::from_secs(1);

/// Intervals between repairs, for passing causes, such as a missing disk or an unavailable service.
const RETRY: BackoffSchedule =
    BackoffSchedule { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// Works until the process stops, then cancels the waiting runs.
pub(super) async fn run_worker(shared: Arc<IngestState>, lane: WorkerLane) {
    let stopping = shared.deps.tasks.stop_token().clone();
    while !stopping.is_cancelled() {
        // Subscribes before looking, so that no notification of a new run is missed.
        let queued = shared.queued.notified();
        let next = shared.lock_runs().take_next_run(lane);
        if let Some(next) = next {
            execute_run(&shared, next).await;
            continue;
        }
        let spare_from = shared.lock_runs().spare_from().filter(|_| lane == WorkerLane::Spare);
        let may_pass = async {
            match spare_from {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stopping.cancelled() => break,
            () = queued => {}
            () = may_pass => {}
        }
    }
    shared.lock_runs().cancel_queued();
}

/// Executes one run and records its end. A separate task keeps a panic from ending the worker.
async fn execute_run(shared: &Arc<IngestState>, next: NextRun) {
    let NextRun { run, job, sender, cancel } = next;
    let name = job.root.name.clone();
    info!(run.id = %run, root.name = %name, root.path = %job.root.path.display(), "run started");
    let progress = RunProgress::new(sender.clone());
    let (at_end, started_at) = (progress.clone(), Timestamp::now());
    let (root, origin, again) = (job.root.id, job.origin, job.clone());
    let mut is_lost = false;
    let deps = shared.deps.clone();
    let cancelled = cancel.clone();
    let running = async move {
        let ended = pipeline::run_job(&deps, job, progress, cancel.clone()).await?;
        if let Some(follow_up) = deps.follow_up.get() {
            cancel.run_until_cancelled(follow_up(root)).await;
        }
        Ok(ended)
    };
    let ended =
        shared.deps.tasks.spawn_handle(running).await.unwrap_or_else(|panic| Err(panic.into()));
    let (state, failure) = match ended {
        Ok(state) => (state, None),
        Err(IngestError::Cancelled) => (RunState::Cancelled, None),
        // A stop may make other parts fail.
        Err(failure) if cancelled.is_cancelled() => {
            info!(run.id = %run, error = %failure, "cancelled run failed");
            (RunState::Cancelled, None)
        }
        Err(failure @ IngestError::Store(StoreError::Leased { .. })) => {
            info!(run.id = %run, root.name = %name, %failure, "another process is at work");
            if origin == RunOrigin::Watch {
                shared.lock_runs().defer_root(root);
            }
            (RunState::Error, Some(failure.to_string()))
        }
        Err(failure) => {
            let cause = std::error::Error::source(&failure).map(ToString::to_string);
            error!(run.id = %run, root.name = %name, error = %failure, cause, "run failed");
            let message = format!("`{name}` could not be indexed: {failure}");
            shared.deps.failures.record_failure("runs", failure.code().as_str(), &message, None);
            is_lost = failure.is_resumable();
            (RunState::Error, Some(failure.failure_message()))
        }
    };
    let RunStatus { counts, message: notes, .. } = sender.borrow().clone();
    info!(
        run.id = %run,
        root.name = %name,
        ?state,
        files = counts.files,
        chunks = counts.chunks,
        embedded = counts.embedded,
        skipped = counts.skipped,
        deleted = counts.deleted,
        "run ended"
    );
    let RunFindings { missing, part } = at_end.findings();
    let message = failure.clone().or(notes);
    let past_run =
        PastRun { state, started_at, ended_at: Timestamp::now(), counts, message, missing };
    let mut runs = shared.lock_runs();
    runs.record_run(root, past_run, part.as_deref());
    runs.end_run(run, state, failure);
    if is_lost {
        runs.add_lost_job(again);
        shared.lost.notify_one();
    }
    drop(runs);
    // Another run of the same root may have waited for this one.
    shared.queued.notify_waiters();
}

/// Repairs all damaged roots, until the process stops.
pub(super) async fn run_repairs(ingest: Ingest) {
    let shared = &ingest.shared;
    let stopping = shared.deps.tasks.stop_token().clone();
    let repairing = async {
        while shared.deps.store.check_writes().is_err() {
            tokio::time::sleep(PAUSE).await;
        }
        let (mut left, mut failures): (Option<BTreeSet<RootId>>, _) = (None, 0);
        loop {
            left = repair_once(&ingest, left).await;
            if left.as_ref().is_some_and(BTreeSet::is_empty) {
                return;
            }
            failures += 1;
            tokio::time::sleep(RETRY.wait_after(failures)).await;
        }
    };
    stopping.run_until_cancelled(repairing).await;
}

/// Restarts runs that lost the store when it is back, until the process stops.
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

/// Restarts the lost runs and waits until all have ended.
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
            // The root is being removed, or another run of it works.
            Err(_) => None,
        };
        lost.into_iter().filter_map(&mut begin).collect()
    };
    info!(runs = begun.len(), "the store is back, beginning runs again that lost it");
    for mut run in begun {
        drop(run.wait_for(|status| status.state.is_final()).await);
    }
}

/// Repairs the roots of `left`, or all damaged ones if `None`. Returns the roots that failed, or
/// `left` unchanged if the roots cannot be read; `None` after a failed adoption, which may change
/// ids.
async fn repair_once(ingest: &Ingest, left: Option<BTreeSet<RootId>>) -> Option<BTreeSet<RootId>> {
    let shared = &ingest.shared;
    let is_empty = left.is_none() && matches!(shared.deps.store.count(None).await, Ok(0));
    let needs_run = |root: &Root| needs_run(root, is_empty);
    // A root that has failed since then records that reason instead.
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
        // Another process of the same server is working on it.
        if shared.deps.store.is_leased(owner).await.unwrap_or(true) {
            failed.insert(id);
            continue;
        }
        let resumes = matches!(root.last_run, LastRun::Failed { .. });
        info!(root.name = %name, "completing what is damaged or incomplete");
        let ended = repair_root(ingest, root).await;
        // A run that a user cancelled is not restarted.
        if !matches!(ended, Ok(RunState::Completed | RunState::Skipped | RunState::Cancelled)) {
            warn!(root.name = %name, ?ended, "a damaged or incomplete repository could not be completed; trying again");
            if is_adopted {
                // Its id may have changed.
                return None;
            }
            // `resume_lost_runs` restarts runs that lost the store; other failures need a person.
            if !resumes {
                failed.insert(id);
            }
        }
    }
    Some(failed)
}

/// Returns true if a run of `root` must start without a request.
///
/// For a root of this host: its index is damaged, discarded or gone; its last run was killed or
/// lost the store; or it was made by a version that did not detect secrets. A root of another host
/// is completed there. A root of an unknown host that was discarded, or whose adoption was
/// interrupted, is adopted by a host that has its folder.
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

async fn repair_root(ingest: &Ingest, root: Root) -> Result<RunState, IngestError> {
    let run = if root.host.is_some() {
        match ingest.adopt_root(root).await {
            // The folder is on another host.
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
