//! Folders to choose from when a client adds a repository.
//!
//! A path is checked by its text alone before any file system access, so that clients cannot learn
//! what exists elsewhere. Links below an allowed folder are not followed.

use std::{
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::task::Tasks;
use codeinfo_worktree::{
    beneath::{FolderEntry, FolderEntryKind, RootDir},
    private_places::{PrivatePlaces, ResolvedPlaces},
};
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    io_watchdog::{IoHeartbeat, IoWatchdog},
    root,
};

const MAX_FOLDERS: usize = 1_000;
/// Maximum number of entries, including files, read for a listing.
const MAX_ENTRIES: usize = 100_000;
/// Name of the private places for the watchdog, independent of their location.
const PRIVATE: &str = "private places";
const GIT: &str = ".git";

/// Folders in one folder, or the allowed folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderChoices {
    /// Listed folder; `None` for the list of allowed folders.
    pub path: Option<PathBuf>,
    /// Parent folder, if it may be listed.
    pub parent: Option<PathBuf>,
    /// Folders, ordered by name.
    pub folders: Vec<FolderChoice>,
    /// True if there are more folders.
    pub is_truncated: bool,
}

/// A folder that can be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderChoice {
    /// Path on the server.
    pub path: PathBuf,
    /// True if the folder is the top of a Git repository.
    pub is_repository: bool,
}

/// Lists folders. Clones share the watchdog.
#[derive(Clone)]
pub(super) struct FolderChooser {
    allowed: Arc<[PathBuf]>,
    /// Separate watchdog, so that listings never block a run or the watcher.
    watchdog: IoWatchdog,
    stopping: CancellationToken,
}

impl FolderChooser {
    pub(super) fn new(allowed: Vec<PathBuf>, tasks: Tasks) -> Self {
        let stopping = tasks.stop_token().clone();
        Self { allowed: allowed.into(), watchdog: IoWatchdog::new(tasks), stopping }
    }

    /// Lists the folders in `path`, or the allowed folders. Excludes the `private` places.
    pub(super) async fn list_folders(
        &self,
        path: Option<&Path>,
        private: &Arc<PrivatePlaces>,
    ) -> Result<FolderChoices, IngestError> {
        if self.allowed.is_empty() {
            return Err(IngestError::ChooserOff);
        }
        let tops = self.resolve_allowed_folders(private).await;
        match path {
            None => self.list_allowed_folders(tops).await,
            Some(path) => self.list_folder(tops, path).await,
        }
    }

    /// Returns true if `path`, which has no links, is below an allowed folder.
    pub(super) async fn is_allowed(&self, path: &Path, private: &Arc<PrivatePlaces>) -> bool {
        self.resolve_allowed_folders(private).await.find_containing(path).is_ok()
    }

    /// Resolves the allowed folders. A folder that is missing or does not respond permits nothing.
    async fn resolve_allowed_folders(&self, private: &Arc<PrivatePlaces>) -> AllowedFolders {
        let private = Arc::clone(private);
        let resolving = self
            .watchdog
            .run_blocking(Path::new(PRIVATE), &self.stopping, move |_| private.resolve());
        // If the private places are unknown, no folder is allowed.
        let Ok(private) = resolving.await else { return AllowedFolders::default() };
        let real = |path: &PathBuf| {
            let (place, path) = (path.clone(), path.clone());
            async move {
                let looking = self
                    .watchdog
                    .run_blocking(&place, &self.stopping, move |_| path.canonicalize());
                looking.await.ok()?.ok()
            }
        };
        let found = join_all(self.allowed.iter().map(real)).await;
        let named_tops = self.allowed.iter().zip(found);
        let tops =
            named_tops.map(|(named, real)| AllowedFolder { named: named.clone(), real }).collect();
        AllowedFolders { tops, private }
    }

    async fn list_allowed_folders(
        &self,
        tops: AllowedFolders,
    ) -> Result<FolderChoices, IngestError> {
        let mut folders = Vec::new();
        for top in tops.tops.iter().filter_map(|top| top.real.as_ref()) {
            let is_listed = folders.iter().any(|folder: &FolderChoice| folder.path == *top);
            if is_listed || !tops.is_indexable(top, Path::new("")) {
                continue;
            }
            let place = top.clone();
            let look = move |_: &IoHeartbeat| {
                let folder = RootDir::open(&place)?.open_folder(Path::new(""))?;
                Ok::<_, io::Error>(folder.read_facts(&git_entry()).is_ok())
            };
            if let Ok(Ok(is_repository)) =
                self.watchdog.run_blocking(top, &self.stopping, look).await
            {
                folders.push(FolderChoice { path: top.clone(), is_repository });
            }
        }
        Ok(FolderChoices { path: None, parent: None, folders, is_truncated: false })
    }

