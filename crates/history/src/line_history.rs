//! Finds the commits that changed lines of a file, as `git log -L` does.

use std::{ops::Range, sync::Arc};

use crate::{
    CommitDetails, CommitId, DiffHunk, HistoryBudget, HistoryError, HistoryReader, HistoryStop,
    budget::WalkResult,
    commit_object::CommitNode,
    line_diff::{
        DiffLimits, HunkPlacement, LineHunk, count_lines, is_comparable, render_hunks, shift_range,
        split_lines,
    },
    parent_files::{ParentFile, to_path},
    walk::WalkQueue,
};

const SHOWN: DiffLimits = DiffLimits { context_lines: 0, max_bytes: 16 << 10 };

/// A commit that changed lines.
#[derive(Debug)]
pub struct LineChange {
    /// A merge if the lines differ from those of each parent.
    pub commit: CommitDetails,
    pub path: String,
    /// Path before the commit, if the file was renamed.
    pub old_path: Option<String>,
    /// The differences to the first parent that touch the lines.
    pub hunks: Vec<DiffHunk>,
}

/// Changes of lines, newest first. The last is where they appeared, unless there is a `stop`.
#[derive(Debug)]
pub struct LineHistory {
    pub changes: Vec<LineChange>,
    /// Reason for which earlier changes are not in the list. `None` if it is complete.
    pub stop: Option<HistoryStop>,
}

/// Lines of a file in a commit, counted from 0, in ascending order and apart from each other.
#[derive(Debug, Clone)]
struct FileLines {
    path: Arc<[u8]>,
    ranges: Vec<Range<u32>>,
}

impl HistoryReader {
    /// Finds the commits, from `tip` backwards, that changed the lines `first` to `last`, counted
    /// from 1, that a file has in `tip`.
    pub fn line_history(
        &mut self,
        tip: &CommitId,
        path: &str,
        first: u32,
        last: u32,
        budget: &HistoryBudget,
    ) -> Result<LineHistory, HistoryError> {
        self.start_question(budget);
        let lines = self.find_lines(tip, path, first, last)?;
        let mut changes = Vec::new();
        let result = self.walk_lines(
            tip,
            FileLines { path: path.as_bytes().into(), ranges: vec![lines] },
            &mut changes,
        );
        Ok(LineHistory { changes, stop: self.find_stop(result) })
    }

    /// Returns the lines counted from 0, if the commit has them.
    pub(crate) fn find_lines(
        &mut self,
        tip: &CommitId,
        path: &str,
        first: u32,
        last: u32,
    ) -> Result<Range<u32>, HistoryError> {
        let content = self
            .read_tip_file(tip, path)
            .map_err(|reason| HistoryError::Stopped(HistoryStop { reason, commit: Some(*tip) }))?
            .ok_or_else(|| HistoryError::UnknownPath(path.to_owned()))?;
        if !is_comparable(&content) {
            return Err(HistoryError::NoText(path.to_owned()));
        }
        let lines = count_lines(&split_lines(&content));
        if first == 0 || first > last || last > lines {
            return Err(HistoryError::UnknownLines { path: path.to_owned(), lines });
        }
        Ok(first - 1..last)
    }

    /// Reads the content of a file in a commit. Returns `None` if the commit has no such file.
    pub fn read_file_at(
        &mut self,
        id: &CommitId,
        path: &str,
        budget: &HistoryBudget,
    ) -> Result<Option<Arc<[u8]>>, HistoryError> {
        self.start_question(budget);
        self.read_tip_file(id, path)
            .map_err(|reason| HistoryError::Stopped(HistoryStop { reason, commit: Some(*id) }))
    }

    fn read_tip_file(&mut self, tip: &CommitId, path: &str) -> WalkResult<Option<Arc<[u8]>>> {
        let tree = self.load_commit(tip)?.tree;
        let entry = self.find_entry(&tree, path.as_bytes())?;
        entry.map(|entry| self.read_file(&entry)).transpose()
    }

    fn walk_lines(
        &mut self,
        tip: &CommitId,
        lines: FileLines,
        changes: &mut Vec<LineChange>,
    ) -> WalkResult {
        let mut queue = WalkQueue::default();
        queue.push(self.load_commit(tip)?.seconds, *tip, lines);
        while let Some((id, files)) = queue.pop() {
            let node = self.visit_commit(&id)?;
            for lines in files {
                self.follow_lines(&id, &node, &lines, &mut queue, changes)?;
            }
        }
        Ok(())
    }

