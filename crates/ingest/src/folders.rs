//! Folders that people choose from when they add a repository: those below the allowed folders that can be
//! indexed, and nothing else.
//!
//! Where a path lies is decided by its text alone, before the file system is asked for anything, so that
//! nobody learns what exists elsewhere. Below an allowed folder no link is followed.

use std::{
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::task::Tasks;
use codeinfo_worktree::{
    beneath::{Beneath, Entry, Kind},
    private_places::{PrivatePlaces, ResolvedPlaces},
};
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    pulse::{Pulse, Watchdog},
    root,
};

/// The most folders of one listing.
const MAX_FOLDERS: usize = 1_000;
/// The most entries that are looked at for one listing, files included.
const MAX_ENTRIES: usize = 100_000;
/// Names the private places, wherever they are, to what watches over file systems.
const PRIVATE: &str = "private places";
/// What shows that a folder is a repository.
const GIT: &str = ".git";

/// The folders in one folder, or the allowed folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The folder; `None` lists the allowed ones.
    pub path: Option<PathBuf>,
    /// The folder above, where that may be listed.
    pub parent: Option<PathBuf>,
    /// Ordered by name.
    pub folders: Vec<Choice>,
    /// Whether there are more.
    pub is_truncated: bool,
}

/// A folder that can be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The path as the server sees it.
    pub path: PathBuf,
    /// Whether a repository of Git starts here.
    pub is_repository: bool,
}

/// Lists folders. Clones share what hangs.
#[derive(Clone)]
pub(super) struct Chooser {
    allowed: Arc<[PathBuf]>,
    /// Its own, so that nothing here keeps a run or the watcher from a folder.
    watchdog: Watchdog,
    stopping: CancellationToken,
}

impl Chooser {
    pub(super) fn new(allowed: Vec<PathBuf>, tasks: Tasks) -> Self {
        let stopping = tasks.stopping().clone();
        Self { allowed: allowed.into(), watchdog: Watchdog::new(tasks), stopping }
    }

    /// Lists the folders in `path`, or the allowed folders. `private` are places that are never indexed.
    pub(super) async fn list(
        &self,
        path: Option<&Path>,
        private: &Arc<PrivatePlaces>,
    ) -> Result<Listing, IngestError> {
        if self.allowed.is_empty() {
            return Err(IngestError::ChooserOff);
        }
        let tops = self.tops(private).await;
        match path {
            None => self.tops_listed(tops).await,
            Some(path) => self.folder_listed(tops, path).await,
        }
    }

    /// Returns whether `path`, which has no links, is below an allowed folder.
    pub(super) async fn allows(&self, path: &Path, private: &Arc<PrivatePlaces>) -> bool {
        self.tops(private).await.find(path).is_ok()
    }

    /// Finds the allowed folders on disk. One that is not there, or does not answer, allows nothing.
    async fn tops(&self, private: &Arc<PrivatePlaces>) -> Tops {
        let private = Arc::clone(private);
        let resolving =
            self.watchdog.run(Path::new(PRIVATE), &self.stopping, move |_| private.resolve());
        // Without them, nothing is known to be allowed.
        let Ok(private) = resolving.await else { return Tops::default() };
        let real = |path: &PathBuf| {
            let (place, path) = (path.clone(), path.clone());
            async move {
                let looking =
                    self.watchdog.run(&place, &self.stopping, move |_| path.canonicalize());
                looking.await.ok()?.ok()
            }
        };
        let found = join_all(self.allowed.iter().map(real)).await;
        let tops = self.allowed.iter().zip(found);
        let tops = tops.map(|(named, real)| Top { named: named.clone(), real }).collect();
        Tops { tops, private }
    }

    async fn tops_listed(&self, tops: Tops) -> Result<Listing, IngestError> {
        let mut folders = Vec::new();
        for top in tops.tops.iter().filter_map(|top| top.real.as_ref()) {
            let is_listed = folders.iter().any(|one: &Choice| one.path == *top);
            if is_listed || !tops.has(top, Path::new("")) {
                continue;
            }
            let place = top.clone();
            let look = move |_: &Pulse| {
                let folder = Beneath::open(&place)?.folder(Path::new(""))?;
                Ok::<_, io::Error>(folder.facts(&git()).is_ok())
            };
            if let Ok(Ok(is_repository)) = self.watchdog.run(top, &self.stopping, look).await {
                folders.push(Choice { path: top.clone(), is_repository });
            }
        }
        Ok(Listing { path: None, parent: None, folders, is_truncated: false })
    }

