//! Table of runs: waiting, working and ended. Its methods are short; [`super::Ingest`] locks it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use codeinfo_core::{Root, RootId, RunId, Timestamp};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    pipeline::{IngestJob, RunOrigin},
    plan::RunMode,
    scope::PathScope,
    status::{PastRun, RunHistory, RunState, RunStatus},
};

/// Maximum number of ended watcher runs with a status, kept apart: editors cause one each second.
const MAX_FINISHED_BY_WATCH: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct RunLimits {
    pub(super) queued: usize,
    pub(super) finished: usize,
    pub(super) patience: Duration,
}

#[derive(Debug)]
pub(super) struct RunTable {
    limits: RunLimits,
    entries: HashMap<RunId, RunEntry>,
    /// Waiting runs, first in, first out.
    queue: VecDeque<RunId>,
    /// Working runs, at most one per root.
    working: Vec<RunId>,
    /// Ended runs requested by clients, oldest first.
    finished: VecDeque<RunId>,
    /// Ended runs requested by the watcher, oldest first.
    finished_by_watch: VecDeque<RunId>,
    /// Final state of the last run of each root in this process.
    ended: HashMap<RootId, RunEnding>,
    /// Roots that the watcher must request again, because another process was working on them.
    deferred: HashSet<RootId>,
    /// Runs to restart when the unavailable store is back.
    lost: HashMap<RootId, IngestJob>,
    /// Roots being removed; their runs cannot start.
    removing: HashSet<RootId>,
    /// Names given to roots in this process, so that two waiting runs cannot get the same name.
    names: HashMap<RootId, String>,
    history: RunHistory,
}

#[derive(Debug)]
struct RunEnding {
    state: RunState,
    /// Time of the last ingest before this run.
    before: Option<Timestamp>,
}

impl RunEnding {
    /// Returns true if the store agrees. Otherwise another process has worked on the root since.
    fn agrees_with(&self, root: &Root) -> bool {
        match self.state {
            RunState::Error => !root.last_run.is_completed(),
            RunState::Completed | RunState::Skipped => root.last_run.is_completed(),
            RunState::Cancelled => root.last_ingest_at == self.before,
            RunState::Queued | RunState::Scanning | RunState::Embedding => true,
        }
    }
}

#[derive(Debug)]
struct RunEntry {
    job: IngestJob,
    started: Option<Instant>,
    sender: watch::Sender<RunStatus>,
    cancel: CancellationToken,
}

impl RunEntry {
    /// Returns true if this run does everything that `job` requests.
    fn covers_job(&self, job: &IngestJob) -> bool {
        let (own, other) = (&self.job.root, &job.root);
        let does_all = self.job.mode == RunMode::Everything || job.mode == RunMode::Changes;
        let sees_all = self.job.scope.is_none() || self.job.scope == job.scope;
        does_all && sees_all && own.name == other.name && own.description == other.description
    }

    /// Adds the request of a later job for the same root.
    fn merge_job(&mut self, job: IngestJob, names: &mut HashMap<RootId, String>) {
        names.insert(job.root.id, job.root.name.clone());
        self.sender.send_modify(|status| status.root.clone_from(&job.root.name));
        let mode = if self.job.mode == RunMode::Everything { self.job.mode } else { job.mode };
        let scope = job.scope.filter(|scope| self.job.scope.as_ref() == Some(scope));
        let origin = if self.job.origin == RunOrigin::User { RunOrigin::User } else { job.origin };
        self.job = IngestJob { root: job.root, mode, scope, origin };
    }
}

/// Lanes in which runs work in parallel, so that a saved file need not wait for a large repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerLane {
    All,
    Watch,
    /// Takes any run once another one has worked for long, so that an endless run delays no other.
    Spare,
}

impl WorkerLane {
    pub(super) const ALL: [Self; 3] = [Self::All, Self::Watch, Self::Spare];

    fn accepts_job(self, job: &IngestJob) -> bool {
        self != Self::Watch || job.origin == RunOrigin::Watch
    }
}

pub(super) struct NextRun {
    pub(super) run: RunId,
    pub(super) job: IngestJob,
    pub(super) sender: watch::Sender<RunStatus>,
    pub(super) cancel: CancellationToken,
}

impl RunTable {
    pub(super) fn new(limits: RunLimits) -> Self {
        Self {
            limits,
            entries: HashMap::new(),
            queue: VecDeque::new(),
            working: Vec::new(),
            finished: VecDeque::new(),
            finished_by_watch: VecDeque::new(),
            ended: HashMap::new(),
            deferred: HashSet::new(),
            lost: HashMap::new(),
            removing: HashSet::new(),
            names: HashMap::new(),
            history: RunHistory::default(),
        }
    }

