//! Explains why files of a folder are not indexed, without an index.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use codeinfo_core::{OmissionRule, OmittedGroup, OmittedPaths};
use codeinfo_worktree::{
    beneath::{self, RootDir},
    git::GitRepository,
    private_places::PrivatePlaces,
};
use tokio_util::sync::CancellationToken;

use super::{
    discover::{self, DiscoveredFile, WalkContext, WalkMode},
    error::IngestError,
    inspect::{self, FileVerdict},
    pulse::IoHeartbeat,
    skip::SkipReason,
};

/// Files of a folder that are not indexed, and why.
#[derive(Debug)]
pub struct FolderExplanation {
    /// True if the files are those that git tracks. Otherwise they are the files on disk, and an
    /// excluded folder counts as one file.
    pub is_tracked: bool,
    /// Number of examined files.
    pub total: usize,
    /// Excluded paths below the folder by rule, each with the number of files it represents.
    ///
    /// An excluded folder ends with `/`. On disk its files are not counted, so it represents one.
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
    let way = WalkContext {
        place: root,
        scope: None,
        private: &resolved,
        cancel: &cancel,
        pulse: &pulse,
    };
    let folder = discover::open_folder(root)?;
    let wanted = WalkMode::Files { max_bytes: max_file_bytes, keeps_all_paths: true };
    let mut discovered = discover::walk_root(&folder, way, wanted)?;
    let mut omitted = std::mem::take(&mut discovered.omitted);
    for skipped in &discovered.skipped {
        if let Some(rule) = skipped.reason.omission_rule() {
            omitted.add_file(rule, &skipped.path);
        }
    }
    let mut indexed = BTreeSet::new();
    for file in discovered.files {
        match rule_of_content(&folder, &file, max_file_bytes) {
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
        None => explain_found(indexed.len(), &omitted),
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

fn explain_found(indexed: usize, found: &OmittedPaths) -> FolderExplanation {
    let paths = |(rule, group): (OmissionRule, &OmittedGroup)| {
        (rule, group.paths.iter().map(|path| (path.clone(), 1)).collect())
    };
    let omitted = found.groups().map(paths).collect();
    let explanation = FolderExplanation { is_tracked: false, total: indexed, omitted };
    FolderExplanation { total: indexed + explanation.count_omitted(), ..explanation }
}

/// Returns the rule that excludes a file because of its content.
fn rule_of_content(
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
    match inspect::inspect_content(&file.path, &content, file.is_asked_for) {
        FileVerdict::Text { .. } => None,
        FileVerdict::LeftOut(rule) => Some(rule),
        FileVerdict::Skipped(reason) => reason.omission_rule(),
    }
}
