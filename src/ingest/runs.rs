//! The table of runs: which wait, which one works, which have ended.
//!
//! Every method is short and takes no lock of its own; [`super::Ingest`] keeps the table behind
//! one.

use std::collections::{HashMap, HashSet, VecDeque};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    pipeline::Job,
    plan::Mode,
    status::{State, Status},
};
use crate::domain::{Root, RootId, RunId};

/// Bounds of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) queued: usize,
    pub(super) finished: usize,
}

/// All runs whose status is kept.
#[derive(Debug)]
pub(super) struct Runs {
    bounds: Bounds,
    entries: HashMap<RunId, Entry>,
    /// Waiting runs, first in, first out.
    queue: VecDeque<RunId>,
    working: Option<RunId>,
    /// Ended runs, oldest first.
    finished: VecDeque<RunId>,
    /// Roots that are being removed; no run of theirs starts.
    removing: HashSet<RootId>,
    /// The names that roots got in this process, so that two runs that wait cannot get the same.
    names: HashMap<RootId, String>,
}

#[derive(Debug)]
struct Entry {
    job: Job,
    sender: watch::Sender<Status>,
    cancel: CancellationToken,
}

impl Entry {
    /// Whether this run does all that `job` asks for.
    fn serves(&self, job: &Job) -> bool {
        let (own, other) = (&self.job.root, &job.root);
        let does_all = self.job.mode == Mode::Everything || job.mode == Mode::Changes;
        does_all && own.name == other.name && own.description == other.description
    }

    /// Takes over what a later request for the same root asks for.
    fn replace(&mut self, job: Job, names: &mut HashMap<RootId, String>) {
        names.insert(job.root.id, job.root.name.clone());
        self.sender.send_modify(|status| status.root.clone_from(&job.root.name));
        let mode = if self.job.mode == Mode::Everything { self.job.mode } else { job.mode };
        self.job = Job { mode, ..job };
    }
}

/// A run that is to work now.
pub(super) struct Next {
    pub(super) run: RunId,
    pub(super) job: Job,
    pub(super) sender: watch::Sender<Status>,
    pub(super) cancel: CancellationToken,
}

