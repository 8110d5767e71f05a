//! One run: scan, plan, then read, embed and write as a stream, so that memory stays bounded.
//!
//! A run marks its root as interrupted before its first write and clears the mark at its end. A
//! run that finds the mark compares every chunk with the file records first. At most 32 MiB of
//! files are between reading and writing at a time, whatever their number.
//!
//! A run waits for the lease of its repository only until it knows that the holder lives, and then
//! fails: waiting longer would hold up all other runs of this process.

mod batch;
mod elsewhere;
mod folders;
mod index_state;
mod private;
mod read;
mod readers;
mod repair;
mod scan;
mod write;

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::Duration,
};

use codeinfo_core::{Counts, LastRun, Root, RootId, Timestamp, task::Tasks, telemetry::Failures};
use codeinfo_embed::Embedder;
use codeinfo_store::{Lease, Store, StoreError};
use codeinfo_worktree::{beneath::Beneath, private_places::PrivatePlaces};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::{elsewhere::Elsewhere, index_state::IndexState, readers::Reading, write::Embedded};
pub(super) use self::{folders::Folders, scan::changes};
use super::{
    discover::{Discovered, Found},
    error::IngestError,
    plan::{self, Mode, Plan, Records},
    pulse::Watchdog,
    repository::{self, Turns},
    scope::Scope,
    skip::Missing,
    status::{Found as AtEnd, Progress, State},
};

/// How many read files may wait for the embedder.
const READ_AHEAD: usize = 32;
/// How many embedded batches may wait for the store.
const WRITE_AHEAD: usize = 1;
/// Returns what a root says from the first write of a run on until its end, so that a run that was
/// killed is known to have been.
pub(super) fn interrupted(root: Root) -> Root {
    Root { last_run: LastRun::Interrupted, ..root }
}

/// What runs work with.
#[derive(Clone)]
pub(super) struct Deps {
    pub(super) store: Store,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) max_file_bytes: u64,
    /// Places that are never indexed, once they are known.
    pub(super) private: Arc<OnceLock<Arc<PrivatePlaces>>>,
    pub(super) folders: Folders,
    /// Whose turn it is to change what is kept of a repository.
    pub(super) turns: Turns,
    /// For walking and reading roots.
    pub(super) watchdog: Watchdog,
    /// For asking what is at a path, also while a run works there.
    pub(super) lookups: Watchdog,
    pub(super) tasks: Tasks,
    /// Where a run that fails is noted.
    pub(super) failures: Failures,
}

impl Deps {
    /// Returns the places that are never indexed: they hold the index, keys and conversations.
    pub(super) fn private_places(&self) -> Arc<PrivatePlaces> {
        self.private.get().cloned().unwrap_or_default()
    }
}

/// What one run is to do.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The root as it is to be; counts and times are filled in by the run.
    pub(super) root: Root,
    pub(super) mode: Mode,
    /// What the run scans; `None` is the whole root.
    pub(super) scope: Option<Arc<Scope>>,
    pub(super) origin: Origin,
}

/// Who asked for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A client.
    User,
    /// The watcher, which may ask again.
    Watch,
}

/// What the stages of one run share.
#[derive(Clone)]
struct Target {
    root: RootId,
    /// What its chunks are kept under.
    owner: RootId,
    store: Store,
    embedder: Arc<dyn Embedder>,
}

/// How long the failure of a run may take to be noted when the store is what failed. The root says
/// already that the run was interrupted.
const NOTE_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs a job to its end, while no other process changes its root. Returns the final state; a failure
/// is also noted in the root.
pub(super) async fn run(
    deps: &Deps,
    mut job: Job,
    progress: Progress,
    cancel: CancellationToken,
) -> Result<State, IngestError> {
    let Root { path, revision, .. } = &job.root;
    let (lookups, host) = ((&deps.lookups, deps.tasks.stopping()), deps.store.host());
    let roots = deps.store.roots().await?;
    let known = repository::of_tree(lookups, host, path, revision.as_ref(), &roots).await?;
    job.root = known.of(job.root);
    let is_moved = |root: &&Root| {
        let has_chunks = root.last_run != LastRun::Discarded;
        root.id == job.root.id && root.owner() != job.root.owner() && has_chunks
    };
    if let Some(moved) = roots.iter().find(is_moved) {
        // It became a tree of another repository, where none of its chunks are.
        remove(deps, moved).await?;
    }
    let turn = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(IngestError::Cancelled),
        turn = deps.turns.of(job.root.owner()) => turn,
    };
    let lease = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(IngestError::Cancelled),
        lease = deps.store.lease(job.root.owner()) => lease?,
    };
    let ended = run_leased(deps, job, progress, cancel, &lease).await;
    lease.release().await;
    drop(turn);
    ended
}