    /// Adds a run of `job`, which `cancel` cancels, or returns the active run of the same root.
    pub(super) fn admit_job(
        &mut self,
        job: IngestJob,
        cancel: CancellationToken,
    ) -> Result<RunId, IngestError> {
        let busy = |action| Err(IngestError::RootBusy { root: job.root.name.clone(), action });
        if self.removing.contains(&job.root.id) {
            return busy("removed");
        }
        if let Some(run) = self.queued_run(job.root.id) {
            if let Some(entry) = self.entries.get_mut(&run)
                && !entry.covers_job(&job)
            {
                entry.merge_job(job, &mut self.names);
            }
            return Ok(run);
        }
        if let Some((run, entry)) = self.working_on(job.root.id) {
            match (entry.job.origin, entry.covers_job(&job)) {
                (RunOrigin::User, true) => return Ok(run),
                (RunOrigin::User, false) => return busy("ingested"),
                // The client's changes may be newer than this run's scan, so another run follows.
                (RunOrigin::Watch, _) => {}
            }
        }
        if self.limits.queued <= self.queue.len() {
            return Err(IngestError::QueueFull(self.limits.queued));
        }
        let run = RunId::random();
        let status = RunStatus::new_queued(run, job.root.name.clone());
        self.names.insert(job.root.id, job.root.name.clone());
        self.entries.insert(
            run,
            RunEntry { job, started: None, sender: watch::Sender::new(status), cancel },
        );
        self.queue.push_back(run);
        Ok(run)
    }

    /// Removes the next run of a lane from the queue and marks it as working.
    pub(super) fn take_next_run(&mut self, lane: WorkerLane) -> Option<NextRun> {
        let now = Instant::now();
        if lane == WorkerLane::Spare && self.spare_from().is_none_or(|from| from > now) {
            return None;
        }
        let run = self.queue.remove(self.first_ready(lane)?)?;
        let entry = self.entries.get_mut(&run)?;
        entry.started = Some(now);
        self.working.push(run);
        let (job, sender) = (entry.job.clone(), entry.sender.clone());
        Some(NextRun { run, job, sender, cancel: entry.cancel.clone() })
    }

    /// Returns the queue position of the first run that may work in a lane.
    fn first_ready(&self, lane: WorkerLane) -> Option<usize> {
        self.queue.iter().position(|run| {
            let job = self.entries.get(run).map(|entry| &entry.job);
            job.is_some_and(|job| lane.accepts_job(job) && !self.is_shared_with_working(&job.root))
        })
    }

    /// Returns the time from which a waiting run may work in [`WorkerLane::Spare`]. `None` if no
    /// waiting run may start, or if no run requested by a client is working.
    pub(super) fn spare_from(&self) -> Option<Instant> {
        self.first_ready(WorkerLane::Spare)?;
        let working = self.working.iter().filter_map(|run| self.entries.get(run));
        let mut asked_for = working.filter(|entry| entry.job.origin == RunOrigin::User);
        asked_for.next()?.started?.checked_add(self.limits.patience)
    }

    /// Returns true if a run works on a tree of the same repository.
    fn is_shared_with_working(&self, root: &Root) -> bool {
        let working = self.working.iter().filter_map(|run| self.entries.get(run));
        let mut roots = working.map(|entry| &entry.job.root);
        roots.any(|other| other.id == root.id || other.chunk_owner() == root.chunk_owner())
    }

    /// Ends a run and drops the oldest ended runs above the limit.
    pub(super) fn end_run(&mut self, run: RunId, state: RunState, error: Option<String>) {
        self.working.retain(|working| *working != run);
        self.queue.retain(|queued| *queued != run);
        if let Some(entry) = self.entries.get(&run) {
            entry.sender.send_modify(|status| {
                status.last_error = error;
                status.set_final_state(state);
            });
        }
        let origin = self.entries.get(&run).map(|entry| entry.job.origin);
        let (finished, bound) = match origin {
            Some(RunOrigin::Watch) => (&mut self.finished_by_watch, MAX_FINISHED_BY_WATCH),
            Some(RunOrigin::User) | None => (&mut self.finished, self.limits.finished),
        };
        finished.push_back(run);
        while bound < finished.len() {
            if let Some(oldest) = finished.pop_front() {
                self.entries.remove(&oldest);
            }
        }
        if let Some(root) = self.entries.get(&run).map(|entry| &entry.job.root) {
            self.lost.remove(&root.id);
            let before = root.last_ingest_at;
            self.ended.insert(root.id, RunEnding { state, before });
        }
    }

    /// Cancels a run. A waiting run ends at once, a working run soon.
    pub(super) fn cancel_run(&mut self, run: RunId) -> Result<RunStatus, IngestError> {
        let entry = self.entries.get(&run).ok_or(IngestError::RunNotFound(run))?;
        entry.cancel.cancel();
        if self.queue.contains(&run) {
            let root = entry.job.root.clone();
            self.end_run(run, RunState::Cancelled, None);
            if root.last_ingest_at.is_none() && !self.is_active(root.id) {
                // The name is free, because the root was never indexed.
                self.names.remove(&root.id);
                self.ended.remove(&root.id);
            }
        }
        self.run_status(run)
    }

