//! Bounded stream of file changes from the system.

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
use tokio_util::sync::CancellationToken;

use super::watched_root::{WatchedRoot, list_watched_folders};
use crate::{
    discover::WalkContext,
    error::IngestError,
    io_watchdog::{IoHeartbeat, IoWatchdog},
    pipeline::RunDependencies,
    scope::PathScope,
};

/// Name of the system's watcher for the watchdog. It does all its work on one thread.
const PLACE: &str = "the system's watcher";
const HANGS: &str = "the system's watcher hangs in a folder that does not answer, so changes are looked \
                     for at intervals until it does";
/// Maximum number of waiting events. Further events are lost, and everything is compared.
const MAX_EVENTS: usize = 4096;

#[derive(Debug)]
pub(super) enum WatchEvent {
    Paths(Vec<PathBuf>),
    Lost,
}

/// The system's watcher, or the reason why it is missing.
type WatcherResult = Result<RecommendedWatcher, notify::Error>;

pub(super) struct FsWatcher {
    watcher: Arc<Mutex<WatcherResult>>,
    /// Abandons work of the watcher that hangs, so that nothing waits for it.
    watchdog: IoWatchdog,
    events: mpsc::Receiver<Vec<PathBuf>>,
    lost: Arc<AtomicBool>,
    /// Keeps `events` open if there is no watcher.
    _sender: mpsc::Sender<Vec<PathBuf>>,
}

impl FsWatcher {
    /// Creates the system's watcher. If that fails, [`FsWatcher::watch_root`] reports why.
    pub(super) fn open(watchdog: IoWatchdog) -> Self {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let lost = Arc::new(AtomicBool::new(false));
        let (to, flag) = (sender.clone(), Arc::clone(&lost));
        let watcher = notify::recommended_watcher(move |event| {
            let paths = match classify_event(event) {
                None => return,
                Some(WatchEvent::Paths(paths)) => paths,
                Some(WatchEvent::Lost) => {
                    flag.store(true, Ordering::Release);
                    Vec::new()
                }
            };
            if to.try_send(paths).is_err() {
                flag.store(true, Ordering::Release);
            }
        });
        Self { watcher: Arc::new(Mutex::new(watcher)), watchdog, events, lost, _sender: sender }
    }

    pub(super) async fn next(&mut self) -> WatchEvent {
        let paths = self.events.recv().await.unwrap_or_default();
        if self.lost.swap(false, Ordering::AcqRel) {
            // The loss covers the waiting events.
            while self.events.try_recv().is_ok() {}
            return WatchEvent::Lost;
        }
        WatchEvent::Paths(paths)
    }

    /// Watches the folders of a root, or of a part of it, and stops watching deleted ones. Returns
    /// advice if the system cannot watch them all.
    pub(super) async fn watch_root(
        &self,
        deps: &RunDependencies,
        watched_root: &mut WatchedRoot,
        scope: Option<&Arc<PathScope>>,
    ) -> Result<Option<String>, IngestError> {
        if watched_root.root.revision.is_some() {
            // Only the commit itself can change.
            return Ok(None);
        }
        let (root, stopping) = (watched_root.root.path.clone(), deps.tasks.stop_token());
        let (walked_root, walked_scope, cancel) = (root.clone(), scope.cloned(), stopping.clone());
        let private = deps.private_places();
        let walk = move |pulse: &IoHeartbeat| {
            let (root_path, scope) = (walked_root.as_path(), walked_scope.as_deref());
            let resolved = private.resolve();
            let context =
                WalkContext { root_path, scope, private: &resolved, cancel: &cancel, pulse };
            // A missing root has no folders.
            list_watched_folders(context).unwrap_or_default()
        };
        let wanted = deps.watchdog.run_blocking(&watched_root.root.path, stopping, walk).await?;
        let (scope, mut folders) = (scope.cloned(), std::mem::take(&mut watched_root.folders));
        let cancel = stopping.clone();
        let watch = move |watcher: &mut WatcherResult, pulse: &IoHeartbeat| {
            let watcher = match watcher {
                Ok(watcher) => watcher,
                Err(error) => return (folders, Some(describe_limit(error))),
            };
            let top = |path: &String| root.join(path);
            match scope {
                None => unwatch_all(watcher, std::mem::take(&mut folders)),
                Some(scope) => scope.paths().iter().map(top).for_each(|path| {
                    // A moved folder is reported with its former path until its watch is removed.
                    let below = take_below(&mut folders, &path);
                    unwatch_all(watcher, below);
                }),
            }
            for folder in wanted {
                pulse.beat();
                if cancel.is_cancelled() {
                    break;
                }
                match watcher.watch(&folder, recursive_mode()) {
                    Ok(()) => drop(folders.insert(folder)),
                    Err(error) if is_limit(&error) => {
                        return (folders, Some(describe_limit(&error)));
                    }
                    // The folder is gone or unreadable; its parent is watched.
                    Err(_) => {}
                }
            }
            (folders, None)
        };
        let Some((folders, limit)) = self.run_on_watcher(stopping, watch).await? else {
            return Ok(Some(HANGS.to_owned()));
        };
        watched_root.folders = folders;
        Ok(limit)
    }

