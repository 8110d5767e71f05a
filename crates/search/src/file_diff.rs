//! Compares two versions of a file and keeps the changes that match a query, as a unified diff.

use std::{fmt::Write, ops::Range, time::Instant};

use codeinfo_core::{ChunkRecord, LineRange, plain_name};
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

const CONTEXT_LINES: usize = 3;
/// Maximum lines of a change that one matching chunk brings in as a whole. From a longer change,
/// such as a new file, only the matching chunks appear.
const MAX_WHOLE_CHANGE: usize = 60;
const MAX_LINE_BYTES: usize = 1_000;
/// Maximum characters of a path, a tree and a symbol.
const MAX_NAME_CHARS: usize = 500;

/// Maximum differing files that are named in one line.
const MAX_NAMED: usize = 8;

/// Unified diff of a file that differs between two trees, without the changes that do not match
/// the query. Field names are a wire promise of `POST /tools/vector-search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Path below the root.
    pub rel_path: String,
    /// Absolute path as the client sees it, in the second tree or else in the first.
    pub path: String,
    /// Name of the first tree; `None` if it lacks the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Name of the second tree; `None` if it lacks the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Changes in the order of their lines.
    pub hunks: Vec<DiffHunk>,
}

/// One change, or several that are near each other, with the unchanged lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffHunk {
    /// Lines of the first tree; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<LineRange>,
    /// Lines of the second tree; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<LineRange>,
    /// The line that begins with `@@` and names the definition, then the lines of the file. Each
    /// begins with a space, `-` or `+`, and is cut if it is long.
    pub text: String,
}

/// Differing files without a change that matches the query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmatchedFiles {
    /// Number of the files.
    pub count: usize,
    /// Paths below the root of the first ones, ordered by path.
    pub paths: Vec<String>,
}

/// A version of a file; without lines if the tree lacks the file.
#[derive(Debug)]
pub(super) struct FileVersion<'a> {
    lines: Vec<&'a str>,
    chunks: &'a [ChunkRecord],
}

/// Lines of each version that match a query, ascending and disjoint.
#[derive(Debug, Default)]
pub(super) struct MatchedLines {
    pub(super) before: Vec<LineRange>,
    pub(super) after: Vec<LineRange>,
}

/// Two versions of a file and all their changes, in order.
#[derive(Debug)]
pub(super) struct FileComparison<'a> {
    before: FileVersion<'a>,
    after: FileVersion<'a>,
    changes: Vec<LineSpan>,
}

/// Lines counted from 0 that differ, or that a hunk covers, in each version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineSpan {
    before: Range<usize>,
    after: Range<usize>,
}

/// Changes with their context, which is contiguous in each version.
struct HunkSpan {
    whole: LineSpan,
    changes: Vec<LineSpan>,
}

impl FileDiff {
    /// Returns the two lines that name the file: `path@tree`, or `/dev/null` if the tree lacks it.
    pub fn render_header(&self) -> String {
        let name = |tree: &Option<String>| match tree {
            Some(tree) => {
                let path = plain_name(&self.rel_path, MAX_NAME_CHARS);
                format!("{path}@{}", plain_name(tree, MAX_NAME_CHARS))
            }
            None => "/dev/null".to_owned(),
        };
        format!("--- {}\n+++ {}\n", name(&self.before), name(&self.after))
    }

    /// Returns the lines of the unified diff.
    pub fn list_lines(&self) -> Vec<String> {
        let header = self.render_header();
        let hunks = self.hunks.iter().map(|hunk| hunk.text.as_str());
        let texts = [header.as_str()].into_iter().chain(hunks);
        texts.flat_map(str::lines).map(str::to_owned).collect()
    }
}

impl UnmatchedFiles {
    /// Returns one line that names the first files and counts the others.
    pub fn describe_files(&self) -> String {
        let named = self.paths.iter().take(MAX_NAMED);
        let rest = match self.count.saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed: Vec<String> = named.map(|path| plain_name(path, MAX_NAME_CHARS)).collect();
        format!("also differ, but do not fit: {}{rest}", listed.join(", "))
    }
}

impl<'a> FileVersion<'a> {
    pub(super) fn new(text: &'a str, chunks: &'a [ChunkRecord]) -> Self {
        Self { lines: text.lines().map(str::trim_end).collect(), chunks }
    }

