//! State of one watched root: its folder, and its changes that wait for a pause.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use codeinfo_core::Root;
use codeinfo_worktree::git::{GIT, GitRepository};
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::{
    discover::{self, WalkContext, WalkMode},
    error::IngestError,
    io_watchdog::{IoHeartbeat, IoWatchdog},
};

/// Time without changes that counts as a pause; a save causes several changes within milliseconds.
const PAUSE: Duration = Duration::from_millis(150);
/// Maximum delay of changes that do not pause.
const MAX_DELAY: Duration = Duration::from_millis(600);
/// Maximum number of paths to check one by one; beyond it, comparing the whole root is cheaper.
const MAX_PATHS: usize = 200;

#[derive(Debug)]
pub(super) struct WatchedRoot {
    pub(super) root: Root,
    /// Identity of the folder when last seen; `None` if it is missing.
    pub(super) identity: Option<FolderIdentity>,
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) pending: PendingChanges,
    /// Time of the next comparison if watching is impossible.
    pub(super) compare_at: Option<Instant>,
    /// Reason why watching is impossible.
    pub(super) limit: Option<String>,
    /// Reason why the last update failed.
    pub(super) failed: Option<String>,
    /// True if the folder did not respond to the last look-up.
    pub(super) is_silent: bool,
}

impl WatchedRoot {
    pub(super) fn new(root: Root) -> Self {
        Self {
            root,
            identity: None,
            folders: BTreeSet::new(),
            pending: PendingChanges::default(),
            compare_at: None,
            limit: None,
            failed: None,
            is_silent: false,
        }
    }

    /// Returns the reason why changes are not indexed at once, if there is one.
    pub(super) fn fault_message(&self) -> Option<String> {
        let silent = self.is_silent.then(|| "its folder does not answer".to_owned());
        let gone = || self.identity.is_none().then(|| self.gone_message().to_owned());
        silent.or_else(gone).or_else(|| self.failed.clone()).or_else(|| self.limit.clone())
    }

