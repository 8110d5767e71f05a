//! Finds a file of a commit in its parents, and reads both versions.

use std::sync::Arc;

use crate::{
    CommitId, HistoryReader,
    budget::{StopReason, WalkResult},
    commit_object::CommitNode,
    line_diff::{HunkPlacement, LineHunk, diff_lines, is_comparable},
    reader::FileEntry,
};

pub(crate) struct ParentFile {
    pub(crate) id: CommitId,
    pub(crate) node: Arc<CommitNode>,
    pub(crate) path: Arc<[u8]>,
    /// `None` if the commit added the file.
    pub(crate) entry: Option<FileEntry>,
    /// True if the file was found by its content, and remains.
    pub(crate) is_copied: bool,
}

impl HistoryReader {
    /// Finds a file in the parents of a commit, up to the first with the same file. If none has it,
    /// its content is searched for in parents that lack its path, and, `with_copies` and a single
    /// parent, also in files that the commit keeps.
    pub(crate) fn find_parent_files(
        &mut self,
        node: &CommitNode,
        path: &Arc<[u8]>,
        entry: Option<FileEntry>,
        with_copies: bool,
    ) -> WalkResult<Vec<ParentFile>> {
        let mut files: Vec<ParentFile> = Vec::new();
        for id in &node.parents {
            let parent = self.load_commit(id)?;
            let is_same = parent.tree == node.tree;
            let old = if is_same { entry } else { self.find_entry(&parent.tree, path)? };
            let path = Arc::clone(path);
            files.push(ParentFile { id: *id, node: parent, path, entry: old, is_copied: false });
            if old == entry {
                return Ok(files);
            }
        }
        let Some(entry) = entry else { return Ok(files) };
        let is_only = files.len() == 1;
        for file in files.iter_mut().filter(|file| file.entry.is_none()) {
            let trees = [file.node.tree, node.tree];
            if let Some(source) = self.find_old_path(path, &entry, trees, with_copies && is_only)? {
                file.entry = Some(source.entry);
                file.path = source.path.into();
                file.is_copied = !source.is_deleted;
            }
        }
        Ok(files)
    }

    pub(crate) fn diff_versions(
        &mut self,
        before: &FileEntry,
        after: &FileEntry,
        placement: HunkPlacement,
    ) -> WalkResult<Vec<LineHunk>> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let [old, new] = [self.read_file(before)?, self.read_file(after)?];
        let can_compare = is_comparable(&old) && is_comparable(&new);
        if can_compare {
            Ok(diff_lines(&old, &new, placement))
        } else {
            Err(StopReason::TooLarge(before.id))
        }
    }

    /// Reads two versions of a file, empty if it does not exist; `None` if they cannot be compared.
    pub(crate) fn read_versions(
        &mut self,
        before: Option<FileEntry>,
        after: Option<FileEntry>,
    ) -> WalkResult<Option<[Arc<[u8]>; 2]>> {
        let mut versions = [Arc::from([]), Arc::from([])];
        for (version, entry) in versions.iter_mut().zip([before, after]) {
            let Some(entry) = entry else { continue };
            match self.read_file(&entry) {
                Ok(content) if is_comparable(&content) => *version = content,
                Ok(_) | Err(StopReason::TooLarge(_) | StopReason::Missing(_)) => return Ok(None),
                Err(reason) => return Err(reason),
            }
        }
        Ok(Some(versions))
    }
}

/// Leaves only the first parent of which `has_same` is true, if there is one.
pub(crate) fn prefer_same(
    files: Vec<ParentFile>,
    has_same: impl FnMut(&ParentFile) -> bool,
) -> Vec<ParentFile> {
    match files.iter().position(has_same) {
        Some(index) => files.into_iter().skip(index).take(1).collect(),
        None => files,
    }
}

pub(crate) fn to_path(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
