//! Finds the files of a root that are worth indexing, by path alone; what needs its content is
//! decided when a file is read.
//!
//! Ignore files above the root are deliberately not read: who asks for a folder wants it, even when
//! a repository around it ignores it, and the same folder gives the same files wherever it lies.
//! Links are left out: their targets are either inside, and found there, or none of the root's.

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
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the Unix epoch.
    pub modified_ns: u64,
    /// Whether it is indexed even if it is generated or minified.
    pub is_asked_for: bool,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct WalkResult {
    /// In order of path.
    pub files: Vec<DiscoveredFile>,
    /// Files and folders that should have been read but could not be, files too large, and ignore
    /// files that do not count as a whole.
    pub skipped: Vec<SkippedPath>,
    /// What rules about paths leave out.
    pub omitted: OmittedPaths,
    /// Files that are secrets by their names, and private folders, also where nothing is indexed.
    pub private: BTreeSet<String>,
    /// Files among those found of which the content decides whether they are secrets.
    pub doubtful: BTreeSet<String>,
    /// Folders whose files are listed, the root first, by their paths below it.
    pub(super) folders: Vec<PathBuf>,
}

/// Walks `root`, a canonical path. Blocks on the file system; ends early when `cancel` is
/// cancelled.
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
        WalkMode::Files { max_bytes: max_file_bytes, names_all: false },
    )
}

/// Opens a root for its walk, and for reading what that finds.
pub(super) fn open_folder(root: &Path) -> Result<RootDir, IngestError> {
    RootDir::open(root).map_err(|error| map_open_error(root, error))
}

/// Opens a root, which may be a commit.
pub(super) fn open_root(root: &Root) -> Result<RootDir, IngestError> {
    RootDir::open_root(root).map_err(|error| {
        match (&root.revision, beneath::as_object_fault(&error)) {
            (Some(revision), Some(fault)) => IngestError::of_fault(revision, fault, false),
            _ => map_open_error(&root.path, error),
        }
    })
}

fn map_open_error(root: &Path, error: io::Error) -> IngestError {
    let path = root.to_owned();
    // A run may have waited; the walk of a file would find every file of the root gone.
    match error.kind() {
        io::ErrorKind::PermissionDenied => IngestError::Path { path, reason: "cannot be read" },
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            IngestError::Path { path, reason: "is no longer a folder" }
        }
        _ => IngestError::Open { path, source: error },
    }
}

/// Walks an opened root, or the part of it that is in scope.
pub(super) fn walk_root(
    root: &RootDir,
    way: WalkContext<'_>,
    wanted: WalkMode,
) -> Result<WalkResult, IngestError> {
    walk::walk_in_scope(root, way, wanted)
}

/// The ignore files of a root, for paths that may not be there. Each is read once.
pub struct IgnoreFiles {
    root: RootDir,
    /// The rules of folders, by their paths below the root.
    known: RefCell<HashMap<String, IgnoreRules>>,
}

impl IgnoreFiles {
    /// Opens a root.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: RootDir::open(root)?, known: RefCell::default() })
    }

    /// Whether the ignore files on its way leave a path out. Blocks on the file system.
    pub fn is_ignored(&self, path: &str) -> bool {
        let (mut rules, mut folder) = (IgnoreRules::default(), String::new());
        for part in path.split('/') {
            rules = self.load_rules(&folder, &rules);
            let next = if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") };
            // It may have been a file or a folder.
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

/// Whether a file of this name says which files are left out.
pub(super) fn is_ignore_file(name: &str) -> bool {
    ignored::NAMES.contains(&name) || name == attributes::NAME
}

/// Returns the path below the root with `/` between its parts, if it is UTF-8.
pub fn relative_path(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}
