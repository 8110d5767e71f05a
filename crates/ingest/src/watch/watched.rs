//! State of one watched root.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Instant,
};

use codeinfo_core::Root;
use codeinfo_worktree::git::GIT;

use super::{folders::FolderIdentity, pending::PendingChanges};
use crate::discover;

/// A root and the state of its folder.
#[derive(Debug)]
pub(super) struct WatchedRoot {
    pub(super) root: Root,
    /// Identity of the folder when last seen; `None` if it is missing.
    pub(super) place: Option<FolderIdentity>,
    /// Folders of the root that the system watches.
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
            place: None,
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
        let gone = || self.place.is_none().then(|| self.gone_message().to_owned());
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
            Some(_) => self.pending.note_all(now),
            // Names that are not UTF-8 are never indexed.
            None => {}
        }
    }
}