/// Forgets a root while no other process changes it. If that is interrupted, the root says so, and the
/// next run of it finds out what is left.
pub(super) async fn remove(deps: &Deps, root: &Root) -> Result<(), StoreError> {
    let id = root.id;
    let turn = deps.turns.of(root.owner()).await;
    let lease = deps.store.lease(root.owner()).await?;
    deps.folders.forget(id);
    let removing = async {
        let roots = deps.store.roots().await?;
        if let Some(root) = roots.into_iter().find(|known| known.id == id) {
            deps.store.put_root(interrupted(root)).await?;
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
    deps: &Deps,
    job: Job,
    progress: Progress,
    cancel: CancellationToken,
    lease: &Lease,
) -> Result<State, IngestError> {
    let id = job.root.id;
    let before = deps.store.roots().await?.into_iter().find(|root| root.id == id);
    let mut run = Run {
        lease,
        target: Target {
            root: id,
            owner: job.root.owner(),
            store: deps.store.clone(),
            embedder: Arc::clone(&deps.embedder),
        },
        root: Root { changed_at: before.as_ref().and_then(|root| root.changed_at), ..job.root },
        private: BTreeSet::new(),
        censored: BTreeSet::new(),
        index_state: IndexState::new(Records::new(), false),
        has_begun: false,
        part: None,
        progress,
        cancel,
    };
    let ended = tokio::select! {
        ended = run.run(deps, before.as_ref(), job.mode, job.scope) => ended,
        // Dropping the run is what keeps it from writing once more.
        error = lease.wait_until_lost() => Err(error.into()),
    };
    match &ended {
        Ok(_) => deps.folders.add(id, run.index_state.records().keys()),
        Err(_) => deps.folders.forget(id),
    }
    if let Err(IngestError::Store(StoreError::LeaseLost { .. })) = &ended {
        // The root may be another process's now.
        return ended;
    }
    let noted = run.note_end(before, &ended).await;
    let state = ended?;
    noted?;
    Ok(state)
}

struct Run<'a> {
    lease: &'a Lease,
    target: Target,
    root: Root,
    /// The secrets of the root, as far as the run knows.
    private: BTreeSet<String>,
    /// Those of them that are indexed, without their secrets.
    censored: BTreeSet<String>,
    index_state: IndexState,
    /// Whether the root says that it is being changed.
    has_begun: bool,
    /// The part of the root that it looks at; `None` is the whole.
    part: Option<Arc<Scope>>,
    progress: Progress,
    cancel: CancellationToken,
}

impl Run<'_> {
    async fn run(
        &mut self,
        deps: &Deps,
        before: Option<&Root>,
        mode: Mode,
        scope: Option<Arc<Scope>>,
    ) -> Result<State, IngestError> {
        self.progress.update(|status| status.state = State::Scanning);
        let listed = before.and_then(|root| root.private_files.as_deref());
        let known = listed.unwrap_or_default();
        self.private = known.iter().cloned().collect();
        if before.is_none() {
            self.begin().await?;
        }
        // After a run that did not end well, and before the first, a part is not enough.
        let whole =
            before.filter(|root| root.last_run.is_completed() && root.last_ingest_at.is_some());
        let whole = whole.filter(|_| listed.is_some());
        let (folder, discovered) = if let (Some(before), Some(scope)) = (whole, scope) {
            let seen = scan::within(deps, &self.root, &scope, &self.cancel).await?;
            self.index_state = IndexState::of_part(seen.records, before.counts);
            self.take_up_secrets(Some(before), Some(&scope), &seen.discovered);
            self.part = Some(scope);
            (seen.folder, seen.discovered)
        } else {
            let (folder, discovered) = scan::walk(deps, &self.root, None, &self.cancel).await?;
            self.take_up_secrets(before, None, &discovered);
            let mut records = scan::records(deps, self.root.id).await?;
            let mut has_repaired = false;
            if before.is_some_and(|root| !root.last_run.is_completed()) {
                self.begin().await?;
                has_repaired = repair::repair(&self.target, &mut records, &self.cancel).await?;
            }
            deps.folders.learn(self.root.id, records.keys());
            self.index_state = IndexState::new(records, has_repaired);
            (folder, discovered)
        };
        // Those that are not known to be harmless count until they are read.
        let is_unknown = |path: &&String| self.index_state.get(path).is_none();
        self.private.extend(discovered.doubtful.iter().filter(is_unknown).cloned());
        if listed.is_none_or(|listed| self.private_files() != listed) {
            // Before a question may be asked about what was found.
            self.begin_again().await?;
        }
        let plan = self.plan(discovered, mode);
        self.carry_out(deps, folder, plan, mode).await?;
        self.target.store.flush().await?;
        let is_first = before.is_none_or(|root| root.last_ingest_at.is_none());
        let has_changed = is_first || mode == Mode::Everything || self.index_state.has_changed();
        Ok(if has_changed { State::Completed } else { State::Skipped })
    }

    fn plan(&mut self, discovered: Discovered, mode: Mode) -> Plan {
        let untouchable = scan::untouchable(&discovered);
        self.index_state.skips.omitted = discovered.omitted;
        for skipped in discovered.skipped {
            self.index_state.skips.add(skipped);
        }
        let plan = plan::plan(discovered.files, self.index_state.records(), &untouchable, mode);
        debug!(
            read = plan.read.len(),
            gone = plan.gone.len(),
            unchanged = plan.unchanged,
            "planned"
        );
        plan
    }

    /// Reads, embeds and writes what the plan names, then takes out what is gone: a moved file is
    /// found at its new place before it is lost at its old one.
    async fn carry_out(
        &mut self,
        deps: &Deps,
        folder: Beneath,
        plan: Plan,
        mode: Mode,
    ) -> Result<(), IngestError> {
        let bytes = plan.read.iter().map(|file| file.size).sum();
        self.progress.embedding(plan.read.len(), bytes);
        self.progress.done(0, 0, self.index_state.counts());
        let mut gone = plan.gone;
        if !plan.read.is_empty() {
            gone.extend(self.stream(deps, folder, plan.read, mode).await?);
        }
        if self.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        if !gone.is_empty() {
            self.begin().await?;
            write::remove(&self.target, &mut self.index_state, &gone).await?;
        }
        self.progress.done(0, 0, self.index_state.counts());
        Ok(())
    }

    /// Runs the three stages side by side. A stage that fails or is cancelled drops its end of a
    /// channel, which ends the others.
    /// Returns the files that are gone.
    async fn stream(
        &mut self,
        deps: &Deps,
        folder: Beneath,
        files: Vec<Found>,
        mode: Mode,
    ) -> Result<Vec<String>, IngestError> {
        let (read_to, read_from) = mpsc::channel(READ_AHEAD);
        let (embedded_to, mut embedded_from) = mpsc::channel::<Embedded>(WRITE_AHEAD);
        let hold = deps.watchdog.hold(&self.root.path, &self.cancel).await?;
        let elsewhere = match mode {
            Mode::Changes => elsewhere::found(&self.target, &files).await?,
            Mode::Everything => Elsewhere::default(),
        };
        let readers = Reading::new(self, deps, (folder, hold), (files, elsewhere), mode);
        let readers = readers.start(&deps.tasks, &read_to);
        // Only the readers' own ends keep the channel open.
        drop(read_to);
        let (target, cancel) = (self.target.clone(), self.cancel.clone());
        let (place, pulses) = (self.root.path.clone(), readers.pulses());
        let embedding = batch::embed_all(&target, read_from, embedded_to, &cancel);
        let mut gone = Vec::new();
        let writing = async {
            while let Some(batch) = embedded_from.recv().await {
                if self.cancel.is_cancelled() {
                    return Err(IngestError::Cancelled);
                }
                self.write(batch, &mut gone).await?;
            }
            drop(embedded_from);
            Ok(())
        };
        let working = async {
            let (embedded, written) = tokio::join!(embedding, writing);
            let ended = readers.end(&cancel).await;
            written.and(embedded).and(ended)
        };
        tokio::select! {
            ended = working => ended?,
            // Dropping the stages is what keeps them from waiting for the readers.
            error = deps.watchdog.silence(&place, &pulses) => return Err(error),
        }
        Ok(gone)
    }

    async fn write(
        &mut self,
        mut batch: Embedded,
        gone: &mut Vec<String>,
    ) -> Result<(), IngestError> {
        self.lease.check()?;
        if !batch.changed.is_empty() {
            self.begin().await?;
        }
        gone.extend(private::read(&mut self.private, &mut self.censored, &batch));
        gone.extend_from_slice(&batch.gone);
        for skipped in &batch.skipped {
            // What could not be read now may be readable next time, so its chunks stay.
            if !skipped.reason.is_passing() && self.index_state.get(&skipped.path).is_some() {
                gone.push(skipped.path.clone());
            }
            self.index_state.skips.add(skipped.clone());
        }
        self.index_state.fallbacks += batch.fallbacks;
        self.index_state.redacted.add(batch.redacted);
        self.index_state.lossy.extend(std::mem::take(&mut batch.lossy));
        let (files, bytes) = (batch.files, batch.bytes);
        let room = std::mem::take(&mut batch.rooms);
        write::write(&self.target, &mut self.index_state, batch).await?;
        drop(room);
        self.progress.done(files, bytes, self.index_state.counts());
        Ok(())
    }

    /// Says in the root that it is being changed, once, before the first change.
    async fn begin(&mut self) -> Result<(), IngestError> {
        if !self.has_begun {
            self.begin_again().await?;
        }
        Ok(())
    }

    /// Says so again, with what is known by now.
    async fn begin_again(&mut self) -> Result<(), IngestError> {
        self.has_begun = true;
        self.root.changed_at = Some(Timestamp::now());
        self.root.private_files = Some(self.private_files());
        self.root.censored_files = self.censored.iter().cloned().collect();
        Ok(self.target.store.put_root(interrupted(self.root.clone())).await?)
    }

    fn private_files(&self) -> Vec<String> {
        private::named(&self.private)
    }

    /// Writes the root as the run leaves it.
    async fn note_end(
        &mut self,
        before: Option<Root>,
        ended: &Result<State, IngestError>,
    ) -> Result<(), IngestError> {
        let missing = Missing::of(&self.index_state.skips);
        self.progress.end(AtEnd { missing, part: self.part.clone() });
        let omitted = self.index_state.omitted();
        if let Some(notes) = self.index_state.notes(ended.is_ok(), &omitted) {
            info!(root.name = %self.root.name, notes, "files not indexed as they are");
            self.progress.update(|status| status.message = Some(notes));
        }
        self.root.private_files = Some(self.private_files());
        self.root.omitted = match (&self.part, &before) {
            (Some(scope), Some(before)) => {
                omitted.with_rest(&before.omitted, |path| scope.covers(path))
            }
            _ => omitted,
        };
        self.root.censored_files = self.censored.iter().cloned().collect();
        let Root { private_files, censored_files, .. } = self.root.clone();
        let before = before.map(|root| Root { private_files, censored_files, ..root });
        let root = match ended {
            Ok(_) => Root {
                last_ingest_at: Some(Timestamp::now()),
                counts: self.index_state.totals(),
                last_run: LastRun::Completed,
                ..self.root.clone()
            },
            Err(IngestError::Cancelled) => match before {
                // What is repaired next time is counted then.
                Some(before) if self.has_begun && !before.last_run.is_completed() => before,
                Some(before) if self.has_begun => {
                    let embedded = before.counts.embedded;
                    Root { counts: Counts { embedded, ..self.index_state.totals() }, ..before }
                }
                Some(_) => return Ok(()),
                None => Root { counts: self.index_state.totals(), ..self.root.clone() },
            },
            Err(error) => {
                let root = before.unwrap_or_else(|| self.root.clone());
                Root { last_run: error.to_last_run(), ..root }
            }
        };
        let noting = self.target.store.put_root(Root { changed_at: self.root.changed_at, ..root });
        if let Err(IngestError::Store(_)) = ended {
            // The store may be away: the run's own failure is what the caller hears of.
            match tokio::time::timeout(NOTE_TIMEOUT, noting).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    warn!(root.name = %self.root.name, %error, "failure not noted in the store");
                }
                Err(_) => warn!(root.name = %self.root.name, "failure not noted in the store"),
            }
            return Ok(());
        }
        noting.await?;
        Ok(self.target.store.flush().await?)
    }
}
