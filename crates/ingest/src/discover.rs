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
    beneath::{self, Beneath},
    private_places::ResolvedPlaces,
};
use tokio_util::sync::CancellationToken;

use self::ignored::{Rules, Verdict};
use super::{error::IngestError, pulse::Pulse, skip::Skipped};

pub(super) use walk::Wanted;
pub(super) use way::Way;

/// A file that may be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
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
pub struct Discovered {
    /// In order of path.
    pub files: Vec<Found>,
    /// Files and folders that should have been read but could not be, files too large, and ignore
    /// files that do not count as a whole.
    pub skipped: Vec<Skipped>,
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
pub fn discover(
    root: &Path,
    max_file_bytes: u64,
    cancel: &CancellationToken,
) -> Result<Discovered, IngestError> {
    let pulse = Pulse::default();
    let private = ResolvedPlaces::default();
    let way = Way { place: root, scope: None, private: &private, cancel, pulse: &pulse };
    within(&open(root)?, way, Wanted::Files { max_bytes: max_file_bytes, names_all: false })
}

/// Opens a root for its walk, and for reading what that finds.
pub(super) fn open(root: &Path) -> Result<Beneath, IngestError> {
    Beneath::open(root).map_err(|error| unopened(root, error))
}

/// Opens a root, which may be a commit.
pub(super) fn open_root(root: &Root) -> Result<Beneath, IngestError> {
    Beneath::of(root).map_err(|error| match (&root.revision, beneath::fault(&error)) {
        (Some(revision), Some(fault)) => IngestError::of_fault(revision, fault, false),
        _ => unopened(&root.path, error),
    })
}

fn unopened(root: &Path, error: io::Error) -> IngestError {
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
pub(super) fn within(
    root: &Beneath,
    way: Way<'_>,
    wanted: Wanted,
) -> Result<Discovered, IngestError> {
    walk::walk(root, way, wanted)
}

/// The ignore files of a root, for paths that may not be there. Each is read once.
pub struct Ignores {
    root: Beneath,
    /// The rules of folders, by their paths below the root.
    known: RefCell<HashMap<String, Rules>>,
}

impl Ignores {
    /// Opens a root.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: Beneath::open(root)?, known: RefCell::default() })
    }

    /// Whether the ignore files on its way leave a path out. Blocks on the file system.
    pub fn has(&self, path: &str) -> bool {
        let (mut rules, mut folder) = (Rules::default(), String::new());
        for part in path.split('/') {
            rules = self.rules(&folder, &rules);
            let next = if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") };
            // It may have been a file or a folder.
            let is_left_out = |is_folder| {
                let verdict = rules.verdict(&next, is_folder);
                matches!(verdict, Verdict::Ignored | Verdict::IgnoredByGit)
            };
            if is_left_out(true) || is_left_out(false) {
                return true;
            }
            folder = next;
        }
        false
    }

    fn rules(&self, folder: &str, above: &Rules) -> Rules {
        let mut known = self.known.borrow_mut();
        if let Some(rules) = known.get(folder) {
            return rules.clone();
        }
        let read = |name: &str| {
            let (file, _) = self.root.file(&Path::new(folder).join(name)).ok()?;
            beneath::read(file, ignored::MAX_BYTES as u64 + 1, || ()).ok()
        };
        let contents = ignored::NAMES.map(read);
        let has_own = contents.iter().any(Option::is_some);
        let rules = if has_own { above.with(folder, &contents).0 } else { above.clone() };
        known.insert(folder.to_owned(), rules.clone());
        rules
    }
}

/// Whether a file of this name says which files are left out.
pub(super) fn is_ignore_file(name: &str) -> bool {
    ignored::NAMES.contains(&name) || name == attributes::NAME
}

/// Returns the path below the root with `/` between its parts, if it is UTF-8.
pub fn below(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}