    pub(super) fn active_run_count(&self) -> usize {
        self.queue.len() + self.working.len()
    }

    pub(super) fn cancel_queued(&mut self) {
        while let Some(run) = self.queue.front().copied() {
            self.end_run(run, RunState::Cancelled, None);
        }
    }

    pub(super) fn run_status(&self, run: RunId) -> Result<RunStatus, IngestError> {
        Ok(self.watch_run(run)?.borrow().clone())
    }

    pub(super) fn watch_run(&self, run: RunId) -> Result<watch::Receiver<RunStatus>, IngestError> {
        let entry = self.entries.get(&run).ok_or(IngestError::RunNotFound(run))?;
        Ok(entry.sender.subscribe())
    }

    /// Closes a root for new runs and cancels its run. Returns a receiver of that run's status.
    pub(super) fn close_root(
        &mut self,
        root: &Root,
    ) -> Result<Option<watch::Receiver<RunStatus>>, IngestError> {
        if !self.removing.insert(root.id) {
            return Err(IngestError::RootBusy { root: root.name.clone(), action: "removed" });
        }
        if let Some(run) = self.queued_run(root.id) {
            self.cancel_run(run)?;
        }
        let Some((run, _)) = self.working_on(root.id) else {
            return Ok(None);
        };
        let watch = self.watch_run(run)?;
        self.cancel_run(run)?;
        Ok(Some(watch))
    }

    /// Reopens a removed root for new runs and frees its name.
    pub(super) fn reopen_root(&mut self, root: RootId) {
        self.removing.remove(&root);
        self.lost.remove(&root);
        self.names.remove(&root);
        self.ended.remove(&root);
        self.history.forget_root(root);
    }

    /// Records the result of a run that covered `part` of a root, or all of it if `None`.
    pub(super) fn record_run(&mut self, root: RootId, run: PastRun, part: Option<&PathScope>) {
        self.history.record_run(root, run, part);
    }

    pub(super) fn last_run(&self, root: RootId) -> Option<&PastRun> {
        self.history.last_run(root)
    }

    pub(super) fn is_active(&self, root: RootId) -> bool {
        self.queued_run(root).is_some() || self.working_on(root).is_some()
    }

    fn queued_run(&self, root: RootId) -> Option<RunId> {
        let is_of_root =
            |run: &&RunId| self.entries.get(run).is_some_and(|entry| entry.job.root.id == root);
        self.queue.iter().find(is_of_root).copied()
    }

    fn working_on(&self, root: RootId) -> Option<(RunId, &RunEntry)> {
        let working = self.working.iter().filter_map(|run| Some((*run, self.entries.get(run)?)));
        working.into_iter().find(|(_, entry)| entry.job.root.id == root)
    }

    /// Returns roots with active runs; a root with two runs occurs twice, the working run last.
    pub(super) fn active_roots(&self) -> impl Iterator<Item = (&Root, RunId, RunState)> {
        self.queue.iter().chain(&self.working).filter_map(|run| {
            let entry = self.entries.get(run)?;
            Some((&entry.job.root, *run, entry.sender.borrow().state))
        })
    }

    /// Returns the root of a waiting or working run as that run will leave it.
    pub(super) fn active_root(&self, root: RootId) -> Option<&Root> {
        self.active_roots().map(|(active, ..)| active).find(|active| active.id == root)
    }

    /// Returns the final state of a root's last run in this process, unless the store disagrees.
    pub(super) fn last_state(&self, root: &Root) -> Option<RunState> {
        let ended = self.ended.get(&root.id)?;
        ended.agrees_with(root).then_some(ended.state)
    }

    /// Returns the named roots whose runs have ended. From now on the store has their names.
    pub(super) fn ended_roots(&self) -> Vec<RootId> {
        self.names.keys().copied().filter(|root| !self.is_active(*root)).collect()
    }

    /// Drops the names of ended roots, which other processes may have removed or renamed since.
    pub(super) fn forget_names(&mut self, ended_roots: &[RootId]) {
        for root in ended_roots {
            if !self.is_active(*root) {
                self.names.remove(root);
            }
        }
    }

    pub(super) fn defer_root(&mut self, root: RootId) {
        self.deferred.insert(root);
    }

    pub(super) fn take_deferred(&mut self) -> HashSet<RootId> {
        std::mem::take(&mut self.deferred)
    }

    pub(super) fn add_lost_job(&mut self, job: IngestJob) {
        self.lost.insert(job.root.id, job);
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub(super) fn take_lost(&mut self) -> Vec<IngestJob> {
        self.lost.drain().map(|(_, job)| job).collect()
    }

    /// Returns true if another root than `root` got this name in this process.
    pub(super) fn is_name_taken(&self, name: &str, root: RootId) -> bool {
        self.names.iter().any(|(id, taken)| *id != root && taken == name)
    }

    pub(super) fn root_name(&self, root: RootId) -> Option<&str> {
        self.names.get(&root).map(String::as_str)
    }
}
