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
    events::{FsWatcher, Seen},
    pending::What,
    watched::Watched,
};
use super::{
    Shared,
    error::IngestError,
    pipeline::{self, Job, Origin},
    plan::Mode,
    pulse::Watchdog,
    scope::Scope,
};

/// How often roots are looked up, and whether their folders are still the same.
const SYNC: Duration = Duration::from_secs(1);
/// How often a root that cannot be watched is compared with its folder.
const COMPARE: Duration = Duration::from_secs(30);
/// How soon a root is tried again whose run could not be asked for.
const RETRY: Duration = Duration::from_millis(250);

/// Whether a root is kept as its folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// Nothing watches in this process.
    Off,
    /// Changes are taken up at once.
    On,
    /// They are not, or later; says why.
    Failed(String),
}

/// How each root does that is watched, for all who ask.
#[derive(Debug, Default)]
pub(super) struct Watches {
    /// Why those are not watched that are not; `None` while nothing is.
    faults: Mutex<Option<HashMap<RootId, String>>>,
}

impl Watches {
    /// Notes that roots are watched from now on.
    pub(super) fn begin(&self) {
        self.put(HashMap::new());
    }

    fn put(&self, faults: HashMap<RootId, String>) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(faults);
    }

    pub(super) fn of(&self, root: RootId) -> Watching {
        match &*self.faults.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Watching::Off,
            Some(faults) => faults.get(&root).cloned().map_or(Watching::On, Watching::Failed),
        }
    }
}

/// Watches until the process stops.
pub(super) async fn watch(shared: Arc<Shared>) {
    let stopping = shared.deps.tasks.stopping().clone();
    // Its own, so that what hangs in the system's watcher keeps no run from a root.
    let watcher = FsWatcher::open(Watchdog::new(shared.deps.tasks.clone()));
    // Its own, so that a look-up that somebody else waits for is no silence.
    let looks = Watchdog::new(shared.deps.tasks.clone());
    let mut watch = Watch { watcher, looks, roots: HashMap::new(), shared };
    let mut sync_at = Instant::now();
    while !stopping.is_cancelled() {
        if sync_at <= Instant::now() {
            watch.sync().await;
            watch.report();
            sync_at = Instant::now() + SYNC;
        }
        let wake = watch.roots.values().filter_map(|root| root.pending.due()).min();
        let wake = wake.map_or(sync_at, |due| due.min(sync_at));
        tokio::select! {
            () = stopping.cancelled() => break,
            seen = watch.watcher.next() => watch.note(&seen),
            () = tokio::time::sleep_until(wake.into()) => {
                watch.refresh().await;
                watch.report();
            }
        }
    }
}

struct Watch {
    watcher: FsWatcher,
    /// For asking which folders and commits roots are.
    looks: Watchdog,
    roots: HashMap<RootId, Watched>,
    shared: Arc<Shared>,
}

impl Watch {
    /// Takes up roots that are new or whose folder is another one now, and lets go of removed ones.
    async fn sync(&mut self) {
        let known = match self.shared.deps.store.roots().await {
            Ok(known) => known.into_iter().filter(|root| root.host.is_none()).collect::<Vec<_>>(),
            Err(error) => {
                warn!(%error, "roots to watch could not be read");
                return;
            }
        };
        let ids: Vec<RootId> = known.iter().map(|root| root.id).collect();
        let removed: Vec<Watched> =
            self.roots.extract_if(|id, _| !ids.contains(id)).map(|(_, root)| root).collect();
        for Watched { root, folders, .. } in removed {
            debug!(root.name = %root.name, "root is no longer watched");
            self.watcher.forget(&self.shared.deps, folders).await;
            let shares = |other: &&mut Watched| {
                let path = &other.root.path;
                path.starts_with(&root.path) || root.path.starts_with(path)
            };
            // What was let go of may be part of another root too.
            let now = Instant::now();
            self.roots.values_mut().filter(shares).for_each(|other| other.pending.note_all(now));
        }
        let deps = &self.shared.deps;
        let places = folders::identities(&self.looks, deps.tasks.stopping(), &known).await;
        for (root, place) in known.into_iter().zip(places) {
            let watched = self.roots.entry(root.id).or_insert_with(|| Watched::new(root.clone()));
            watched.is_silent = place.is_none();
            let Some(place) = place else { continue };
            let is_back = place.is_some() && place != watched.place;
            if place.is_none() && watched.place.is_some() {
                info!(root.name = %root.name, "folder or branch of a watched root is gone");
                let folders = std::mem::take(&mut watched.folders);
                self.watcher.forget(deps, folders).await;
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
    fn report(&self) {
        let fault = |(id, watched): (&RootId, &Watched)| Some((*id, watched.fault()?));
        self.shared.watches.put(self.roots.iter().filter_map(fault).collect());
    }

    /// Notes what the system reported.
    fn note(&mut self, seen: &Seen) {
        let now = Instant::now();
        for watched in self.roots.values_mut() {
            match seen {
                Seen::Lost => watched.pending.note_all(now),
                Seen::Paths(paths) => paths.iter().for_each(|path| watched.note(path, now)),
            }
        }
    }

    /// Brings roots up to date whose changes have paused.
    async fn refresh(&mut self) {
        let now = Instant::now();
        for root in self.shared.runs().take_deferred() {
            if let Some(watched) = self.roots.get_mut(&root) {
                watched.pending.note_all(now);
            }
        }
        let is_due = |watched: &Watched| watched.pending.due().is_some_and(|due| due <= now);
        let due: Vec<RootId> =
            self.roots.iter().filter(|(_, root)| is_due(root)).map(|(id, _)| *id).collect();
        for id in due {
            let is_active = self.shared.runs().is_active(id);
            let Some(watched) = self.roots.get_mut(&id) else { continue };
            // A thread that hung there may still do so.
            let is_held = self.shared.deps.watchdog.is_held(&watched.root.path);
            if is_active || is_held || watched.place.is_none() {
                watched.pending.postpone(now + RETRY);
                continue;
            }
            let what = watched.pending.take();
            match reconcile(&self.shared, &self.watcher, watched, &what).await {
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
async fn reconcile(
    shared: &Shared,
    system: &FsWatcher,
    watched: &mut Watched,
    what: &What,
) -> Result<(), IngestError> {
    let scope = match what {
        What::Everything => None,
        What::Paths(paths) => Some(Arc::new(Scope::new(paths.clone()))),
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
        && !pipeline::changes(deps, &watched.root, scope, deps.tasks.stopping()).await?
    {
        return Ok(());
    }
    let root = Root { last_run: LastRun::Completed, ..watched.root.clone() };
    let job = Job { root, mode: Mode::Changes, scope, origin: Origin::Watch };
    shared.admit(&mut shared.runs(), job).map(drop)
}
