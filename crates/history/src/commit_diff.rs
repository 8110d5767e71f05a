//! Shows what a commit changed against its first parent, as `git show -M --first-parent` does.

use crate::{
    ChangeKind, CommitDetails, CommitId, DiffHunk, HistoryBudget, HistoryError, HistoryReader,
    HistoryStop, LineCounts, StopReason,
    budget::WalkResult,
    file_history::classify_change,
    line_diff::{DiffLimits, HunkPlacement, diff_lines, render_hunks},
    parent_files::to_path,
    reader::FileEntry,
    renames::{MAX_PAIRS, RenameSource, find_equal},
    tree_diff::TreeChange,
};

const CONTEXT_LINES: u32 = 3;
/// Maximum pairs of an added and a deleted file of which only the ids are compared.
const MAX_EQUAL_PAIRS: usize = 100 * MAX_PAIRS;

/// A file that a commit changed.
#[derive(Debug)]
pub struct ChangedFile {
    pub path: String,
    /// Path before the commit, if the file was renamed.
    pub old_path: Option<String>,
    pub kind: ChangeKind,
    /// `None` if the file is binary or too large, and for files after the budget was used up.
    pub lines: Option<LineCounts>,
}

/// Changes of a commit against its first parent; of a first commit, all its files.
#[derive(Debug)]
pub struct CommitDiff {
    /// A merge has several parents; a revert says so in [`CommitDetails::reverted_commit`].
    pub commit: CommitDetails,
    /// In the order of their paths.
    pub files: Vec<ChangedFile>,
    /// Reason for which files or numbers of lines are missing. `None` if all are known.
    pub stop: Option<HistoryStop>,
}

/// The differences of one file in a commit.
#[derive(Debug)]
pub struct FilePatch {
    pub file: ChangedFile,
    /// Empty if the file cannot be compared by lines.
    pub hunks: Vec<DiffHunk>,
}

struct ChangedVersions {
    path: Vec<u8>,
    old_path: Vec<u8>,
    before: Option<FileEntry>,
    after: Option<FileEntry>,
}

impl HistoryReader {
    /// Lists the files that a commit changed, with the number of lines.
    pub fn commit_diff(
        &mut self,
        id: &CommitId,
        budget: &HistoryBudget,
    ) -> Result<CommitDiff, HistoryError> {
        self.start_question(budget);
        let commit = self.read_details(id).map_err(|reason| stop_error(reason, id))?;
        let mut files = Vec::new();
        let result = self.list_changed_files(id, &mut files);
        Ok(CommitDiff { commit, files, stop: self.find_stop(result) })
    }

    /// Lists the paths that a commit changed, without renames; empty where a clone was cut.
    pub fn list_paths(
        &mut self,
        id: &CommitId,
        budget: &HistoryBudget,
    ) -> Result<Vec<String>, HistoryError> {
        self.start_question(budget);
        let changes = self.diff_parent(id).map_err(|reason| stop_error(reason, id))?;
        Ok(changes.iter().map(|change| to_path(&change.path)).collect())
    }

    /// Shows the lines of a file that a commit changed, up to `max_bytes`.
    pub fn file_patch(
        &mut self,
        id: &CommitId,
        path: &str,
        max_bytes: usize,
        budget: &HistoryBudget,
    ) -> Result<FilePatch, HistoryError> {
        self.start_question(budget);
        let rendered = self.render_patch(id, path, max_bytes);
        rendered
            .map_err(|reason| stop_error(reason, id))?
            .ok_or_else(|| HistoryError::UnknownPath(path.to_owned()))
    }

    fn list_changed_files(&mut self, id: &CommitId, files: &mut Vec<ChangedFile>) -> WalkResult {
        let changes = self.list_versions(id)?;
        files.extend(changes.iter().filter_map(ChangedVersions::to_file));
        for (file, versions) in files.iter_mut().zip(&changes) {
            file.lines = self.count_lines(versions.before, versions.after)?;
        }
        Ok(())
    }

