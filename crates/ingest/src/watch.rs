//! Keeps indexes current: notices changes, waits for a pause, and requests runs.
//!
//! A few changed paths are checked first, and a run follows only if they differ from the store.
//! More than 200 paths, lost events or changed ignore files cause a run of the whole root. A root
//! that the system cannot watch is compared at intervals.

mod events;
mod watched_root;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::{LastRun, Root, RootId};
use serde::Serialize;
use tracing::{debug, info, warn};

use self::{
    events::{FsWatcher, WatchEvent},
    watched_root::{ChangeSet, WatchedRoot},
};
use super::{
    IngestState,
    error::IngestError,
    io_watchdog::IoWatchdog,
    pipeline::{self, IngestJob, RunOrigin},
    plan::RunMode,
    scope::PathScope,
};

/// Interval of checks for new roots and replaced folders.
const SYNC: Duration = Duration::from_secs(1);
/// Interval of comparisons of a root that cannot be watched.
const COMPARE: Duration = Duration::from_secs(30);
/// Delay until a run that could not be requested is retried.
const RETRY: Duration = Duration::from_millis(250);

/// Watch status of a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "lowercase")]
pub enum WatchStatus {
    /// This process does not watch.
    Off,
    /// Changes are indexed at once.
    #[serde(rename = "watching")]
    On,
    /// Changes are indexed late or not at all, for the given reason.
    Failed(String),
}

/// Faults of the watched roots, shared with the readers of their status.
#[derive(Debug, Default)]
pub(super) struct WatchFaults {
    /// Faults by root; `None` until watching starts.
    faults: Mutex<Option<HashMap<RootId, String>>>,
}

impl WatchFaults {
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

pub(super) async fn watch_roots(shared: Arc<IngestState>) {
    let stopping = shared.deps.tasks.stop_token().clone();
    // A separate watchdog, so that a hanging watcher does not block runs.
    let watcher = FsWatcher::open(IoWatchdog::new(shared.deps.tasks.clone()));
    // A separate watchdog, so that a look-up for another task does not count as silence.
    let lookups = IoWatchdog::new(shared.deps.tasks.clone());
    let mut watch = RootWatcher { watcher, lookups, roots: HashMap::new(), shared };
    let mut sync_at = Instant::now();
    while !stopping.is_cancelled() {
        if sync_at <= Instant::now() {
            watch.sync_roots().await;
            watch.report_faults();
            sync_at = Instant::now() + SYNC;
        }
        let due_at = watch.roots.values().filter_map(|root| root.pending.due_at()).min();
        let wake_at = due_at.map_or(sync_at, |due| due.min(sync_at));
        tokio::select! {
            () = stopping.cancelled() => break,
            event = watch.watcher.next() => watch.record_event(&event),
            () = tokio::time::sleep_until(wake_at.into()) => {
                watch.refresh_due_roots().await;
                watch.report_faults();
            }
        }
    }
}

struct RootWatcher {
    watcher: FsWatcher,
    /// Watchdog for looking up the folders and commits of roots.
    lookups: IoWatchdog,
    roots: HashMap<RootId, WatchedRoot>,
    shared: Arc<IngestState>,
}

impl RootWatcher {
    /// Adds new roots and roots whose folder was replaced, and removes deleted ones.
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
            // The removed watches may have covered parts of other roots.
            let now = Instant::now();
            self.roots
                .values_mut()
                .filter(shares)
                .for_each(|other| other.pending.add_everything(now));
        }
        let deps = &self.shared.deps;
        let identities =
            watched_root::load_identities(&self.lookups, deps.tasks.stop_token(), &known).await;
        for (root, identity) in known.into_iter().zip(identities) {
            let watched =
                self.roots.entry(root.id).or_insert_with(|| WatchedRoot::new(root.clone()));
            watched.is_silent = identity.is_none();
            let Some(identity) = identity else { continue };
            let is_back = identity.is_some() && identity != watched.identity;
            if identity.is_none() && watched.identity.is_some() {
                info!(root.name = %root.name, "folder or branch of a watched root is gone");
                let folders = std::mem::take(&mut watched.folders);
                self.watcher.unwatch_folders(deps, folders).await;
            }
            watched.root = root;
            watched.identity = identity;
            if is_back {
                watched.pending.add_everything(Instant::now());
            } else if watched.compare_at.is_some_and(|at| at <= Instant::now()) {
                watched.compare_at = Some(Instant::now() + COMPARE);
                watched.pending.add_everything(Instant::now());
            }
        }
    }

    fn report_faults(&self) {
        let fault = |(id, watched): (&RootId, &WatchedRoot)| Some((*id, watched.fault_message()?));
        self.shared.watches.set_faults(self.roots.iter().filter_map(fault).collect());
    }

    fn record_event(&mut self, event: &WatchEvent) {
        let now = Instant::now();
        for watched in self.roots.values_mut() {
            match event {
                WatchEvent::Lost => watched.pending.add_everything(now),
                WatchEvent::Paths(paths) => {
                    for path in paths {
                        watched.record_change(path, now);
                    }
                }
            }
        }
    }

    async fn refresh_due_roots(&mut self) {
        let now = Instant::now();
        for root in self.shared.lock_runs().take_deferred() {
            if let Some(watched) = self.roots.get_mut(&root) {
                watched.pending.add_everything(now);
            }
        }
        let is_due = |watched: &WatchedRoot| watched.pending.due_at().is_some_and(|due| due <= now);
        let due: Vec<RootId> =
            self.roots.iter().filter(|(_, root)| is_due(root)).map(|(id, _)| *id).collect();
        for id in due {
            let is_active = self.shared.lock_runs().is_active(id);
            let Some(watched) = self.roots.get_mut(&id) else { continue };
            // An abandoned thread may still hang there.
            let is_held = self.shared.deps.watchdog.is_held(&watched.root.path);
            if is_active || is_held || watched.identity.is_none() {
                watched.pending.postpone_until(now + RETRY);
                continue;
            }
            let changes = watched.pending.take_changes();
            match reconcile_root(&self.shared, &self.watcher, watched, &changes).await {
                Ok(()) => watched.failed = None,
                Err(IngestError::Cancelled) => return,
                Err(error @ IngestError::Stalled { .. }) => {
                    watched.failed = Some(error.to_string());
                    warn!(root.name = %watched.root.name, %error, "watched root hangs");
                    watched.pending.put_back(changes, Instant::now() + SYNC);
                }
                // The next check of the roots finds out whether the folder still exists.
                Err(error) => {
                    watched.failed = Some(error.to_string());
                    debug!(root.id = %id, %error, "watched root could not be brought up to date");
                    watched.pending.put_back(changes, Instant::now() + SYNC);
                }
            }
        }
    }
}

/// Watches new folders and requests a run if there is something to do.
async fn reconcile_root(
    shared: &IngestState,
    fs_watcher: &FsWatcher,
    watched: &mut WatchedRoot,
    changes: &ChangeSet,
) -> Result<(), IngestError> {
    let scope = match changes {
        ChangeSet::Everything => None,
        ChangeSet::Paths(paths) => Some(Arc::new(PathScope::new(paths.clone()))),
    };
    // The watches come before the check, so that later changes are reported.
    let limit = fs_watcher.watch_root(&shared.deps, watched, scope.as_ref()).await?;
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
