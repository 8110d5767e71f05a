//! One run: scans, plans, then reads, embeds and writes as a stream with bounded memory.
//!
//! A run marks its root as interrupted before its first write and clears the mark at its end. A run
//! that finds the mark first compares every chunk with the file records.
//!
//! A run waits for the lease of its repository until it knows that the holder lives, and then
//! fails, because waiting longer would delay all other runs of this process.

mod batch;
mod index_state;
mod other_versions;
mod private;
mod read;
mod readers;
mod scan;

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::Duration,
};

use codeinfo_core::{
    IndexCounts, LastRun, Root, RootId, Timestamp, task::Tasks, telemetry::FailureLog,
};
use codeinfo_embed::Embedder;
use codeinfo_store::{Lease, Store, StoreError};
use codeinfo_worktree::{beneath::RootDir, private_places::PrivatePlaces};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

pub(super) use self::scan::{IndexedFolders, has_changes};
use self::{
    batch::EmbeddedFileBatch, index_state::IndexState, other_versions::OtherTreeVersions,
    readers::ReadJob,
};
use super::{
    discover::{DiscoveredFile, WalkResult},
    error::IngestError,
    io_watchdog::IoWatchdog,
    plan::{self, FileRecords, RunMode, RunPlan},
    repository::{self, OwnerLocks},
    scope::PathScope,
    skip::MissingFiles,
    status::{RunFindings, RunProgress, RunState},
};

/// Maximum number of read files that wait for the embedder.
const READ_AHEAD: usize = 32;
/// Maximum number of embedded batches that wait for the store.
const WRITE_AHEAD: usize = 1;
/// Marks a root as interrupted from the first write of a run until its end, to detect a killed run.
pub(super) fn mark_interrupted(root: Root) -> Root {
    Root { last_run: LastRun::Interrupted, ..root }
}

/// Work at the end of a run of a root that succeeded.
pub type FollowUp = Box<dyn Fn(RootId) -> BoxFuture<'static, ()> + Send + Sync>;

#[derive(Clone)]
pub(super) struct RunDependencies {
    pub(super) store: Store,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) max_file_bytes: u64,
    /// Places that are never indexed; unset until the server has set them.
    pub(super) private: Arc<OnceLock<Arc<PrivatePlaces>>>,
    pub(super) folders: IndexedFolders,
    /// Locks for changes of the data of each repository.
    pub(super) turns: OwnerLocks,
    /// Watchdog for walking and reading roots.
    pub(super) watchdog: IoWatchdog,
    /// Watchdog for looking up a path, which also works while a run holds that path.
    pub(super) lookups: IoWatchdog,
    pub(super) tasks: Tasks,
    pub(super) failures: FailureLog,
    pub(super) follow_up: Arc<OnceLock<FollowUp>>,
}

impl RunDependencies {
    /// Returns the places that are never indexed: those of the index, keys and conversations.
    pub(super) fn private_places(&self) -> Arc<PrivatePlaces> {
        self.private.get().cloned().unwrap_or_default()
    }
}

#[derive(Debug, Clone)]
pub(super) struct IngestJob {
    /// Root as requested; the run sets its counts and times.
    pub(super) root: Root,
    pub(super) mode: RunMode,
    /// Part of the root to scan; `None` for the whole root.
    pub(super) scope: Option<Arc<PathScope>>,
    pub(super) origin: RunOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOrigin {
    User,
    /// Requested by the watcher, which may request it again.
    Watch,
}

/// State shared by the stages of one run.
#[derive(Clone)]
struct RunTarget {
    root: RootId,
    owner: RootId,
    store: Store,
    embedder: Arc<dyn Embedder>,
}

/// Maximum time to record a failure of the store itself. The root is already marked as interrupted.
const NOTE_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs a job while no other process changes its root. A failure is also recorded in the root.
pub(super) async fn run_job(
    deps: &RunDependencies,
    mut job: IngestJob,
    progress: RunProgress,
    cancel: CancellationToken,
) -> Result<RunState, IngestError> {
    let Root { path, revision, .. } = &job.root;
    let host = deps.store.host();
    let roots = deps.store.roots().await?;
    let (lookups, stopping) = (&deps.lookups, deps.tasks.stop_token());
    let commit = revision.as_ref();
    let facts = repository::load_tree_facts(lookups, stopping, host, path, commit, &roots).await?;
    job.root = facts.apply_to(job.root);
    let is_moved = |root: &&Root| {
        let has_chunks = root.last_run != LastRun::Discarded;
        root.id == job.root.id && root.chunk_owner() != job.root.chunk_owner() && has_chunks
    };
    if let Some(moved) = roots.iter().find(is_moved) {
        // The root now belongs to another repository, which has none of its chunks.
        remove_root(deps, moved).await?;
    }
    let turn = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(IngestError::Cancelled),
        turn = deps.turns.lock_owner(job.root.chunk_owner()) => turn,
    };
    let lease = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(IngestError::Cancelled),
        lease = deps.store.lease(job.root.chunk_owner()) => lease?,
    };
    let ended = run_leased(deps, job, progress, cancel, &lease).await;
    lease.release().await;
    drop(turn);
    ended
}

