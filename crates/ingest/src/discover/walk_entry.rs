//! Context of a walk, and the files and folders that it meets.

use std::path::{Path, PathBuf};

use codeinfo_core::OmissionRule;
use codeinfo_lang::vendored::FolderContents;
use codeinfo_worktree::{
    beneath::FolderEntry,
    ignored::IgnoreRules,
    private_places::{PrivatePlace, ResolvedPlaces},
};
use tokio_util::sync::CancellationToken;

use super::relative_path;
use crate::{io_watchdog::IoHeartbeat, scope::PathScope};

/// Folder of Git, which is never walked, even if an ignore file asks for it.
pub(super) const GIT: &str = ".git";

#[derive(Clone, Copy)]
pub(crate) struct WalkContext<'a> {
    pub(crate) root_path: &'a Path,
    pub(crate) scope: Option<&'a PathScope>,
    /// Places that are never walked.
    pub(crate) private: &'a ResolvedPlaces,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) pulse: &'a IoHeartbeat,
}

impl WalkContext<'_> {
    pub(super) fn private_place(&self, path: &Path) -> Option<&'static PrivatePlace> {
        self.private.find_entry(self.root_path, path)
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct WalkEntry {
    /// Path below the root, as the system has it.
    pub(super) os_path: PathBuf,
    /// Path below the root, separated by `/`, with invalid UTF-8 replaced.
    pub(super) path: String,
    pub(super) is_utf8: bool,
    pub(super) rules: IgnoreRules,
    pub(super) hint: Option<FolderNameHint>,
    /// True below a folder of packages.
    pub(super) is_among_packages: bool,
    /// Rule that excludes everything that no pattern requests.
    pub(super) rule_unless_requested: Option<OmissionRule>,
    /// True if git ignores it, except for the files that it tracks.
    pub(super) is_ignored_by_git: bool,
}

/// Kind of a folder, guessed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderNameHint {
    pub(super) kind: FolderContents,
    /// True if its siblings confirm the guess.
    pub(super) has_siblings: bool,
}

impl WalkEntry {
    #[cfg(test)]
    pub(super) fn from_path(path: &str) -> Self {
        Self { os_path: path.into(), path: path.to_owned(), is_utf8: true, ..Self::default() }
    }

    pub(super) fn is_root(&self) -> bool {
        self.os_path.as_os_str().is_empty()
    }

    /// Returns the path for naming a secret, or its nearest parent that is UTF-8.
    pub(super) fn nearest_utf8(&self) -> Option<String> {
        if self.is_utf8 {
            return Some(self.path.clone());
        }
        let folder = self.os_path.ancestors().find(|path| path.to_str().is_some())?;
        relative_path(Path::new(""), folder).filter(|path| !path.is_empty())
    }

    pub(super) fn child(&self, entry: &FolderEntry, rules: &IgnoreRules) -> Self {
        let name = entry.name.to_string_lossy();
        let path = if self.is_root() {
            name.clone().into_owned()
        } else {
            format!("{}/{name}", self.path)
        };
        let is_utf8 = (self.is_root() || self.is_utf8) && entry.name.to_str().is_some();
        Self {
            os_path: self.os_path.join(&entry.name),
            path,
            is_utf8,
            rules: rules.clone(),
            hint: None,
            is_among_packages: self.is_among_packages,
            rule_unless_requested: self.rule_unless_requested,
            is_ignored_by_git: self.is_ignored_by_git,
        }
    }
}
