//! Finds the files of a root to index, by path alone.
//!
//! Ignore files above the root are deliberately not read: a client that requests a folder wants it
//! even if a repository around it ignores it, and the result must not depend on the location. Links
//! are excluded: their targets are found inside the root, or do not belong to it.

mod folder_rules;
mod secret_search;
mod walk;
mod walk_entry;

pub(super) use walk::{WalkMode, walk_root};
pub(super) use walk_entry::WalkContext;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::{OmissionRule, OmittedGroup, OmittedPaths, Root};
use codeinfo_worktree::{
    beneath::{self, RootDir},
    git::GitRepository,
    ignored,
    private_places::{PrivatePlaces, ResolvedPlaces},
};
use tokio_util::sync::CancellationToken;

use super::{
    error::IngestError,
    inspect::{self, FileVerdict},
    io_watchdog::IoHeartbeat,
    skip::{SkipReason, SkippedPath},
};

/// A file that may be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredFile {
    /// Path below the root, separated by `/`.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the Unix epoch.
    pub modified_ns: u64,
    /// True if the file is indexed even when it is generated or minified.
    pub is_requested: bool,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct WalkResult {
    /// Files in path order.
    pub files: Vec<DiscoveredFile>,
    /// Unreadable or too large files, unreadable folders, ignore files dropped wholly or in part.
    pub skipped: Vec<SkippedPath>,
    /// Paths excluded by rules about paths.
    pub omitted: OmittedPaths,
    /// Files with names of secrets, and private folders, even where nothing is indexed.
    pub private: BTreeSet<String>,
    /// Files found whose content decides whether they are secrets.
    pub doubtful: BTreeSet<String>,
    /// Listed folders by their paths below the root, the root first.
    pub(super) folders: Vec<PathBuf>,
}

/// Walks `root`, a canonical path. Blocks on the file system; fails when `cancel` is cancelled.
pub fn discover_files(
    root: &Path,
    max_file_bytes: u64,
    cancel: &CancellationToken,
) -> Result<WalkResult, IngestError> {
    let pulse = IoHeartbeat::default();
    let private = ResolvedPlaces::default();
    let context =
        WalkContext { root_path: root, scope: None, private: &private, cancel, pulse: &pulse };
    let mode = WalkMode::Files { max_bytes: max_file_bytes, keeps_all_paths: false };
    walk_root(&open_folder(root)?, context, mode)
}

pub(super) fn open_folder(root: &Path) -> Result<RootDir, IngestError> {
    RootDir::open(root).map_err(|error| map_open_error(root, error))
}

pub(super) fn open_root(root: &Root) -> Result<RootDir, IngestError> {
    RootDir::open_root(root).map_err(|error| {
        match (&root.revision, beneath::as_object_fault(&error)) {
            (Some(revision), Some(fault)) => IngestError::for_object_fault(revision, fault, false),
            _ => map_open_error(&root.path, error),
        }
    })
}

fn map_open_error(root: &Path, error: io::Error) -> IngestError {
    let path = root.to_owned();
    // The folder may have changed meanwhile; walking a file would report every file as gone.
    match error.kind() {
        io::ErrorKind::PermissionDenied => IngestError::Path { path, reason: "cannot be read" },
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            IngestError::Path { path, reason: "is no longer a folder" }
        }
        _ => IngestError::Open { path, source: error },
    }
}

/// Returns true for names of files that define which files are excluded.
pub(super) fn is_ignore_file(name: &str) -> bool {
    ignored::NAMES.contains(&name) || name == folder_rules::ATTRIBUTES_FILE
}

