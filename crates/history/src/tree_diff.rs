//! Compares two folders of a repository with all that is below them.

use std::cmp::Ordering;

use crate::{
    CommitId, HistoryReader, StopReason,
    budget::WalkResult,
    reader::{FileEntry, list_entries},
};

/// Maximum files that differ between two commits; the largest real imports have a quarter of it.
const MAX_CHANGES: usize = 250_000;
/// Maximum depth of folders. Real repositories have a fifth of it.
const MAX_DEPTH: usize = 100;
const MAX_PATH_BYTES: usize = 4096;
/// Maximum bytes of the paths of these files, four times as many as real imports have.
const MAX_ALL_PATH_BYTES: usize = 64 << 20;

/// A file that differs between two folders; `None` where it does not exist.
#[derive(Debug)]
pub(crate) struct TreeChange {
    pub(crate) path: Vec<u8>,
    pub(crate) before: Option<FileEntry>,
    pub(crate) after: Option<FileEntry>,
}

impl HistoryReader {
    /// Lists the files that differ between two folders by path; all files without an old folder.
    pub(crate) fn diff_trees(
        &mut self,
        before: Option<CommitId>,
        after: Option<CommitId>,
    ) -> WalkResult<Vec<TreeChange>> {
        let mut changes = Vec::new();
        let mut room = MAX_ALL_PATH_BYTES;
        self.diff_folders(&mut Vec::new(), [before, after], 0, &mut changes, &mut room)?;
        Ok(changes)
    }

    fn diff_folders(
        &mut self,
        path: &mut Vec<u8>,
        folders: [Option<CommitId>; 2],
        depth: usize,
        changes: &mut Vec<TreeChange>,
        room: &mut usize,
    ) -> WalkResult {
        let [before, after] = folders;
        if before == after {
            return Ok(());
        }
        if depth > MAX_DEPTH || path.len() > MAX_PATH_BYTES {
            return Err(StopReason::TooManyFiles);
        }
        let before_bytes = before.map(|id| self.read_tree(&id)).transpose()?;
        let after_bytes = after.map(|id| self.read_tree(&id)).transpose()?;
        let mut old = sort_entries(before_bytes.as_deref(), before)?.into_iter().peekable();
        let mut new = sort_entries(after_bytes.as_deref(), after)?.into_iter().peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (Some((old_name, _)), Some((new_name, _))) => old_name.cmp(new_name),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let old_entry = if order.is_le() { old.next() } else { None };
            let new_entry = if order.is_ge() { new.next() } else { None };
            let [old_file, new_file] =
                [old_entry, new_entry].map(|found| found.map(|(_, entry)| entry));
            if old_file == new_file {
                continue;
            }
            let parent_length = path.len();
            let name = old_entry.or(new_entry).map_or(b"".as_slice(), |(name, _)| name);
            path.extend_from_slice(if parent_length == 0 { b"" } else { b"/" });
            path.extend_from_slice(name);
            let files = [old_file, new_file].map(|file| file.filter(|entry| !entry.mode.is_tree()));
            if files != [None, None] {
                *room = room.saturating_sub(path.len());
                if changes.len() >= MAX_CHANGES || path.len() > MAX_PATH_BYTES || *room == 0 {
                    return Err(StopReason::TooManyFiles);
                }
                let [before, after] = files;
                changes.push(TreeChange { path: path.clone(), before, after });
            }
            let below = [old_file, new_file]
                .map(|file| file.filter(|entry| entry.mode.is_tree()).map(|entry| entry.id));
            self.diff_folders(path, below, depth + 1, changes, room)?;
            path.truncate(parent_length);
        }
    }
}

/// Returns the entries of a folder by name; git orders folders as if their names ended in `/`.
fn sort_entries(tree: Option<&[u8]>, id: Option<CommitId>) -> WalkResult<Vec<(&[u8], FileEntry)>> {
    let (Some(tree), Some(id)) = (tree, id) else { return Ok(Vec::new()) };
    let mut entries = list_entries(tree, &id).collect::<Result<Vec<_>, _>>()?;
    entries.sort_unstable_by_key(|(name, _)| *name);
    Ok(entries)
}