    /// Hands lines to the first parent with them, or lists the commit and hands on their origins.
    fn follow_lines(
        &mut self,
        id: &CommitId,
        node: &CommitNode,
        lines: &FileLines,
        queue: &mut WalkQueue<FileLines>,
        changes: &mut Vec<LineChange>,
    ) -> WalkResult {
        let Some(entry) = self.find_entry(&node.tree, &lines.path)? else { return Ok(()) };
        if node.is_cut {
            return Ok(());
        }
        let parents = self.find_parent_files(node, &lines.path, Some(entry), false)?;
        // All of a file that was added differs.
        let all = LineHunk { before: 0..0, after: 0..u32::MAX };
        let mut first_diff = None;
        let mut handed = Vec::new();
        for parent in &parents {
            let hunks = match &parent.entry {
                Some(old) => self.diff_versions(old, &entry, HunkPlacement::Lowest)?,
                None => vec![all.clone()],
            };
            let (touched, before) = map_ranges(&hunks, &lines.ranges);
            if touched.is_empty() {
                push_lines(queue, parent, before);
                return Ok(());
            }
            handed.push((parent, before));
            first_diff.get_or_insert((parent.entry, touched, Arc::clone(&parent.path)));
        }
        self.check_results(changes.len())?;
        if changes.last().is_none_or(|change| change.commit.id != *id) {
            let (old, touched, old_path) =
                first_diff.unwrap_or_else(|| (None, vec![all], Arc::clone(&lines.path)));
            let content = self.read_file(&entry)?;
            let old_content = old.map(|old| self.read_file(&old)).transpose()?.unwrap_or_default();
            let shown = clip_hunks(touched, &lines.ranges);
            changes.push(LineChange {
                commit: self.read_details(id)?,
                path: to_path(&lines.path),
                old_path: (old_path != lines.path).then(|| to_path(&old_path)),
                hunks: render_hunks(&old_content, &content, &shown, &SHOWN),
            });
        }
        for (parent, before) in handed {
            push_lines(queue, parent, before);
        }
        Ok(())
    }
}

fn push_lines(queue: &mut WalkQueue<FileLines>, parent: &ParentFile, ranges: Vec<Range<u32>>) {
    if ranges.is_empty() || parent.entry.is_none() {
        return;
    }
    // Branches that part and join again ask about the same lines.
    if let Some(waiting) = queue.pending_items(&parent.id)
        && let Some(same) = waiting.iter_mut().find(|waiting| waiting.path == parent.path)
    {
        same.ranges.extend(ranges);
        merge_ranges(&mut same.ranges);
        return;
    }
    queue.push(
        parent.node.seconds,
        parent.id,
        FileLines { path: Arc::clone(&parent.path), ranges },
    );
}

/// Returns the hunks that touch new lines, and the old lines that these were or are made of.
fn map_ranges(hunks: &[LineHunk], ranges: &[Range<u32>]) -> (Vec<LineHunk>, Vec<Range<u32>>) {
    let is_touched = |hunk: &&LineHunk| {
        ranges.iter().any(|range| hunk.after.end > range.start && hunk.after.start < range.end)
    };
    let touched: Vec<LineHunk> = hunks.iter().filter(is_touched).cloned().collect();
    let mut before: Vec<Range<u32>> = touched.iter().map(|hunk| hunk.before.clone()).collect();
    for range in ranges {
        let mut start = range.start;
        for hunk in &touched {
            before.extend(shift_range(start..hunk.after.start.min(range.end), hunks));
            start = start.max(hunk.after.end);
        }
        before.extend(shift_range(start..range.end, hunks));
    }
    merge_ranges(&mut before);
    (touched, before)
}

fn merge_ranges(ranges: &mut Vec<Range<u32>>) {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, kept| {
        let is_joined = next.start <= kept.end;
        if is_joined {
            kept.end = kept.end.max(next.end);
        }
        is_joined
    });
}

/// Leaves out added lines that are far from the lines in question.
fn clip_hunks(hunks: Vec<LineHunk>, ranges: &[Range<u32>]) -> Vec<LineHunk> {
    let start = ranges.first().map_or(0, |range| range.start);
    let end = ranges.last().map_or(0, |range| range.end);
    let clip = |hunk: LineHunk| {
        let after = hunk.after.start.max(start)..hunk.after.end.min(end);
        if after.is_empty() { hunk } else { LineHunk { after, ..hunk } }
    };
    hunks.into_iter().map(clip).collect()
}