/// Deletes a root while no other process changes it. An interrupted removal marks the root, and its
/// next run repairs it.
pub(super) async fn remove_root(deps: &RunDependencies, root: &Root) -> Result<(), StoreError> {
    let id = root.id;
    let turn = deps.turns.lock_owner(root.chunk_owner()).await;
    let lease = deps.store.lease(root.chunk_owner()).await?;
    deps.folders.forget_root(id);
    let removing = async {
        let roots = deps.store.roots().await?;
        if let Some(root) = roots.into_iter().find(|known| known.id == id) {
            deps.store.put_root(mark_interrupted(root)).await?;
        }
        deps.store.remove_root(id).await
    };
    let removed = tokio::select! {
        removed = removing => removed,
        error = lease.wait_until_lost() => Err(error),
    };
    lease.release().await;
    drop(turn);
    removed
}

async fn run_leased(
    deps: &RunDependencies,
    job: IngestJob,
    progress: RunProgress,
    cancel: CancellationToken,
    lease: &Lease,
) -> Result<RunState, IngestError> {
    let id = job.root.id;
    let before = deps.store.roots().await?.into_iter().find(|root| root.id == id);
    let mut run = Run {
        lease,
        target: RunTarget {
            root: id,
            owner: job.root.chunk_owner(),
            store: deps.store.clone(),
            embedder: Arc::clone(&deps.embedder),
        },
        root: Root { changed_at: before.as_ref().and_then(|root| root.changed_at), ..job.root },
        private: BTreeSet::new(),
        censored: BTreeSet::new(),
        index_state: IndexState::new(FileRecords::new(), false),
        has_begun: false,
        part: None,
        progress,
        cancel,
    };
    let ended = tokio::select! {
        ended = run.run(deps, before.as_ref(), job.mode, job.scope) => ended,
        // Dropping the run prevents further writes.
        error = lease.wait_until_lost() => Err(error.into()),
    };
    match &ended {
        Ok(_) => deps.folders.add_files(id, run.index_state.records().keys()),
        Err(_) => deps.folders.forget_root(id),
    }
    if let Err(IngestError::Store(StoreError::LeaseLost { .. })) = &ended {
        // Another process may own the root now.
        return ended;
    }
    let recorded = run.record_end(before, &ended).await;
    let state = ended?;
    recorded?;
    Ok(state)
}

struct Run<'a> {
    lease: &'a Lease,
    target: RunTarget,
    root: Root,
    /// Secret files of the root known to the run.
    private: BTreeSet<String>,
    /// Those of them that are indexed with their secrets replaced.
    censored: BTreeSet<String>,
    index_state: IndexState,
    /// True once the root is marked as changing.
    has_begun: bool,
    part: Option<Arc<PathScope>>,
    progress: RunProgress,
    cancel: CancellationToken,
}