impl Runs {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            entries: HashMap::new(),
            queue: VecDeque::new(),
            working: None,
            finished: VecDeque::new(),
            removing: HashSet::new(),
            names: HashMap::new(),
        }
    }

    /// Adds a run of `job`, or returns the one of the same root that is to run or running. `cancel`
    /// is the new run's.
    pub(super) fn admit(
        &mut self,
        job: Job,
        cancel: CancellationToken,
    ) -> Result<RunId, IngestError> {
        let busy = |action| Err(IngestError::RootBusy { root: job.root.name.clone(), action });
        if self.removing.contains(&job.root.id) {
            return busy("removed");
        }
        if let Some(run) = self.active(job.root.id) {
            let is_working = self.working == Some(run);
            if let Some(entry) = self.entries.get_mut(&run) {
                match entry.serves(&job) {
                    true => {}
                    false if is_working => return busy("ingested"),
                    false => entry.replace(job, &mut self.names),
                }
            }
            return Ok(run);
        }
        if self.bounds.queued <= self.queue.len() {
            return Err(IngestError::QueueFull(self.bounds.queued));
        }
        let run = RunId::random();
        let status = Status::queued(run, job.root.name.clone());
        self.names.insert(job.root.id, job.root.name.clone());
        self.entries.insert(run, Entry { job, sender: watch::Sender::new(status), cancel });
        self.queue.push_back(run);
        Ok(run)
    }

    /// Takes the run that is to work next.
    pub(super) fn next(&mut self) -> Option<Next> {
        let run = self.queue.pop_front()?;
        let entry = self.entries.get(&run)?;
        self.working = Some(run);
        let (job, sender) = (entry.job.clone(), entry.sender.clone());
        Some(Next { run, job, sender, cancel: entry.cancel.clone() })
    }

    /// Ends a run, and forgets the oldest ended ones above the bound.
    pub(super) fn end(&mut self, run: RunId, state: State, error: Option<String>) {
        if self.working == Some(run) {
            self.working = None;
        }
        self.queue.retain(|queued| *queued != run);
        if let Some(entry) = self.entries.get(&run) {
            entry.sender.send_modify(|status| {
                status.last_error = error;
                status.end(state);
            });
        }
        self.finished.push_back(run);
        while self.bounds.finished < self.finished.len() {
            if let Some(oldest) = self.finished.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }

    /// Cancels a run: a waiting one ends at once, a working one soon.
    pub(super) fn cancel(&mut self, run: RunId) -> Result<Status, IngestError> {
        let entry = self.entries.get(&run).ok_or(IngestError::RunNotFound(run))?;
        entry.cancel.cancel();
        if self.queue.contains(&run) {
            self.end(run, State::Cancelled, None);
        }
        self.status(run)
    }

    /// Cancels every run that waits.
    pub(super) fn cancel_queued(&mut self) {
        while let Some(run) = self.queue.front().copied() {
            self.end(run, State::Cancelled, None);
        }
    }

    pub(super) fn status(&self, run: RunId) -> Result<Status, IngestError> {
        Ok(self.watch(run)?.borrow().clone())
    }

    pub(super) fn watch(&self, run: RunId) -> Result<watch::Receiver<Status>, IngestError> {
        let entry = self.entries.get(&run).ok_or(IngestError::RunNotFound(run))?;
        Ok(entry.sender.subscribe())
    }

    /// Closes a root for new runs and cancels its run. Returns where to see that one end.
    pub(super) fn close(
        &mut self,
        root: &Root,
    ) -> Result<Option<watch::Receiver<Status>>, IngestError> {
        if !self.removing.insert(root.id) {
            return Err(IngestError::RootBusy { root: root.name.clone(), action: "removed" });
        }
        let Some(run) = self.active(root.id) else {
            return Ok(None);
        };
        let watch = self.watch(run)?;
        self.cancel(run)?;
        Ok(Some(watch))
    }

    /// Opens a root for new runs again; its name is free when it is gone.
    pub(super) fn reopen(&mut self, root: RootId) {
        self.removing.remove(&root);
        self.names.remove(&root);
    }

    /// The run of a root that waits or works.
    pub(super) fn active(&self, root: RootId) -> Option<RunId> {
        let mut active = self.working.iter().chain(&self.queue);
        active
            .find(|run| self.entries.get(run).is_some_and(|entry| entry.job.root.id == root))
            .copied()
    }

    /// The roots whose run waits or works, with that run and its state.
    pub(super) fn active_roots(&self) -> impl Iterator<Item = (&Root, RunId, State)> {
        self.working.iter().chain(&self.queue).filter_map(|run| {
            let entry = self.entries.get(run)?;
            Some((&entry.job.root, *run, entry.sender.borrow().state))
        })
    }

    /// The root that a waiting or working run will leave.
    pub(super) fn active_root(&self, root: RootId) -> Option<&Root> {
        self.active_roots().map(|(active, ..)| active).find(|active| active.id == root)
    }

    /// How the last ended run of a root ended, while its status is kept.
    pub(super) fn last_state(&self, root: RootId) -> Option<State> {
        let of_root =
            |run: &&RunId| self.entries.get(run).is_some_and(|entry| entry.job.root.id == root);
        let last = self.finished.iter().rev().find(of_root)?;
        Some(self.entries.get(last)?.sender.borrow().state)
    }

    /// Whether a root other than `root` got this name in this process.
    pub(super) fn is_name_taken(&self, name: &str, root: RootId) -> bool {
        self.names.iter().any(|(id, taken)| *id != root && taken == name)
    }

    /// The name that a root got in this process.
    pub(super) fn name(&self, root: RootId) -> Option<&str> {
        self.names.get(&root).map(String::as_str)
    }
}