    fn render_patch(
        &mut self,
        id: &CommitId,
        path: &str,
        max_bytes: usize,
    ) -> WalkResult<Option<FilePatch>> {
        let changes = self.list_versions(id)?;
        let versions = changes.into_iter().find(|versions| versions.path == path.as_bytes());
        let Some((versions, mut file)) =
            versions.and_then(|versions| versions.to_file().map(|file| (versions, file)))
        else {
            return Ok(None);
        };
        let Some([old, new]) = self.read_versions(versions.before, versions.after)? else {
            return Ok(Some(FilePatch { file, hunks: Vec::new() }));
        };
        file.lines = self.count_lines(versions.before, versions.after)?;
        let hunks = diff_lines(&old, &new, HunkPlacement::ByIndent);
        let shown = DiffLimits { context_lines: CONTEXT_LINES, max_bytes };
        Ok(Some(FilePatch { file, hunks: render_hunks(&old, &new, &hunks, &shown) }))
    }

    fn diff_parent(&mut self, id: &CommitId) -> WalkResult<Vec<TreeChange>> {
        let node = self.visit_commit(id)?;
        let parent = node.parents.first().map(|parent| self.load_commit(parent)).transpose()?;
        // Where a clone was cut, what the commit changed is not known.
        if node.is_cut {
            return Ok(Vec::new());
        }
        self.diff_trees(parent.map(|parent| parent.tree), Some(node.tree))
    }

    /// Lists the files of a commit that differ from those of its first parent, with their renames.
    fn list_versions(&mut self, id: &CommitId) -> WalkResult<Vec<ChangedVersions>> {
        let changes = self.diff_parent(id)?;
        let mut sources = Vec::new();
        let mut files = Vec::new();
        for TreeChange { path, before, after } in changes {
            match (before, after) {
                (Some(gone), None) => sources.push(RenameSource::new(path, gone, true)),
                _ => files.push(ChangedVersions { old_path: path.clone(), path, before, after }),
            }
        }
        self.match_renames(&mut sources, &mut files)?;
        let gone = sources.into_iter().filter(|source| !source.is_used);
        files.extend(gone.map(|source| ChangedVersions {
            path: source.path.clone(),
            old_path: source.path,
            before: Some(source.entry),
            after: None,
        }));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Finds the sources of added files, first those of equal content.
    fn match_renames(
        &mut self,
        sources: &mut [RenameSource],
        files: &mut [ChangedVersions],
    ) -> WalkResult {
        for is_exact in [true, false] {
            let added = files.iter_mut().filter(|file| file.before.is_none());
            let open: Vec<_> =
                added.filter_map(|file| file.after.map(|entry| (file, entry))).collect();
            let unused = sources.iter().filter(|source| !source.is_used).count();
            let max_pairs = if is_exact { MAX_EQUAL_PAIRS } else { MAX_PAIRS };
            if open.len().saturating_mul(unused) > max_pairs {
                return Ok(());
            }
            for (file, entry) in open {
                let index = if is_exact {
                    find_equal(sources, &file.path, &entry)
                } else {
                    self.find_similar(sources, &file.path, &entry)?
                };
                if let Some(source) = index.and_then(|index| sources.get_mut(index)) {
                    source.is_used = true;
                    file.old_path.clone_from(&source.path);
                    file.before = Some(source.entry);
                }
            }
        }
        Ok(())
    }
}

impl ChangedVersions {
    fn to_file(&self) -> Option<ChangedFile> {
        let kind = classify_change((&self.path, self.after), (&self.old_path, self.before))?;
        let old_path = (self.old_path != self.path).then(|| to_path(&self.old_path));
        Some(ChangedFile { path: to_path(&self.path), old_path, kind, lines: None })
    }
}

pub(crate) fn stop_error(reason: StopReason, id: &CommitId) -> HistoryError {
    HistoryError::Stopped(HistoryStop { reason, commit: Some(*id) })
}