    /// Returns the symbol of the first chunk with a line of the range.
    fn find_symbol(&self, range: &Range<usize>) -> Option<&'a str> {
        let mut chunks = self.chunks.iter().filter(|chunk| {
            to_index(chunk.start_line) <= range.end && range.start < to_index(chunk.end_line)
        });
        chunks.find_map(|chunk| chunk.symbol.as_deref())
    }

    fn is_blank(&self, range: &Range<usize>) -> bool {
        self.slice_lines(range).iter().all(|line| line.is_empty())
    }

    fn slice_lines(&self, range: &Range<usize>) -> &[&'a str] {
        self.lines.get(range.clone()).unwrap_or_default()
    }
}

impl<'a> FileComparison<'a> {
    /// Compares two versions of a file. White space at line ends is no difference. After
    /// `deadline`, the diff is correct but not the shortest one.
    pub(super) fn new(
        before: FileVersion<'a>,
        after: FileVersion<'a>,
        deadline: Instant,
    ) -> FileComparison<'a> {
        let (old, new) = (&before.lines, &after.lines);
        let parts = capture_diff_slices_deadline(Algorithm::Patience, old, new, Some(deadline));
        let mut changes = Vec::new();
        let mut next = (0, 0);
        let end = [(old.len()..old.len(), new.len()..new.len())];
        let equal = parts.iter().filter(|part| part.tag() == DiffTag::Equal);
        let same = equal.map(|part| (part.old_range(), part.new_range()));
        for (old_range, new_range) in same.chain(end) {
            let change =
                LineSpan { before: next.0..old_range.start, after: next.1..new_range.start };
            next = (old_range.end, new_range.end);
            changes.push(change);
        }
        changes.retain(|change| change.start_lines() != change.end_lines());
        Self { before, after, changes }
    }

    /// Returns true if a non-blank line changed within lines of the second or the first version.
    pub(super) fn is_changed(&self, lines: LineRange, is_after: bool) -> bool {
        self.changes.iter().any(|change| {
            let range = if is_after { &change.after } else { &change.before };
            touches_lines(range, lines) && !self.is_blank(change)
        })
    }

    /// Returns the changes that matching lines touch, without changes of blank lines.
    pub(super) fn find_hunks(&self, matched: &MatchedLines) -> Vec<DiffHunk> {
        let mut hunks: Vec<HunkSpan> = Vec::new();
        for (place, change) in self.changes.iter().enumerate() {
            let previous = place.checked_sub(1).and_then(|place| self.changes.get(place));
            let previous_end = previous.map_or(0, |previous| previous.before.end);
            let next = self.changes.get(place + 1);
            let next_start = next.map_or(self.before.lines.len(), |next| next.before.start);
            for part in self.select_parts(change, matched) {
                let is_first = part.start_lines() == change.start_lines();
                let is_last = part.end_lines() == change.end_lines();
                let lead = if is_first { part.before.start - previous_end } else { 0 };
                let trail = if is_last { next_start - part.before.end } else { 0 };
                let whole = part.widen_context(lead.min(CONTEXT_LINES), trail.min(CONTEXT_LINES));
                match hunks.last_mut() {
                    Some(hunk) if hunk.whole.reaches_span(&whole) => {
                        hunk.whole.before.end = whole.before.end;
                        hunk.whole.after.end = whole.after.end;
                        hunk.changes.push(part);
                    }
                    _ => hunks.push(HunkSpan { whole, changes: vec![part] }),
                }
            }
        }
        hunks.iter().map(|hunk| hunk.render_hunk(&self.before, &self.after)).collect()
    }

    fn is_blank(&self, change: &LineSpan) -> bool {
        self.before.is_blank(&change.before) && self.after.is_blank(&change.after)
    }

    /// Returns the parts of a change to keep, in order; none if it does not match.
    fn select_parts(&self, change: &LineSpan, matched: &MatchedLines) -> Vec<LineSpan> {
        let LineSpan { before: removed, after: added } = change;
        let is_matched = matched.before.iter().any(|lines| touches_lines(removed, *lines))
            || matched.after.iter().any(|lines| touches_lines(added, *lines));
        if !is_matched || self.is_blank(change) {
            return Vec::new();
        }
        if removed.len() + added.len() <= MAX_WHOLE_CHANGE {
            return vec![change.clone()];
        }
        let removals = intersect_lines(removed, &matched.before)
            .map(|before| LineSpan { before, after: added.start..added.start });
        let additions = intersect_lines(added, &matched.after)
            .map(|after| LineSpan { before: removed.end..removed.end, after });
        let mut parts: Vec<LineSpan> = removals.chain(additions).collect();
        if parts.is_empty() {
            // A chunk from which many lines were removed, or to which many were added.
            let cut =
                |range: &Range<usize>| range.start..range.end.min(range.start + MAX_WHOLE_CHANGE);
            parts.push(LineSpan { before: cut(removed), after: cut(added) });
        }
        parts
    }
}

