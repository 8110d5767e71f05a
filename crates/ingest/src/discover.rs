//! Finds the files of a root to index, by path alone; rules about content apply when a file is
//! read.
//!
//! Ignore files above the root are deliberately not read: a client that requests a folder wants it
//! even if a repository around it ignores it, and the result must not depend on the location. Links
//! are excluded: their targets are found inside the root, or do not belong to it.

mod attributes;
pub mod ignored;
mod search;
mod walk;
mod way;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::{OmittedPaths, Root};
use codeinfo_worktree::{
    beneath::{self, RootDir},
    private_places::ResolvedPlaces,
};
use tokio_util::sync::CancellationToken;

use self::ignored::{IgnoreRules, IgnoreVerdict};
use super::{error::IngestError, pulse::IoHeartbeat, skip::SkippedPath};

pub(super) use walk::WalkMode;
pub(super) use way::WalkContext;

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
    pub is_asked_for: bool,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct WalkResult {
    /// Files in path order.
    pub files: Vec<DiscoveredFile>,
    /// Unreadable files and folders, files above the size limit, and ignore files that
    /// are dropped, wholly or in part.
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
    let way = WalkContext { place: root, scope: None, private: &private, cancel, pulse: &pulse };
    walk_root(
        &open_folder(root)?,
        way,
        WalkMode::Files { max_bytes: max_file_bytes, keeps_all_paths: false },
    )
}

/// Opens the folder of a root for walking and reading.
pub(super) fn open_folder(root: &Path) -> Result<RootDir, IngestError> {
    RootDir::open(root).map_err(|error| map_open_error(root, error))
}

/// Opens a root, which may be a commit.
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
    // The folder may have changed while the run waited. Walking a file would report every file as
    // gone.
    match error.kind() {
        io::ErrorKind::PermissionDenied => IngestError::Path { path, reason: "cannot be read" },
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            IngestError::Path { path, reason: "is no longer a folder" }
        }
        _ => IngestError::Open { path, source: error },
    }
}

/// Walks an opened root, or its part in scope.
pub(super) fn walk_root(
    root: &RootDir,
    way: WalkContext<'_>,
    wanted: WalkMode,
) -> Result<WalkResult, IngestError> {
    walk::walk_in_scope(root, way, wanted)
}

/// Ignore files of a root for paths that may no longer exist. Each file is read once.
pub struct IgnoreFiles {
    root: RootDir,
    /// Rules of folders by their paths below the root.
    known: RefCell<HashMap<String, IgnoreRules>>,
}

impl IgnoreFiles {
    /// Opens a root.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: RootDir::open(root)?, known: RefCell::default() })
    }

    /// Returns true if the ignore files of its folders exclude a path. Blocks on the file system.
    pub fn is_ignored(&self, path: &str) -> bool {
        let (mut rules, mut folder) = (IgnoreRules::default(), String::new());
        for part in path.split('/') {
            rules = self.load_rules(&folder, &rules);
            let next = if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") };
            // The path may have been a file or a folder.
            let is_left_out = |is_folder| {
                let verdict = rules.match_path(&next, is_folder);
                matches!(verdict, IgnoreVerdict::Ignored | IgnoreVerdict::IgnoredByGit)
            };
            if is_left_out(true) || is_left_out(false) {
                return true;
            }
            folder = next;
        }
        false
    }

    fn load_rules(&self, folder: &str, above: &IgnoreRules) -> IgnoreRules {
        let mut known = self.known.borrow_mut();
        if let Some(rules) = known.get(folder) {
            return rules.clone();
        }
        let read = |name: &str| {
            let (file, _) = self.root.open_file(&Path::new(folder).join(name)).ok()?;
            beneath::read_to_limit(file, ignored::MAX_BYTES as u64 + 1, || ()).ok()
        };
        let contents = ignored::NAMES.map(read);
        let has_own = contents.iter().any(Option::is_some);
        let rules =
            if has_own { above.with_ignore_files(folder, &contents).0 } else { above.clone() };
        known.insert(folder.to_owned(), rules.clone());
        rules
    }
}

/// Returns true for names of files that define which files are excluded.
pub(super) fn is_ignore_file(name: &str) -> bool {
    ignored::NAMES.contains(&name) || name == attributes::NAME
}

/// Returns the path below the root, separated by `/`, if it is UTF-8.
pub fn relative_path(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}
