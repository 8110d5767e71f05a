//! Keeps roots as their folders are: sees changes, waits until they pause, and asks for runs.
//!
//! A few changed paths are checked alone, and a run follows only if they differ from the store.
//! Many changes, lost events and changed ignore files make a run of the whole root, which compares
//! sizes and times first. Where the system cannot watch, roots are compared at intervals.
//!
//! More than 200 paths count as many. On Linux each folder that is walked is watched by itself, so
//! that ignored ones cost nothing. A client's request never joins a run of the watcher: another
//! run follows.

mod events;
mod folders;
mod pending;
mod watched;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::{LastRun, Root, RootId};
use tracing::{debug, info, warn};

use self::{
    events::{FsWatcher, WatchEvent},
    pending::ChangeSet,
    watched::WatchedRoot,
};
use super::{
    IngestState,
    error::IngestError,
    pipeline::{self, IngestJob, RunOrigin},
    plan::RunMode,
    pulse::IoWatchdog,
    scope::PathScope,
};

/// How often roots are looked up, and whether their folders are still the same.
const SYNC: Duration = Duration::from_secs(1);
/// How often a root that cannot be watched is compared with its folder.
const COMPARE: Duration = Duration::from_secs(30);
/// How soon a root is tried again whose run could not be asked for.
const RETRY: Duration = Duration::from_millis(250);

/// Whether a root is kept as its folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchStatus {
    /// Nothing watches in this process.
    Off,
    /// Changes are taken up at once.
    On,
    /// They are not, or later; says why.
    Failed(String),
}

/// How each root does that is watched, for all who ask.
#[derive(Debug, Default)]
pub(super) struct WatchFaults {
    /// Why those are not watched that are not; `None` while nothing is.
    faults: Mutex<Option<HashMap<RootId, String>>>,
}

impl WatchFaults {
    /// Notes that roots are watched from now on.
    pub(super) fn start_watching(&self) {
        self.set_faults(HashMap::new());
    }

    fn set_faults(&self, faults: HashMap<RootId, String>) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(faults);
    }

    pub(super) fn watch_status(&self, root: RootId) -> WatchStatus {
        match &*self.faults.lock().unwrap_or_else(PoisonError::into_inner) {
            None => WatchStatus::Off,
            Some(faults) => faults.get(&root).cloned().map_or(WatchStatus::On, WatchStatus::Failed),
        }
    }
}

/// Watches until the process stops.
pub(super) async fn watch_roots(shared: Arc<IngestState>) {
    let stopping = shared.deps.tasks.stop_token().clone();
    // Its own, so that what hangs in the system's watcher keeps no run from a root.
    let watcher = FsWatcher::open(IoWatchdog::new(shared.deps.tasks.clone()));
    // Its own, so that a look-up that somebody else waits for is no silence.
    let looks = IoWatchdog::new(shared.deps.tasks.clone());
    let mut watch = RootWatcher { watcher, looks, roots: HashMap::new(), shared };
    let mut sync_at = Instant::now();
    while !stopping.is_cancelled() {
        if sync_at <= Instant::now() {
            watch.sync_roots().await;
            watch.report_faults();
            sync_at = Instant::now() + SYNC;
        }
        let wake = watch.roots.values().filter_map(|root| root.pending.due_at()).min();
        let wake = wake.map_or(sync_at, |due| due.min(sync_at));
        tokio::select! {
            () = stopping.cancelled() => break,
            seen = watch.watcher.next() => watch.record_event(&seen),
            () = tokio::time::sleep_until(wake.into()) => {
                watch.refresh_due_roots().await;
                watch.report_faults();
            }
        }
    }
}

struct RootWatcher {
    watcher: FsWatcher,
    /// For asking which folders and commits roots are.
    looks: IoWatchdog,
    roots: HashMap<RootId, WatchedRoot>,
    shared: Arc<IngestState>,
}

