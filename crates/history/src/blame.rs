//! Finds the commit in which each line got its present form, as `git blame` does.

use std::{ops::Range, sync::Arc};

use crate::{
    CommitDetails, CommitId, HistoryBudget, HistoryError, HistoryReader, HistoryStop,
    budget::WalkResult,
    commit_object::CommitNode,
    line_diff::{HunkPlacement, LineHunk, shift_range},
    parent_files::{ParentFile, prefer_same, to_path},
    walk::WalkQueue,
};

/// Lines that follow each other and got their present form in one commit.
#[derive(Debug)]
pub struct BlamedLines {
    /// First line, counted from 1.
    pub first: u32,
    pub last: u32,
    pub commit: Arc<CommitDetails>,
    /// Path and number of the first line in that commit.
    pub old_path: String,
    pub old_first: u32,
    /// True if the lines may be older, because a shallow clone was cut at this commit.
    pub may_be_older: bool,
}

/// Lines of a file with their commits, in ascending order.
#[derive(Debug)]
pub struct BlameResult {
    pub lines: Vec<BlamedLines>,
    /// Reason for which some lines are left out or may be older. `None` if all is known.
    pub stop: Option<HistoryStop>,
}

/// Lines that are not assigned to a commit yet, counted from 0.
#[derive(Debug, Clone)]
struct OpenLines {
    path: Arc<[u8]>,
    /// First line in the version that was asked about.
    first: u32,
    /// The lines in the version of the commit.
    range: Range<u32>,
}

#[derive(Default)]
struct BlameWalk {
    queue: WalkQueue<OpenLines>,
    lines: Vec<BlamedLines>,
}

impl HistoryReader {
    /// Finds the commits of the lines `first` to `last`, counted from 1, that a file has in `tip`.
    /// Renames are followed, moved and copied lines are not. Lines beyond the budget are left out.
    pub fn blame_lines(
        &mut self,
        tip: &CommitId,
        path: &str,
        first: u32,
        last: u32,
        budget: &HistoryBudget,
    ) -> Result<BlameResult, HistoryError> {
        self.start_question(budget);
        let range = self.find_lines(tip, path, first, last)?;
        let mut walk = BlameWalk::default();
        let lines = OpenLines { path: path.as_bytes().into(), first: range.start, range };
        walk.queue.push(0, *tip, lines);
        let result = self.walk_blame(&mut walk);
        walk.lines.sort_by_key(|lines| lines.first);
        Ok(BlameResult { lines: walk.lines, stop: self.find_stop(result) })
    }

    fn walk_blame(&mut self, walk: &mut BlameWalk) -> WalkResult {
        while let Some((id, mut open)) = walk.queue.pop() {
            let node = self.visit_commit(&id)?;
            while let Some(first) = open.first() {
                let path = Arc::clone(&first.path);
                let same: Vec<_> = open.extract_if(.., |lines| lines.path == path).collect();
                let own = self.pass_lines(&node, &path, same, &mut walk.queue)?;
                if own.is_empty() {
                    continue;
                }
                let commit = Arc::new(self.read_details(&id)?);
                walk.lines.extend(own.into_iter().map(|lines| BlamedLines {
                    first: lines.first + 1,
                    last: lines.first + (lines.range.end - lines.range.start),
                    commit: Arc::clone(&commit),
                    old_path: to_path(&path),
                    old_first: lines.range.start + 1,
                    may_be_older: node.is_cut,
                }));
            }
        }
        Ok(())
    }

    /// Hands lines to the parents that have them, and returns the rest.
    fn pass_lines(
        &mut self,
        node: &CommitNode,
        path: &Arc<[u8]>,
        mut open: Vec<OpenLines>,
        queue: &mut WalkQueue<OpenLines>,
    ) -> WalkResult<Vec<OpenLines>> {
        let Some(entry) = self.find_entry(&node.tree, path)? else { return Ok(open) };
        let found = self.find_parent_files(node, path, Some(entry), false)?;
        let parents = prefer_same(found, |file| file.entry == Some(entry));
        for parent in parents {
            let Some(old) = parent.entry else { continue };
            let hunks = self.diff_versions(&old, &entry, HunkPlacement::ByIndent)?;
            let mut rest = Vec::new();
            for lines in open {
                split_open(lines, &hunks, &mut rest, |lines| push_open(queue, &parent, lines));
            }
            open = rest;
        }
        Ok(open)
    }
}

fn push_open(queue: &mut WalkQueue<OpenLines>, parent: &ParentFile, lines: OpenLines) {
    let lines = OpenLines { path: Arc::clone(&parent.path), ..lines };
    queue.push(parent.node.seconds, parent.id, lines);
}

/// Splits lines at the hunks: calls `hand` for those that the old version has, and keeps the rest.
fn split_open(
    lines: OpenLines,
    hunks: &[LineHunk],
    rest: &mut Vec<OpenLines>,
    mut hand: impl FnMut(OpenLines),
) {
    let OpenLines { path, first, range } = lines;
    let first_of = |start: u32| first + (start - range.start);
    let mut hand_over = |part: Range<u32>| {
        if let Some(old) = shift_range(part.clone(), hunks) {
            hand(OpenLines { path: Arc::clone(&path), first: first_of(part.start), range: old });
        }
    };
    let mut start = range.start;
    let first_hunk = hunks.partition_point(|hunk| hunk.after.end <= range.start);
    let near = hunks.iter().skip(first_hunk);
    for hunk in near.take_while(|hunk| hunk.after.start < range.end) {
        let changed = hunk.after.start.max(range.start)..hunk.after.end.min(range.end);
        hand_over(start..changed.start);
        start = changed.end;
        // Where lines were only removed, those that remain did not change.
        if !changed.is_empty() {
            let own = first_of(changed.start);
            rest.push(OpenLines { path: Arc::clone(&path), first: own, range: changed });
        }
    }
    hand_over(start..range.end);
}