    fn gone_message(&self) -> &'static str {
        match self.root.revision {
            None => "its folder is gone",
            Some(_) => "its repository, or the branch or tag, is gone",
        }
    }

    /// Records a change at a path if it belongs to this root.
    pub(super) fn record_change(&mut self, path: &Path, now: Instant) {
        if self.root.revision.is_some() || !path.starts_with(&self.root.path) {
            return;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_exclude = path.ends_with(".git/info/exclude");
        // A `.git` that appears or disappears below the root changes the repository of its folder.
        let path = match path.parent() {
            Some(folder) if name == GIT && folder != self.root.path => folder,
            _ => path,
        };
        match discover::relative_path(&self.root.path, path) {
            // A changed ignore file affects everything next to it.
            Some(below) if !is_exclude && !discover::is_ignore_file(name) && !below.is_empty() => {
                self.pending.add_path(below, now);
            }
            Some(_) => self.pending.add_everything(now),
            // Names that are not UTF-8 are never indexed.
            None => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangeSet {
    /// Paths below the root, including everything below them.
    Paths(BTreeSet<String>),
    Everything,
}

#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    changes: Option<ChangeSet>,
    /// Time of the first waiting change.
    first: Option<Instant>,
    due: Option<Instant>,
}

impl PendingChanges {
    pub(super) fn add_path(&mut self, path: String, now: Instant) {
        match self.changes.get_or_insert_with(|| ChangeSet::Paths(BTreeSet::new())) {
            ChangeSet::Everything => {}
            ChangeSet::Paths(paths) => {
                paths.insert(path);
                if paths.len() > MAX_PATHS {
                    self.changes = Some(ChangeSet::Everything);
                }
            }
        }
        self.schedule_check(now);
    }

    pub(super) fn add_everything(&mut self, now: Instant) {
        self.changes = Some(ChangeSet::Everything);
        self.schedule_check(now);
    }

    /// Returns the time of the next check, if changes wait.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn postpone_until(&mut self, until: Instant) {
        self.due = self.due.map(|_| until);
    }

    /// Removes and returns all changes; without changes, an empty set of paths.
    pub(super) fn take_changes(&mut self) -> ChangeSet {
        (self.first, self.due) = (None, None);
        self.changes.take().unwrap_or_else(|| ChangeSet::Paths(BTreeSet::new()))
    }

    pub(super) fn put_back(&mut self, changes: ChangeSet, until: Instant) {
        match changes {
            ChangeSet::Everything => self.add_everything(until),
            ChangeSet::Paths(paths) => {
                for path in paths {
                    self.add_path(path, until);
                }
            }
        }
        self.postpone_until(until);
    }

    fn schedule_check(&mut self, now: Instant) {
        let first = *self.first.get_or_insert(now);
        self.due = Some((now + PAUSE).min(first + MAX_DELAY));
    }
}

/// Identity that distinguishes a folder or commit from a later one at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderIdentity(u64, u64);

/// Returns the identity of the folder or commit of each root; the outer `None` means unknown, the
/// inner `None` missing. `lookups` must serve only this purpose, so that a place held by other work
/// is not reported as unknown.
pub(super) async fn load_identities(
    lookups: &IoWatchdog,
    stopping: &CancellationToken,
    roots: &[Root],
) -> Vec<Option<Option<FolderIdentity>>> {
    // A held place was hanging before. Roots may share a folder, so all are checked beforehand.
    let held: Vec<bool> = roots.iter().map(|root| lookups.is_held(root_folder(root))).collect();
    // Look-ups run at the same time, so that the total wait is that of one that hangs.
    let identities = roots.iter().zip(held).map(async |(root, is_held)| {
        if is_held { None } else { load_identity(lookups, stopping, root).await.ok() }
    });
    join_all(identities).await
}

fn root_folder(root: &Root) -> &Path {
    root.revision.as_ref().map_or(&root.path, |revision| &revision.folder)
}

async fn load_identity(
    lookups: &IoWatchdog,
    stopping: &CancellationToken,
    root: &Root,
) -> Result<Option<FolderIdentity>, IngestError> {
    let (own, revision) = (root.path.clone(), root.revision.clone());
    let look = move |_: &IoHeartbeat| match revision {
        None => read_folder_identity(&own),
        Some(revision) => {
            let git = GitRepository::open(&revision.folder).ok().flatten()?;
            Some(FolderIdentity(git.reference_fingerprint(&revision.name)?, 0))
        }
    };
    lookups.run_blocking(root_folder(root), stopping, look).await
}

fn read_folder_identity(path: &Path) -> Option<FolderIdentity> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(FolderIdentity(metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        // A later folder has a later creation time.
        Some(FolderIdentity(
            metadata.created().map_or(0, codeinfo_core::nanoseconds_since_epoch),
            0,
        ))
    }
}

/// Returns the folders to watch in a root, or in its part in scope, without unreadable ones. Where
/// the system can watch whole trees cheaply, that is the root itself.
pub(super) fn list_watched_folders(context: WalkContext<'_>) -> Result<Vec<PathBuf>, IngestError> {
    let root = context.root_path;
    if !cfg!(target_os = "linux") {
        return Ok(if context.scope.is_none() { vec![root.to_owned()] } else { Vec::new() });
    }
    let walked = discover::walk_root(&discover::open_folder(root)?, context, WalkMode::Folders)?;
    let mut folders: Vec<PathBuf> = walked.folders.iter().map(|path| root.join(path)).collect();
    // Hidden, but contains the file of ignore patterns.
    let excludes = root.join(".git/info");
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if context.scope.is_none() && is_folder(&root.join(".git")) && is_folder(&excludes) {
        folders.push(excludes);
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use codeinfo_core::{IndexedCommit, task::Tasks};

    use super::*;

    fn paths(paths: &[&str]) -> ChangeSet {
        ChangeSet::Paths(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn changes_wait_for_a_pause_up_to_a_limit() {
        let (start, mut pending) = (Instant::now(), PendingChanges::default());
        assert_eq!(pending.due_at(), None);
        pending.add_path("a".to_owned(), start);
        assert_eq!(pending.due_at(), Some(start + PAUSE));
        for step in 1..20 {
            pending.add_path("b".to_owned(), start + PAUSE / 2 * step);
        }
        assert_eq!(pending.due_at(), Some(start + MAX_DELAY));
        assert_eq!(pending.take_changes(), paths(&["a", "b"]));
        assert_eq!((pending.due_at(), pending.take_changes()), (None, paths(&[])));
    }

    #[test]
    fn too_many_paths_become_everything() {
        let (now, mut pending) = (Instant::now(), PendingChanges::default());
        for number in 0..=MAX_PATHS {
            pending.add_path(number.to_string(), now);
        }
        assert_eq!(pending.take_changes(), ChangeSet::Everything);
    }

    #[test]
    fn put_back_changes_join_newer_ones() {
        let (now, mut pending) = (Instant::now(), PendingChanges::default());
        pending.add_path("new".to_owned(), now);
        pending.put_back(paths(&["old"]), now + MAX_DELAY);
        assert_eq!(pending.due_at(), Some(now + MAX_DELAY));
        assert_eq!(pending.take_changes(), paths(&["new", "old"]));
    }

    #[tokio::test]
    async fn a_hanging_repository_delays_no_lookup() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap().join("app");
        std::fs::create_dir_all(folder.join(".git/refs/heads")).unwrap();
        std::fs::write(folder.join(".git/refs/heads/main"), "1".repeat(40)).unwrap();
        let revision = |name: &str| IndexedCommit {
            folder: folder.clone(),
            name: name.to_owned(),
            store: folder.join(".git"),
            commit: String::new(),
        };
        let of = |name: &str| Root {
            revision: Some(revision(name)),
            ..Root::from_folder(base.path().join(format!("app@{name}")))
        };
        let roots = [Root::from_folder(folder.clone()), of("main"), of("gone")];
        let lookups = IoWatchdog::with_timeout(Tasks::default(), Duration::from_secs(2));
        let stopping = CancellationToken::new();
        let found = load_identities(&lookups, &stopping, &roots).await;
        let known: Vec<_> = found.iter().map(|found| found.map(|found| found.is_some())).collect();
        assert_eq!(known, [Some(true), Some(true), Some(false)]);

        let (answer, asked) = mpsc::channel::<()>();
        let hung = lookups.run_blocking(&folder, &stopping, move |_| asked.recv().is_err()).await;
        assert!(matches!(hung, Err(IngestError::Stalled { .. })), "{hung:?}");
        let begun = Instant::now();
        assert_eq!(load_identities(&lookups, &stopping, &roots).await, [None, None, None]);
        assert!(begun.elapsed() < Duration::from_secs(2));
        drop(answer);
    }
}