/// Returns true if a line of the range is among `lines`, or if it is empty and between two of them.
fn touches_lines(range: &Range<usize>, lines: LineRange) -> bool {
    let (first, end) = (to_index(lines.first).saturating_sub(1), to_index(lines.last));
    if range.is_empty() {
        return first < range.start && range.start < end;
    }
    range.start < end && first < range.end
}

fn intersect_lines(
    range: &Range<usize>,
    lines: &[LineRange],
) -> impl Iterator<Item = Range<usize>> {
    let parts = lines.iter().map(|lines| {
        let first = to_index(lines.first).saturating_sub(1).max(range.start);
        first..to_index(lines.last).min(range.end)
    });
    parts.filter(|part| !part.is_empty())
}

impl LineSpan {
    fn start_lines(&self) -> (usize, usize) {
        (self.before.start, self.after.start)
    }

    fn end_lines(&self) -> (usize, usize) {
        (self.before.end, self.after.end)
    }

    fn widen_context(&self, lead: usize, trail: usize) -> Self {
        let widen = |range: &Range<usize>| range.start - lead..range.end + trail;
        Self { before: widen(&self.before), after: widen(&self.after) }
    }

    /// Returns true if no line of either version is between this span and a later one.
    fn reaches_span(&self, next: &Self) -> bool {
        next.before.start <= self.before.end && next.after.start <= self.after.end
    }
}

impl HunkSpan {
    fn render_hunk(&self, before: &FileVersion<'_>, after: &FileVersion<'_>) -> DiffHunk {
        let LineSpan { before: removed, after: added } = &self.whole;
        let mut text = format!("@@ -{} +{} @@", count_lines(removed), count_lines(added));
        let mut symbols = self.changes.iter().filter_map(|change| {
            let added = Some(&change.after).filter(|range| !range.is_empty());
            let removed = Some(&change.before).filter(|range| !range.is_empty());
            let added_to = added.and_then(|range| after.find_symbol(range));
            added_to.or_else(|| removed.and_then(|range| before.find_symbol(range)))
        });
        push_symbol(&mut text, symbols.next());
        let mut next = added.start;
        for change in &self.changes {
            push_lines(&mut text, ' ', after.slice_lines(&(next..change.after.start)));
            push_lines(&mut text, '-', before.slice_lines(&change.before));
            push_lines(&mut text, '+', after.slice_lines(&change.after));
            next = change.after.end;
        }
        push_lines(&mut text, ' ', after.slice_lines(&(next..added.end)));
        DiffHunk { before: to_line_range(removed), after: to_line_range(added), text }
    }
}

/// Returns a range for a hunk's head: its first line, or the one before if empty, and its length.
fn count_lines(range: &Range<usize>) -> String {
    format!("{},{}", range.start + usize::from(!range.is_empty()), range.len())
}

fn push_symbol(text: &mut String, symbol: Option<&str>) {
    if let Some(symbol) = symbol {
        // Writing to a `String` cannot fail.
        let _ = write!(text, " {}", plain_name(symbol, MAX_NAME_CHARS));
    }
    text.push('\n');
}

fn push_lines(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        let (shown, cut) = line.split_at(line.floor_char_boundary(MAX_LINE_BYTES));
        text.push(sign);
        text.push_str(shown);
        text.push_str(if cut.is_empty() { "\n" } else { " ⋯\n" });
    }
}

fn to_line_range(range: &Range<usize>) -> Option<LineRange> {
    let to_number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let lines = LineRange { first: to_number(range.start + 1), last: to_number(range.end) };
    (!range.is_empty()).then_some(lines)
}

fn to_index(line: u32) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
