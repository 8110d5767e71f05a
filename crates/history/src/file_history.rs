//! Finds the commits that changed a file, through renames, as `git log --follow` does.

use std::{collections::HashSet, sync::Arc};

use crate::{
    CommitDetails, CommitId, HistoryBudget, HistoryError, HistoryReader, HistoryStop,
    budget::WalkResult,
    line_diff::{HunkPlacement, diff_lines},
    parent_files::{prefer_same, to_path},
    reader::FileEntry,
    walk::WalkQueue,
};

/// Kinds of changes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Modified,
    /// The file had another path, and possibly another content.
    Renamed,
    /// The file was made of another one, which remained.
    Copied,
    Deleted,
    /// A file became a link or a submodule, or the reverse.
    TypeChanged,
}

/// Number of lines that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    pub added: u32,
    pub removed: u32,
}

/// A commit that changed a file.
#[derive(Debug)]
pub struct FileChange {
    pub commit: CommitDetails,
    pub path: String,
    /// Path before the commit, if the file was renamed or copied.
    pub old_path: Option<String>,
    pub kind: ChangeKind,
    /// `None` if the file is binary, too large, or not in the repository.
    pub lines: Option<LineCounts>,
}

/// Changes of a file, newest first.
#[derive(Debug)]
pub struct FileHistory {
    pub changes: Vec<FileChange>,
    /// Reason for which earlier changes are not in the list. `None` if it is complete.
    pub stop: Option<HistoryStop>,
}

#[derive(Default)]
struct FileWalk {
    queue: WalkQueue<Arc<[u8]>>,
    seen: HashSet<(CommitId, Arc<[u8]>)>,
    changes: Vec<FileChange>,
}

impl HistoryReader {
    /// Finds the commits from `tip` backwards that changed a file, not merges but those they bring.
    pub fn file_history(
        &mut self,
        tip: &CommitId,
        path: &str,
        budget: &HistoryBudget,
    ) -> Result<FileHistory, HistoryError> {
        self.start_question(budget);
        let mut walk = FileWalk::default();
        let result = self.walk_file(tip, path.as_bytes(), &mut walk);
        let stop = self.find_stop(result);
        if walk.changes.is_empty() && stop.is_none() {
            return Err(HistoryError::UnknownPath(path.to_owned()));
        }
        Ok(FileHistory { changes: walk.changes, stop })
    }

    fn walk_file(&mut self, tip: &CommitId, path: &[u8], walk: &mut FileWalk) -> WalkResult {
        walk.queue.push(0, *tip, path.into());
        while let Some((id, paths)) = walk.queue.pop() {
            let node = self.visit_commit(&id)?;
            for path in paths {
                let entry = self.find_entry(&node.tree, &path)?;
                let parents = self.find_parent_files(&node, &path, entry, true)?;
                let parents = prefer_same(parents, |file| file.entry == entry && file.path == path);
                match (parents.as_slice(), node.parents.len()) {
                    ([], _) if !node.is_cut => {
                        self.add_change(&id, (&path, entry), (&path, None), None, walk)?;
                    }
                    ([old], 1) if old.entry != entry || old.path != path => {
                        let copied = old.is_copied.then_some(ChangeKind::Copied);
                        self.add_change(&id, (&path, entry), (&old.path, old.entry), copied, walk)?;
                    }
                    _ => {}
                }
                for parent in parents {
                    if walk.seen.insert((parent.id, Arc::clone(&parent.path))) {
                        walk.queue.push(parent.node.seconds, parent.id, parent.path);
                    }
                }
            }
        }
        Ok(())
    }

    fn add_change(
        &mut self,
        id: &CommitId,
        new: (&[u8], Option<FileEntry>),
        old: (&[u8], Option<FileEntry>),
        known: Option<ChangeKind>,
        walk: &mut FileWalk,
    ) -> WalkResult {
        let ((path, after), (old_path, before)) = (new, old);
        let Some(kind) = known.or_else(|| classify_change(new, old)) else { return Ok(()) };
        self.check_results(walk.changes.len())?;
        walk.changes.push(FileChange {
            commit: self.read_details(id)?,
            path: to_path(path),
            old_path: (old_path != path).then(|| to_path(old_path)),
            kind,
            lines: self.count_lines(before, after)?,
        });
        Ok(())
    }

    /// Counts the lines that differ. Returns `None` for files that cannot be compared.
    pub(crate) fn count_lines(
        &mut self,
        before: Option<FileEntry>,
        after: Option<FileEntry>,
    ) -> WalkResult<Option<LineCounts>> {
        let Some([old, new]) = self.read_versions(before, after)? else { return Ok(None) };
        let mut counts = LineCounts::default();
        for hunk in diff_lines(&old, &new, HunkPlacement::Lowest) {
            counts.added += hunk.after.end - hunk.after.start;
            counts.removed += hunk.before.end - hunk.before.start;
        }
        Ok(Some(counts))
    }
}

/// Returns how a file changed, except if it was copied; `None` if it exists in neither version.
pub(crate) fn classify_change(
    new: (&[u8], Option<FileEntry>),
    old: (&[u8], Option<FileEntry>),
) -> Option<ChangeKind> {
    Some(match (old.1, new.1) {
        (None, None) => return None,
        (None, Some(_)) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(_), Some(_)) if old.0 != new.0 => ChangeKind::Renamed,
        (Some(before), Some(after)) if before.mode.is_blob() != after.mode.is_blob() => {
            ChangeKind::TypeChanged
        }
        (Some(_), Some(_)) => ChangeKind::Modified,
    })
}