    pub(super) async fn unwatch_folders(&self, deps: &RunDependencies, folders: BTreeSet<PathBuf>) {
        let forget = |watcher: &mut WatcherResult, _: &IoHeartbeat| {
            if let Ok(watcher) = watcher {
                unwatch_all(watcher, folders);
            }
        };
        // A hanging watcher later reports too many events, which are ignored.
        drop(self.run_on_watcher(deps.tasks.stop_token(), forget).await);
    }

    /// Runs work on the system's watcher. Returns `None` without doing it while the watcher hangs.
    async fn run_on_watcher<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce(&mut WatcherResult, &IoHeartbeat) -> T + Send + 'static,
    ) -> Result<Option<T>, IngestError> {
        let place = Path::new(PLACE);
        // Calls come one after another, so a held place means abandoned work.
        if self.watchdog.is_held(place) {
            return Ok(None);
        }
        let watcher = Arc::clone(&self.watcher);
        let work = move |pulse: &IoHeartbeat| {
            work(&mut watcher.lock().unwrap_or_else(PoisonError::into_inner), pulse)
        };
        match self.watchdog.run_blocking(place, cancel, work).await {
            Ok(done) => Ok(Some(done)),
            Err(IngestError::Stalled { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn take_below(folders: &mut BTreeSet<PathBuf>, path: &Path) -> BTreeSet<PathBuf> {
    let from = (Bound::Included(path), Bound::Unbounded);
    let below: Vec<PathBuf> = folders
        .range::<Path, _>(from)
        .take_while(|other| other.starts_with(path))
        .cloned()
        .collect();
    below.into_iter().filter_map(|folder| folders.take(&folder)).collect()
}

fn unwatch_all(watcher: &mut RecommendedWatcher, folders: BTreeSet<PathBuf>) {
    for folder in folders {
        // The system removes watches of deleted folders itself.
        drop(watcher.unwatch(&folder));
    }
}

/// Classifies an event; returns `None` if it is irrelevant.
fn classify_event(event: notify::Result<Event>) -> Option<WatchEvent> {
    match event {
        Ok(event) if event.need_rescan() => Some(WatchEvent::Lost),
        Ok(event) => is_change(&event).then_some(WatchEvent::Paths(event.paths)),
        Err(_) => Some(WatchEvent::Lost),
    }
}

/// Returns true if an event may mean new content or new files.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

fn recursive_mode() -> RecursiveMode {
    // Linux watches each folder by itself, so that excluded ones cost nothing; others watch trees.
    if cfg!(target_os = "linux") { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive }
}

fn is_limit(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => true,
        // ENOSPC: no watches remain.
        notify::ErrorKind::Io(error) => error.raw_os_error() == Some(28),
        _ => false,
    }
}

fn describe_limit(error: &notify::Error) -> String {
    let sysctl = if is_limit(error) { "max_user_watches" } else { "max_user_instances" };
    format!(
        "the system cannot watch every folder ({error}), so changes are looked for at intervals; \
         raise `fs.inotify.{sysctl}` (sysctl) and restart"
    )
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use codeinfo_core::task::Tasks;

    use super::*;

    #[test]
    fn dropped_events_count_as_lost() {
        let dropped = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(matches!(classify_event(Ok(dropped)), Some(WatchEvent::Lost)));
        assert!(matches!(
            classify_event(Err(notify::Error::generic("no"))),
            Some(WatchEvent::Lost)
        ));
        let changed = Event::new(EventKind::Any).add_path(PathBuf::from("a"));
        assert!(
            matches!(classify_event(Ok(changed)), Some(WatchEvent::Paths(paths)) if paths.len() == 1)
        );
        let read = Event::new(EventKind::Access(AccessKind::Read));
        assert!(classify_event(Ok(read)).is_none());
    }

    #[tokio::test]
    async fn a_hanging_watcher_delays_no_call_and_is_used_again_later() {
        let watchdog = IoWatchdog::with_timeout(Tasks::default(), Duration::from_secs(2));
        let (watcher, cancel) = (FsWatcher::open(watchdog), CancellationToken::new());
        let (answer, asked) = mpsc::channel::<()>();
        let hang = move |_: &mut WatcherResult, _: &IoHeartbeat| asked.recv().is_err();
        assert_eq!(watcher.run_on_watcher(&cancel, hang).await.unwrap(), None);
        // All calls together must not take longer than the first one.
        let more = async {
            for _ in 0..100 {
                assert_eq!(watcher.run_on_watcher(&cancel, |_, _| ()).await.unwrap(), None);
            }
        };
        tokio::time::timeout(Duration::from_secs(2), more).await.unwrap();
        drop(answer);
        let answered = async {
            while watcher.run_on_watcher(&cancel, |_, _| ()).await.unwrap().is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), answered).await.unwrap();
    }
}