    async fn folder_listed(&self, tops: Tops, path: &Path) -> Result<Listing, IngestError> {
        let (top, below) = tops.find(path)?;
        let whole = joined(&top, &below);
        let parent = whole.parent().filter(|above| tops.find(above).is_ok()).map(Path::to_owned);
        let listing = move |pulse: &Pulse| listed(&top, &below, &tops, pulse);
        let listed = self.watchdog.run(&whole, &self.stopping, listing).await?;
        // That it is a link, a file, not to be read or not there are one to who asks.
        let (folders, is_truncated) =
            listed.map_err(|_| IngestError::FolderNotFound(path.to_owned()))?;
        Ok(Listing { path: Some(whole), parent, folders, is_truncated })
    }
}

/// An allowed folder.
#[derive(Debug)]
struct Top {
    /// As the setting names it.
    named: PathBuf,
    /// Where it is, without links.
    real: Option<PathBuf>,
}

/// The allowed folders, and the places in them that are never indexed.
#[derive(Debug, Default)]
struct Tops {
    tops: Vec<Top>,
    private: ResolvedPlaces,
}

impl Tops {
    /// Returns the allowed folder above a path, and the path below it.
    fn find(&self, path: &Path) -> Result<(PathBuf, PathBuf), IngestError> {
        let mut is_inside = false;
        for top in &self.tops {
            let prefixes = top.real.iter().chain([&top.named]);
            let below = prefixes.filter_map(|prefix| path.strip_prefix(prefix).ok());
            let is_plain =
                |below: &&Path| below.components().all(|part| matches!(part, Component::Normal(_)));
            let Some(below) = below.into_iter().find(is_plain) else { continue };
            is_inside = true;
            if let Some(real) = top.real.as_ref().filter(|real| self.has(real, below)) {
                return Ok((real.clone(), below.to_owned()));
            }
        }
        Err(if is_inside {
            IngestError::FolderNotFound(path.to_owned())
        } else {
            IngestError::FolderOutside
        })
    }

    /// Whether a folder may be indexed, by its path alone: no part below the allowed folder is hidden.
    fn has(&self, top: &Path, below: &Path) -> bool {
        let whole = joined(top, below);
        let is_shown = |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| !is_hidden(part));
        let is_private = self.private.find(&whole).is_some();
        below.iter().all(is_shown) && !is_private && root::refusal(&whole).is_none()
    }
}

fn joined(top: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { top.to_owned() } else { top.join(below) }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

fn git() -> Entry {
    Entry { name: GIT.into(), kind: Kind::Other }
}

/// Lists the folders in a folder, and says whether there are more.
fn listed(top: &Path, below: &Path, tops: &Tops, pulse: &Pulse) -> io::Result<(Vec<Choice>, bool)> {
    let beneath = Beneath::open(top)?;
    let mut opened = beneath.folder(below)?;
    let (mut names, mut is_truncated) = (Vec::new(), false);
    for (at, entry) in opened.entries().enumerate() {
        pulse.beat();
        if at == MAX_ENTRIES {
            is_truncated = true;
            break;
        }
        let Entry { name, kind } = entry?;
        let name = name.into_string().ok().filter(|name| !is_hidden(name));
        names.extend(name.filter(|_| kind == Kind::Folder));
    }
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let mut folders = Vec::new();
    for name in names {
        pulse.beat();
        let below = below.join(name);
        if !tops.has(top, &below) {
            continue;
        }
        if folders.len() == MAX_FOLDERS {
            is_truncated = true;
            break;
        }
        // What cannot be read cannot be indexed, and what is a link by now is none of ours.
        let Ok(folder) = beneath.folder(&below) else { continue };
        let is_repository = folder.facts(&git()).is_ok();
        folders.push(Choice { path: top.join(below), is_repository });
    }
    Ok((folders, is_truncated))
}
