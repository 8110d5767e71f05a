//! Workers, one per lane, that take runs off the queue one after another.
//!
//! Workers never run two trees of one repository at the same time.

use std::sync::Arc;

use codeinfo_core::Timestamp;
use codeinfo_store::StoreError;
use tracing::{error, info};

use super::{
    IngestState,
    error::IngestError,
    past::PastRun,
    pipeline::{self, RunOrigin},
    runs::{NextRun, WorkerLane},
    status::{RunFindings, RunProgress, RunState},
};

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

/// Executes one run and records its end. The run is a separate task, so that a panic does not end
/// the worker.
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
    let running = async move { pipeline::run_job(&deps, job, progress, cancel).await };
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
    let (counts, notes) = {
        let status = sender.borrow();
        (status.counts, status.message.clone())
    };
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
    let past = PastRun { state, started_at, ended_at: Timestamp::now(), counts, message, missing };
    let mut runs = shared.lock_runs();
    runs.record_run(root, past, part.as_deref());
    runs.end_run(run, state, failure);
    if is_lost {
        runs.add_lost_job(again);
        shared.lost.notify_one();
    }
    drop(runs);
    // Another run of the same root may have waited for this one.
    shared.queued.notify_waiters();
}