    async fn list_folder(
        &self,
        tops: AllowedFolders,
        path: &Path,
    ) -> Result<FolderChoices, IngestError> {
        let (top, below) = tops.find_containing(path)?;
        let whole = join_below(&top, &below);
        let parent =
            whole.parent().filter(|above| tops.find_containing(above).is_ok()).map(Path::to_owned);
        let listing = move |pulse: &IoHeartbeat| list_subfolders(&top, &below, &tops, pulse);
        let listed = self.watchdog.run_blocking(&whole, &self.stopping, listing).await?;
        // The error must not reveal whether the path is a link, a file, unreadable or missing.
        let (folders, is_truncated) =
            listed.map_err(|_| IngestError::FolderNotFound(path.to_owned()))?;
        Ok(FolderChoices { path: Some(whole), parent, folders, is_truncated })
    }
}

#[derive(Debug)]
struct AllowedFolder {
    named: PathBuf,
    /// Canonical path, if the folder exists.
    real: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct AllowedFolders {
    tops: Vec<AllowedFolder>,
    private: ResolvedPlaces,
}

impl AllowedFolders {
    /// Returns the allowed folder that contains a path, and the path relative to it.
    fn find_containing(&self, path: &Path) -> Result<(PathBuf, PathBuf), IngestError> {
        let mut is_inside = false;
        for top in &self.tops {
            let prefixes = top.real.iter().chain([&top.named]);
            let below = prefixes.filter_map(|prefix| path.strip_prefix(prefix).ok());
            let is_plain =
                |below: &&Path| below.components().all(|part| matches!(part, Component::Normal(_)));
            let Some(below) = below.into_iter().find(is_plain) else { continue };
            is_inside = true;
            if let Some(real) = top.real.as_ref().filter(|real| self.is_indexable(real, below)) {
                return Ok((real.clone(), below.to_owned()));
            }
        }
        Err(if is_inside {
            IngestError::FolderNotFound(path.to_owned())
        } else {
            IngestError::FolderOutside
        })
    }

    /// Returns true if the path permits indexing: no part below the allowed folder is hidden.
    fn is_indexable(&self, top: &Path, below: &Path) -> bool {
        let whole = join_below(top, below);
        let is_shown = |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| !is_hidden(part));
        let is_private = self.private.find_place(&whole).is_some();
        below.iter().all(is_shown) && !is_private && root::find_refusal_reason(&whole).is_none()
    }
}

fn join_below(top: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { top.to_owned() } else { top.join(below) }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

fn git_entry() -> FolderEntry {
    FolderEntry { name: GIT.into(), kind: FolderEntryKind::Other }
}

/// Lists the folders in a folder. Returns true as well if there are more.
fn list_subfolders(
    top: &Path,
    below: &Path,
    tops: &AllowedFolders,
    pulse: &IoHeartbeat,
) -> io::Result<(Vec<FolderChoice>, bool)> {
    let beneath = RootDir::open(top)?;
    let mut opened = beneath.open_folder(below)?;
    let (mut names, mut is_truncated) = (Vec::new(), false);
    for (at, entry) in opened.list_entries().enumerate() {
        pulse.beat();
        if at == MAX_ENTRIES {
            is_truncated = true;
            break;
        }
        let FolderEntry { name, kind } = entry?;
        let visible_name = name.into_string().ok().filter(|name| !is_hidden(name));
        names.extend(visible_name.filter(|_| kind == FolderEntryKind::Folder));
    }
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let mut folders = Vec::new();
    for name in names {
        pulse.beat();
        let path = below.join(name);
        if !tops.is_indexable(top, &path) {
            continue;
        }
        if folders.len() == MAX_FOLDERS {
            is_truncated = true;
            break;
        }
        // Skips folders that cannot be read, or have become links.
        let Ok(folder) = beneath.open_folder(&path) else { continue };
        let is_repository = folder.read_facts(&git_entry()).is_ok();
        folders.push(FolderChoice { path: top.join(path), is_repository });
    }
    Ok((folders, is_truncated))
}
