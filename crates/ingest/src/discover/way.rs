//! Context of a walk, and the entries on its way.

use std::path::{Path, PathBuf};

use codeinfo_core::OmissionRule;
use codeinfo_lang::vendored::FolderContents;
use codeinfo_worktree::{
    beneath::FolderEntry,
    private_places::{PrivatePlace, ResolvedPlaces},
};
use tokio_util::sync::CancellationToken;

use super::{ignored::IgnoreRules, relative_path};
use crate::{pulse::IoHeartbeat, scope::PathScope};

/// Folder of Git, which is never walked, even if an ignore file asks for it.
pub(super) const GIT: &str = ".git";

/// Context of a walk: its place, scope and cancellation.
#[derive(Clone, Copy)]
pub(crate) struct WalkContext<'a> {
    /// Path of the root, for messages.
    pub(crate) place: &'a Path,
    pub(crate) scope: Option<&'a PathScope>,
    /// Places that are never walked.
    pub(crate) private: &'a ResolvedPlaces,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) pulse: &'a IoHeartbeat,
}

impl WalkContext<'_> {
    /// Returns the private place at a path below the root.
    pub(super) fn private_place(&self, path: &Path) -> Option<&'static PrivatePlace> {
        self.private.find_entry(self.place, path)
    }
}

/// A file or folder on the way.
#[derive(Debug, Clone, Default)]
pub(super) struct WalkEntry {
    pub(super) path: PathBuf,
    /// Path separated by `/`, with invalid UTF-8 replaced.
    pub(super) text: String,
    pub(super) is_utf8: bool,
    /// Rules of the parent folder.
    pub(super) rules: IgnoreRules,
    /// Hint from the folder's name.
    pub(super) told: Option<FolderNameHint>,
    /// True below a folder of packages.
    pub(super) is_among_packages: bool,
    /// Rule that excludes everything that no pattern asks for.
    pub(super) unless_asked_for: Option<OmissionRule>,
    /// True if git ignores it, except for the files that it tracks.
    pub(super) is_ignored_by_git: bool,
}

/// Kind of a folder, guessed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderNameHint {
    pub(super) kind: FolderContents,
    /// True if its siblings confirm the guess.
    pub(super) is_beside: bool,
}

impl WalkEntry {
    #[cfg(test)]
    pub(super) fn from_text(text: &str) -> Self {
        Self { path: text.into(), text: text.to_owned(), is_utf8: true, ..Self::default() }
    }

    pub(super) fn is_root(&self) -> bool {
        self.path.as_os_str().is_empty()
    }

    /// Returns an entry of this folder, without rules.
    pub(super) fn to_entry(&self, entry: &FolderEntry) -> Self {
        self.child_with_rules(entry, &IgnoreRules::default())
    }

    /// Returns the path for naming a secret, or its nearest parent that is UTF-8.
    pub(super) fn nearest_utf8(&self) -> Option<String> {
        if self.is_utf8 {
            return Some(self.text.clone());
        }
        let folder = self.path.ancestors().find(|path| path.to_str().is_some())?;
        relative_path(Path::new(""), folder).filter(|path| !path.is_empty())
    }

    /// Returns an entry of this folder with `rules`.
    pub(super) fn child_with_rules(&self, entry: &FolderEntry, rules: &IgnoreRules) -> Self {
        let name = entry.name.to_string_lossy();
        let text = if self.is_root() {
            name.clone().into_owned()
        } else {
            format!("{}/{name}", self.text)
        };
        let is_utf8 = (self.is_root() || self.is_utf8) && entry.name.to_str().is_some();
        Self {
            path: self.path.join(&entry.name),
            text,
            is_utf8,
            rules: rules.clone(),
            told: None,
            is_among_packages: self.is_among_packages,
            unless_asked_for: self.unless_asked_for,
            is_ignored_by_git: self.is_ignored_by_git,
        }
    }
}