impl RootWatcher {
    /// Takes up roots that are new or whose folder is another one now, and lets go of removed ones.
    async fn sync_roots(&mut self) {
        let known = match self.shared.deps.store.roots().await {
            Ok(known) => known.into_iter().filter(|root| root.host.is_none()).collect::<Vec<_>>(),
            Err(error) => {
                warn!(%error, "roots to watch could not be read");
                return;
            }
        };
        let ids: Vec<RootId> = known.iter().map(|root| root.id).collect();
        let removed: Vec<WatchedRoot> =
            self.roots.extract_if(|id, _| !ids.contains(id)).map(|(_, root)| root).collect();
        for WatchedRoot { root, folders, .. } in removed {
            debug!(root.name = %root.name, "root is no longer watched");
            self.watcher.unwatch_folders(&self.shared.deps, folders).await;
            let shares = |other: &&mut WatchedRoot| {
                let path = &other.root.path;
                path.starts_with(&root.path) || root.path.starts_with(path)
            };
            // What was let go of may be part of another root too.
            let now = Instant::now();
            self.roots.values_mut().filter(shares).for_each(|other| other.pending.note_all(now));
        }
        let deps = &self.shared.deps;
        let places = folders::load_identities(&self.looks, deps.tasks.stop_token(), &known).await;
        for (root, place) in known.into_iter().zip(places) {
            let watched =
                self.roots.entry(root.id).or_insert_with(|| WatchedRoot::new(root.clone()));
            watched.is_silent = place.is_none();
            let Some(place) = place else { continue };
            let is_back = place.is_some() && place != watched.place;
            if place.is_none() && watched.place.is_some() {
                info!(root.name = %root.name, "folder or branch of a watched root is gone");
                let folders = std::mem::take(&mut watched.folders);
                self.watcher.unwatch_folders(deps, folders).await;
            }
            watched.root = root;
            watched.place = place;
            if is_back {
                watched.pending.note_all(Instant::now());
            } else if watched.compare_at.is_some_and(|at| at <= Instant::now()) {
                watched.compare_at = Some(Instant::now() + COMPARE);
                watched.pending.note_all(Instant::now());
            }
        }
    }

    /// Says how each root does.
    fn report_faults(&self) {
        let fault = |(id, watched): (&RootId, &WatchedRoot)| Some((*id, watched.fault_message()?));
        self.shared.watches.set_faults(self.roots.iter().filter_map(fault).collect());
    }

    /// Notes what the system reported.
    fn record_event(&mut self, seen: &WatchEvent) {
        let now = Instant::now();
        for watched in self.roots.values_mut() {
            match seen {
                WatchEvent::Lost => watched.pending.note_all(now),
                WatchEvent::Paths(paths) => {
                    for path in paths {
                        watched.record_change(path, now);
                    }
                }
            }
        }
    }

    /// Brings roots up to date whose changes have paused.
    async fn refresh_due_roots(&mut self) {
        let now = Instant::now();
        for root in self.shared.lock_runs().take_deferred() {
            if let Some(watched) = self.roots.get_mut(&root) {
                watched.pending.note_all(now);
            }
        }
        let is_due = |watched: &WatchedRoot| watched.pending.due_at().is_some_and(|due| due <= now);
        let due: Vec<RootId> =
            self.roots.iter().filter(|(_, root)| is_due(root)).map(|(id, _)| *id).collect();
        for id in due {
            let is_active = self.shared.lock_runs().is_active(id);
            let Some(watched) = self.roots.get_mut(&id) else { continue };
            // A thread that hung there may still do so.
            let is_held = self.shared.deps.watchdog.is_held(&watched.root.path);
            if is_active || is_held || watched.place.is_none() {
                watched.pending.postpone_until(now + RETRY);
                continue;
            }
            let what = watched.pending.take_changes();
            match reconcile_root(&self.shared, &self.watcher, watched, &what).await {
                Ok(()) => watched.failed = None,
                Err(IngestError::Cancelled) => return,
                Err(error @ IngestError::Stalled { .. }) => {
                    watched.failed = Some(error.to_string());
                    warn!(root.name = %watched.root.name, %error, "watched root hangs");
                    watched.pending.put_back(what, Instant::now() + SYNC);
                }
                // The next check of the roots sees whether the folder is still there.
                Err(error) => {
                    watched.failed = Some(error.to_string());
                    debug!(root.id = %id, %error, "watched root could not be brought up to date");
                    watched.pending.put_back(what, Instant::now() + SYNC);
                }
            }
        }
    }
}

/// Watches what is new, and asks for a run if there is something to do.
async fn reconcile_root(
    shared: &IngestState,
    system: &FsWatcher,
    watched: &mut WatchedRoot,
    what: &ChangeSet,
) -> Result<(), IngestError> {
    let scope = match what {
        ChangeSet::Everything => None,
        ChangeSet::Paths(paths) => Some(Arc::new(PathScope::new(paths.clone()))),
    };
    // Before the check: what changes from here on is reported.
    let limit = system.watch_for(&shared.deps, watched, scope.as_ref()).await?;
    if let Some(limit) = limit {
        if watched.compare_at.is_none() {
            warn!(root.name = %watched.root.name, every_seconds = COMPARE.as_secs(), "{limit}");
        }
        watched.compare_at = Some(Instant::now() + COMPARE);
        watched.limit = Some(limit);
    } else if scope.is_none() {
        (watched.compare_at, watched.limit) = (None, None);
    }
    let deps = &shared.deps;
    if let Some(scope) = &scope
        && !pipeline::has_changes(deps, &watched.root, scope, deps.tasks.stop_token()).await?
    {
        return Ok(());
    }
    let root = Root { last_run: LastRun::Completed, ..watched.root.clone() };
    let job = IngestJob { root, mode: RunMode::Changes, scope, origin: RunOrigin::Watch };
    shared.admit_job(&mut shared.lock_runs(), job).map(drop)
}
