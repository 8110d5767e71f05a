//! Where a walk goes, and each folder and file on the way.

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

/// Never walked, whatever ignore files ask for: it is Git's, and none of the repository's files.
pub(super) const GIT: &str = ".git";

/// Where a walk goes, and when it ends early.
#[derive(Clone, Copy)]
pub(crate) struct WalkContext<'a> {
    /// The path of the root, for messages.
    pub(crate) place: &'a Path,
    pub(crate) scope: Option<&'a PathScope>,
    /// Places that are never walked.
    pub(crate) private: &'a ResolvedPlaces,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) pulse: &'a IoHeartbeat,
}

impl WalkContext<'_> {
    /// Returns the private place that is at a path below the root.
    pub(super) fn private_place(&self, path: &Path) -> Option<&'static PrivatePlace> {
        self.private.find_entry(self.place, path)
    }
}

/// A folder on the way.
#[derive(Debug, Clone, Default)]
pub(super) struct WalkEntry {
    pub(super) path: PathBuf,
    /// The path with `/` between parts, and what is not UTF-8 replaced.
    pub(super) text: String,
    pub(super) is_utf8: bool,
    /// The rules of the folder above.
    pub(super) rules: IgnoreRules,
    /// What its name tells of it.
    pub(super) told: Option<FolderNameHint>,
    /// Whether it lies in a folder of packages.
    pub(super) is_among_packages: bool,
    /// By which rule all that no pattern asks for is left out.
    pub(super) unless_asked_for: Option<OmissionRule>,
    /// Whether git ignores it but for the files that it tracks.
    pub(super) is_ignored_by_git: bool,
}

/// What the name of a folder tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderNameHint {
    pub(super) kind: FolderContents,
    /// Whether what is beside it fits.
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

    /// Goes to an entry that no rules are asked about.
    pub(super) fn to_entry(&self, entry: &FolderEntry) -> Self {
        self.child_with_rules(entry, &IgnoreRules::default())
    }

    /// Returns the path as a secret is named by, or the nearest folder above that has such a name.
    pub(super) fn nearest_utf8(&self) -> Option<String> {
        if self.is_utf8 {
            return Some(self.text.clone());
        }
        let folder = self.path.ancestors().find(|path| path.to_str().is_some())?;
        relative_path(Path::new(""), folder).filter(|path| !path.is_empty())
    }

    /// Goes to an entry.
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