impl Run<'_> {
    async fn run(
        &mut self,
        deps: &RunDependencies,
        before: Option<&Root>,
        mode: RunMode,
        scope: Option<Arc<PathScope>>,
    ) -> Result<RunState, IngestError> {
        self.progress.update_status(|status| status.state = RunState::Scanning);
        let listed = before.and_then(|root| root.private_files.as_deref());
        let known = listed.unwrap_or_default();
        self.private = known.iter().cloned().collect();
        if before.is_none() {
            self.mark_as_changing().await?;
        }
        // The first run, and a run after a failed one, must cover the whole root.
        let whole = before
            .filter(|root| root.last_run.is_completed() && root.last_ingest_at.is_some())
            .filter(|_| listed.is_some());
        let (folder, discovered) = if let (Some(before), Some(scope)) = (whole, scope) {
            let seen = scan::scan_part(deps, &self.root, &scope, &self.cancel).await?;
            self.index_state = IndexState::for_part(seen.records, before.counts);
            self.merge_secrets(Some(before), Some(&scope), &seen.discovered);
            self.part = Some(scope);
            (seen.folder, seen.discovered)
        } else {
            let (folder, discovered) =
                scan::walk_root(deps, &self.root, None, &self.cancel).await?;
            self.merge_secrets(before, None, &discovered);
            let mut records = scan::load_records(deps, self.root.id).await?;
            let mut has_repaired = false;
            if before.is_some_and(|root| !root.last_run.is_completed()) {
                self.mark_as_changing().await?;
                has_repaired =
                    index_state::repair_index(&self.target, &mut records, &self.cancel).await?;
            }
            deps.folders.record_all_files(self.root.id, records.keys());
            self.index_state = IndexState::new(records, has_repaired);
            (folder, discovered)
        };
        // Files not known to be harmless count as secret until they are read.
        let is_unknown = |path: &&String| self.index_state.get(path).is_none();
        self.private.extend(discovered.doubtful.iter().filter(is_unknown).cloned());
        if listed.is_none_or(|listed| self.private_files() != listed) {
            // The secrets must be recorded before a question can find these files.
            self.write_interrupted_root().await?;
        }
        let plan = self.build_plan(discovered, mode);
        self.execute_plan(deps, folder, plan, mode).await?;
        self.target.store.flush().await?;
        let is_first = before.is_none_or(|root| root.last_ingest_at.is_none());
        let has_changed = is_first || mode == RunMode::Everything || self.index_state.has_changed();
        Ok(if has_changed { RunState::Completed } else { RunState::Skipped })
    }

    fn build_plan(&mut self, discovered: WalkResult, mode: RunMode) -> RunPlan {
        let untouchable = scan::list_unreadable_paths(&discovered);
        self.index_state.skips.omitted = discovered.omitted;
        for skipped in discovered.skipped {
            self.index_state.skips.add(skipped);
        }
        let plan = plan::plan_run(discovered.files, self.index_state.records(), &untouchable, mode);
        debug!(
            read = plan.read.len(),
            gone = plan.gone.len(),
            unchanged = plan.unchanged,
            "planned"
        );
        plan
    }

    /// Executes the plan and deletes gone files last, so that a moved file is always in the index.
    async fn execute_plan(
        &mut self,
        deps: &RunDependencies,
        folder: RootDir,
        plan: RunPlan,
        mode: RunMode,
    ) -> Result<(), IngestError> {
        let bytes = plan.read.iter().map(|file| file.size).sum();
        self.progress.start_embedding(plan.read.len(), bytes);
        self.progress.add_done_files(0, 0, self.index_state.run_counts());
        let mut gone = plan.gone;
        if !plan.read.is_empty() {
            gone.extend(self.stream_files(deps, folder, plan.read, mode).await?);
        }
        if self.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        if !gone.is_empty() {
            self.mark_as_changing().await?;
            batch::remove_files(&self.target, &mut self.index_state, &gone).await?;
        }
        self.progress.add_done_files(0, 0, self.index_state.run_counts());
        Ok(())
    }

    /// Runs the three stages in parallel and returns the gone files. A stage that fails or is
    /// cancelled drops its end of a channel, which ends the others.
    async fn stream_files(
        &mut self,
        deps: &RunDependencies,
        folder: RootDir,
        files: Vec<DiscoveredFile>,
        mode: RunMode,
    ) -> Result<Vec<String>, IngestError> {
        let (result_sender, result_receiver) = mpsc::channel(READ_AHEAD);
        let (batch_sender, mut batch_receiver) = mpsc::channel::<EmbeddedFileBatch>(WRITE_AHEAD);
        let hold = deps.watchdog.acquire_path(&self.root.path, &self.cancel).await?;
        let other_versions = match mode {
            RunMode::Changes => other_versions::load_other_versions(&self.target, &files).await?,
            RunMode::Everything => OtherTreeVersions::default(),
        };
        let read_job = ReadJob::new(self, deps, folder, hold, files, other_versions, mode);
        let readers = read_job.start_readers(&deps.tasks, &result_sender);
        // The channel must close when the last reader ends.
        drop(result_sender);
        let (target, cancel) = (self.target.clone(), self.cancel.clone());
        let (root_path, pulses) = (self.root.path.clone(), readers.heartbeats());
        let embedding = batch::embed_all(&target, result_receiver, batch_sender, &cancel);
        let mut gone = Vec::new();
        let writing = async {
            while let Some(batch) = batch_receiver.recv().await {
                if self.cancel.is_cancelled() {
                    return Err(IngestError::Cancelled);
                }
                self.write_batch(batch, &mut gone).await?;
            }
            drop(batch_receiver);
            Ok(())
        };
        let working = async {
            let (embedded, written) = tokio::join!(embedding, writing);
            let ended = readers.wait_until_ended(&cancel).await;
            written.and(embedded).and(ended)
        };
        tokio::select! {
            ended = working => ended?,
            // Dropping the stages ends the wait for the readers.
            error = deps.watchdog.wait_for_silence(&root_path, &pulses) => return Err(error),
        }
        Ok(gone)
    }

    async fn write_batch(
        &mut self,
        mut batch: EmbeddedFileBatch,
        gone: &mut Vec<String>,
    ) -> Result<(), IngestError> {
        self.lease.check()?;
        let files = &mut batch.files;
        if !files.changed.is_empty() {
            self.mark_as_changing().await?;
        }
        gone.extend(private::update_after_read(&mut self.private, &mut self.censored, files));
        gone.extend_from_slice(&files.gone);
        for skipped in &files.skipped {
            // A file that is unreadable now may be readable next time, so its chunks remain.
            if !skipped.reason.is_temporary() && self.index_state.get(&skipped.path).is_some() {
                gone.push(skipped.path.clone());
            }
            self.index_state.skips.add(skipped.clone());
        }
        self.index_state.fallbacks += files.fallbacks;
        self.index_state.redacted.add(files.redacted);
        self.index_state.lossy.extend(std::mem::take(&mut files.lossy));
        let (count, bytes) = (files.count() as u64, files.bytes);
        batch::write_batch(&self.target, &mut self.index_state, batch).await?;
        self.progress.add_done_files(count, bytes, self.index_state.run_counts());
        Ok(())
    }

    /// Marks the root as changing before the first change of the run.
    async fn mark_as_changing(&mut self) -> Result<(), IngestError> {
        if !self.has_begun {
            self.write_interrupted_root().await?;
        }
        Ok(())
    }

    /// Marks the root as changing, with the secrets known now.
    async fn write_interrupted_root(&mut self) -> Result<(), IngestError> {
        self.has_begun = true;
        self.root.changed_at = Some(Timestamp::now());
        self.root.private_files = Some(self.private_files());
        self.root.censored_files = self.censored.iter().cloned().collect();
        Ok(self.target.store.put_root(mark_interrupted(self.root.clone())).await?)
    }

    fn private_files(&self) -> Vec<String> {
        private::fold_private_paths(&self.private)
    }

    async fn record_end(
        &mut self,
        before: Option<Root>,
        ended: &Result<RunState, IngestError>,
    ) -> Result<(), IngestError> {
        let missing = MissingFiles::from_summary(&self.index_state.skips);
        self.progress.record_findings(RunFindings { missing, part: self.part.clone() });
        let omitted = self.index_state.omitted_paths();
        if let Some(notes) = self.index_state.build_notes(ended.is_ok(), &omitted) {
            info!(root.name = %self.root.name, notes, "files not indexed as they are");
            self.progress.update_status(|status| status.message = Some(notes));
        }
        self.root.private_files = Some(self.private_files());
        self.root.omitted = match (&self.part, &before) {
            (Some(scope), Some(before)) => {
                omitted.with_uncovered(&before.omitted, |path| scope.covers(path))
            }
            _ => omitted,
        };
        self.root.censored_files = self.censored.iter().cloned().collect();
        let Root { private_files, censored_files, .. } = self.root.clone();
        let former = before.map(|root| Root { private_files, censored_files, ..root });
        let root = match ended {
            Ok(_) => Root {
                last_ingest_at: Some(Timestamp::now()),
                counts: self.index_state.totals(),
                last_run: LastRun::Completed,
                ..self.root.clone()
            },
            Err(IngestError::Cancelled) => match former {
                // The next run repairs and counts.
                Some(former) if self.has_begun && !former.last_run.is_completed() => former,
                Some(former) if self.has_begun => {
                    let embedded = former.counts.embedded;
                    Root { counts: IndexCounts { embedded, ..self.index_state.totals() }, ..former }
                }
                Some(_) => return Ok(()),
                None => Root { counts: self.index_state.totals(), ..self.root.clone() },
            },
            Err(error) => {
                let root = former.unwrap_or_else(|| self.root.clone());
                Root { last_run: error.to_last_run(), ..root }
            }
        };
        let recording =
            self.target.store.put_root(Root { changed_at: self.root.changed_at, ..root });
        if let Err(IngestError::Store(_)) = ended {
            // The store may be unavailable; the caller gets the error of the run itself.
            match tokio::time::timeout(NOTE_TIMEOUT, recording).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    warn!(root.name = %self.root.name, %error, "failure not noted in the store");
                }
                Err(_) => warn!(root.name = %self.root.name, "failure not noted in the store"),
            }
            return Ok(());
        }
        recording.await?;
        Ok(self.target.store.flush().await?)
    }
}
