//! One root that is watched.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Instant,
};

use codeinfo_core::Root;
use codeinfo_worktree::git::GIT;

use super::{folders::FolderIdentity, pending::PendingChanges};
use crate::discover;

/// A root and what is known of its folder.
#[derive(Debug)]
pub(super) struct WatchedRoot {
    pub(super) root: Root,
    /// Its folder, when it was last seen; `None` while there is none.
    pub(super) place: Option<FolderIdentity>,
    /// The folders in it that the system watches.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) pending: PendingChanges,
    /// When to compare everything, where watching is not possible.
    pub(super) compare_at: Option<Instant>,
    /// Why watching is not possible.
    pub(super) limit: Option<String>,
    /// Why it could not be brought up to date when that was last tried.
    pub(super) failed: Option<String>,
    /// Whether its folder did not answer when it was last looked at.
    pub(super) is_silent: bool,
}

impl WatchedRoot {
    pub(super) fn new(root: Root) -> Self {
        Self {
            root,
            place: None,
            folders: BTreeSet::new(),
            pending: PendingChanges::default(),
            compare_at: None,
            limit: None,
            failed: None,
            is_silent: false,
        }
    }

    /// Says why changes are not taken up at once, if they are not.
    pub(super) fn fault_message(&self) -> Option<String> {
        let silent = self.is_silent.then(|| "its folder does not answer".to_owned());
        let gone = || self.place.is_none().then(|| self.gone_message().to_owned());
        silent.or_else(gone).or_else(|| self.failed.clone()).or_else(|| self.limit.clone())
    }

    fn gone_message(&self) -> &'static str {
        match self.root.revision {
            None => "its folder is gone",
            Some(_) => "its repository, or the branch or tag, is gone",
        }
    }

    /// Notes that something changed at a path, if it is of this root.
    pub(super) fn record_change(&mut self, path: &Path, now: Instant) {
        if self.root.revision.is_some() || !path.starts_with(&self.root.path) {
            return;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_exclude = path.ends_with(".git/info/exclude");
        // One that comes or goes below the root makes its folder another repository, or none.
        let path = match path.parent() {
            Some(folder) if name == GIT && folder != self.root.path => folder,
            _ => path,
        };
        match discover::relative_path(&self.root.path, path) {
            // A changed ignore file changes what counts of everything beside it.
            Some(below) if !is_exclude && !discover::is_ignore_file(name) && !below.is_empty() => {
                self.pending.add_path(below, now);
            }
            Some(_) => self.pending.note_all(now),
            // A name that is not UTF-8 is never indexed.
            None => {}
        }
    }
}
