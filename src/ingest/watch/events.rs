//! What the system tells of changed files, as a bounded stream.

use std::{
    collections::BTreeSet,
    ops::Bound,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::sync::mpsc;

use super::{folders, watched::Watched};
use crate::ingest::{
    discover::Way, error::IngestError, pipeline::Tools, pulse::Pulse, scope::Scope,
};

/// How many events may wait. When more come, they are lost, and everything is compared.
const MAX_EVENTS: usize = 4096;

/// What was seen.
#[derive(Debug)]
pub(super) enum Seen {
    /// Something changed at these paths.
    Paths(Vec<PathBuf>),
    /// More changed than can be told.
    Lost,
}

/// The system's watcher and its events.
pub(super) struct Eyes {
    watcher: Arc<Mutex<Result<RecommendedWatcher, notify::Error>>>,
    events: mpsc::Receiver<Vec<PathBuf>>,
    lost: Arc<AtomicBool>,
    /// Keeps `events` open where there is no watcher.
    _sender: mpsc::Sender<Vec<PathBuf>>,
}

impl Eyes {
    /// Asks the system for a watcher. Where there is none, [`Eyes::look_into`] says why.
    pub(super) fn open() -> Self {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let lost = Arc::new(AtomicBool::new(false));
        let (to, flag) = (sender.clone(), Arc::clone(&lost));
        let watcher = notify::recommended_watcher(move |event| {
            let paths = match event {
                Ok(event) if is_change(&event) => event.paths,
                Ok(event) if !event.need_rescan() => return,
                Ok(_) | Err(_) => {
                    flag.store(true, Ordering::Release);
                    Vec::new()
                }
            };
            if to.try_send(paths).is_err() {
                flag.store(true, Ordering::Release);
            }
        });
        Self { watcher: Arc::new(Mutex::new(watcher)), events, lost, _sender: sender }
    }

    /// Waits for the next changes.
    pub(super) async fn next(&mut self) -> Seen {
        let paths = self.events.recv().await.unwrap_or_default();
        if self.lost.swap(false, Ordering::AcqRel) {
            // What waits is covered too.
            while self.events.try_recv().is_ok() {}
            return Seen::Lost;
        }
        Seen::Paths(paths)
    }

    /// Watches the folders of a root, or of a part of it, and lets go of those that are gone. If the
    /// system cannot watch them all, says what to do about it.
    pub(super) async fn look_into(
        &self,
        tools: &Tools,
        of: &mut Watched,
        scope: Option<&Arc<Scope>>,
    ) -> Result<Option<String>, IngestError> {
        let (watcher, root) = (Arc::clone(&self.watcher), of.root.path.clone());
        let (scope, former) = (scope.cloned(), std::mem::take(&mut of.folders));
        let stopping = tools.tasks.stopping().clone();
        let work = move |pulse: &Pulse| {
            let (scope, cancel) = (scope.as_deref(), &stopping);
            // Before the watcher is locked, as this may hang. A root that is gone has no folders.
            let way = Way { place: &root, scope, cancel, pulse };
            let wanted = folders::to_watch(way).unwrap_or_default();
            let mut watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
            let watcher = match &mut *watcher {
                Ok(watcher) => watcher,
                Err(error) => return (former, Some(limit(error))),
            };
            let mut folders = former;
            let top = |path: &String| root.join(path);
            match scope {
                None => unwatch(watcher, std::mem::take(&mut folders)),
                Some(scope) => scope.paths().iter().map(top).for_each(|path| {
                    // A moved folder is watched by its former path until it is let go of.
                    let below = take_below(&mut folders, &path);
                    unwatch(watcher, below);
                }),
            }
            for folder in wanted {
                pulse.beat();
                if stopping.is_cancelled() {
                    break;
                }
                match watcher.watch(&folder, mode()) {
                    Ok(()) => drop(folders.insert(folder)),
                    Err(error) if is_limit(&error) => return (folders, Some(limit(&error))),
                    // It is gone or cannot be read; its parent is watched.
                    Err(_) => {}
                }
            }
            (folders, None)
        };
        let (folders, limit) =
            tools.watchdog.run(&of.root.path, tools.tasks.stopping(), work).await?;
        of.folders = folders;
        Ok(limit)
    }

    /// Lets go of folders.
    pub(super) fn forget(&self, folders: BTreeSet<PathBuf>) {
        if let Ok(watcher) = &mut *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) {
            unwatch(watcher, folders);
        }
    }
}

/// Takes out a folder and those below it.
fn take_below(folders: &mut BTreeSet<PathBuf>, path: &Path) -> BTreeSet<PathBuf> {
    let from = (Bound::Included(path), Bound::Unbounded);
    let below: Vec<PathBuf> = folders
        .range::<Path, _>(from)
        .take_while(|other| other.starts_with(path))
        .cloned()
        .collect();
    below.into_iter().filter_map(|folder| folders.take(&folder)).collect()
}

fn unwatch(watcher: &mut RecommendedWatcher, folders: BTreeSet<PathBuf>) {
    for folder in folders {
        // The system lets go of deleted folders itself.
        drop(watcher.unwatch(&folder));
    }
}

/// Whether an event may mean other content, or other files.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

fn mode() -> RecursiveMode {
    // Elsewhere one watch covers a whole tree; here each folder needs its own, so that those that are
    // left out cost nothing.
    if cfg!(target_os = "linux") { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive }
}

fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => true,
        // ENOSPC: no watch left.
        notify::ErrorKind::Io(error) => error.raw_os_error() == Some(28),
        _ => false,
    }
}

fn limit(error: &notify::Error) -> String {
    let sysctl = if is_limit(error) { "max_user_watches" } else { "max_user_instances" };
    format!(
        "the system cannot watch every folder ({error}), so changes are looked for at intervals; \
         raise `fs.inotify.{sysctl}` (sysctl) and restart"
    )
}