/// Returns the path below the root, separated by `/`, if it is UTF-8.
pub fn relative_path(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// Files of a folder that are not indexed, and why.
#[derive(Debug)]
pub struct FolderExplanation {
    /// True for the files that git tracks, false for those on disk.
    pub is_tracked: bool,
    /// Number of examined files.
    pub total: usize,
    /// Excluded paths below the folder by rule, each with the number of files it represents. An
    /// excluded folder ends with `/`; on disk its files are not counted, so it represents one.
    pub omitted: BTreeMap<OmissionRule, BTreeMap<String, usize>>,
}

impl FolderExplanation {
    /// Returns the number of excluded files.
    pub fn count_omitted(&self) -> usize {
        self.omitted.values().flat_map(BTreeMap::values).sum()
    }
}

/// Finds the files in `root`, a canonical path, that are not indexed. Blocks on the file system.
pub fn explain_folder(
    root: &Path,
    max_file_bytes: u64,
    private: &PrivatePlaces,
) -> Result<FolderExplanation, IngestError> {
    let (cancel, pulse) = (CancellationToken::new(), IoHeartbeat::default());
    let resolved = private.resolve();
    let context = WalkContext {
        root_path: root,
        scope: None,
        private: &resolved,
        cancel: &cancel,
        pulse: &pulse,
    };
    let folder = open_folder(root)?;
    let mode = WalkMode::Files { max_bytes: max_file_bytes, keeps_all_paths: true };
    let mut discovered = walk_root(&folder, context, mode)?;
    let mut omitted = std::mem::take(&mut discovered.omitted);
    for skipped in &discovered.skipped {
        if let Some(rule) = skipped.reason.omission_rule() {
            omitted.add_file(rule, &skipped.path);
        }
    }
    let mut indexed = BTreeSet::new();
    for file in discovered.files {
        match find_content_rule(&folder, &file, max_file_bytes) {
            Some(rule) => omitted.add_file(rule, &file.path),
            None => drop(indexed.insert(file.path)),
        }
    }
    let tracked = GitRepository::open(root).ok().flatten().and_then(|git| {
        let mut tracked = Vec::new();
        git.each_tracked(|path| tracked.push(path.to_owned())).ok()?;
        Some(tracked)
    });
    Ok(match tracked {
        Some(tracked) => explain_tracked(root, tracked, &indexed, &omitted),
        None => explain_discovered(indexed.len(), &omitted),
    })
}

fn explain_tracked(
    root: &Path,
    mut tracked: Vec<String>,
    indexed: &BTreeSet<String>,
    found: &OmittedPaths,
) -> FolderExplanation {
    tracked.dedup();
    let total = tracked.len();
    let mut omitted: BTreeMap<OmissionRule, BTreeMap<String, usize>> = BTreeMap::new();
    for path in tracked.iter().filter(|path| !indexed.contains(*path)) {
        // Ignore files are read but not indexed, and no rule names them.
        let (rule, known) = found.find_omission(path).unwrap_or((OmissionRule::Hidden, path));
        if root.join(path).symlink_metadata().is_ok() {
            *omitted.entry(rule).or_default().entry(known.to_owned()).or_default() += 1;
        }
    }
    FolderExplanation { is_tracked: true, total, omitted }
}

fn explain_discovered(indexed: usize, found: &OmittedPaths) -> FolderExplanation {
    let paths = |(rule, group): (OmissionRule, &OmittedGroup)| {
        (rule, group.paths.iter().map(|path| (path.clone(), 1)).collect())
    };
    let omitted = found.groups().map(paths).collect();
    let explanation = FolderExplanation { is_tracked: false, total: indexed, omitted };
    FolderExplanation { total: indexed + explanation.count_omitted(), ..explanation }
}

fn find_content_rule(
    folder: &RootDir,
    file: &DiscoveredFile,
    max_bytes: u64,
) -> Option<OmissionRule> {
    let read = folder.open_file(Path::new(&file.path));
    let content = read.and_then(|(opened, _)| beneath::read_to_limit(opened, max_bytes + 1, || ()));
    let content = match content {
        Ok(content) if content.len() as u64 <= max_bytes => content,
        Ok(_) => return Some(OmissionRule::TooLarge),
        Err(error) => return SkipReason::from_io_error(&error).omission_rule(),
    };
    match inspect::inspect_content(&file.path, &content, file.is_requested) {
        FileVerdict::Text { .. } => None,
        FileVerdict::LeftOut(rule) => Some(rule),
        FileVerdict::Skipped(reason) => reason.omission_rule(),
    }
}
