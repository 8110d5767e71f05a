//! Compares two texts by lines, as git does, and shows the lines that differ.

use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, InternedInput};

/// Maximum lines of a text that is compared. The comparison takes up to half a second.
const MAX_LINES: usize = 150_000;
/// Bytes at the start of a file in which git looks for NUL, the sign of a binary file.
const BINARY_PREFIX: usize = 8000;
/// Git leaves out equal blocks of this size at the end of both texts.
const TAIL_BLOCK: usize = 1024;
/// Maximum bytes shown of one line.
const MAX_LINE_BYTES: usize = 1000;

/// Lines, counted from 0, of the old text that became lines of the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineHunk {
    pub(crate) before: Range<u32>,
    pub(crate) after: Range<u32>,
}

/// Place of a hunk that fits in several places, such as one of two equal functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HunkPlacement {
    /// As `git log -L` does: as far down as possible.
    Lowest,
    /// As `git blame` and `git diff` do: where the indentation begins and ends.
    ByIndent,
}

/// Limits of the display of a difference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffLimits {
    /// Equal lines before and after those that differ.
    pub(crate) context_lines: u32,
    pub(crate) max_bytes: usize,
}

/// Lines that differ between two versions of a file, with lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// First line of the old version, counted from 1.
    pub old_first: u32,
    pub old_lines: u32,
    /// First line of the new version, counted from 1.
    pub new_first: u32,
    pub new_lines: u32,
    /// Lines that begin with `-`, `+` or a blank, as in a unified diff.
    pub text: String,
    /// True if lines were left out, because there are too many.
    pub is_truncated: bool,
}

pub(crate) fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, content.get(..BINARY_PREFIX).unwrap_or(content)).is_some()
}

pub(crate) fn is_comparable(content: &[u8]) -> bool {
    !is_binary(content) && memchr::memchr_iter(b'\n', content).count() <= MAX_LINES
}

pub(crate) fn split_lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the number of lines. A comparable text has fewer than a `u32` counts.
pub(crate) fn count_lines(lines: &[&[u8]]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}

/// Finds the lines that differ, with Myers' algorithm and the heuristics of git.
pub(crate) fn diff_lines(old: &[u8], new: &[u8], placement: HunkPlacement) -> Vec<LineHunk> {
    let tail = find_common_tail(old, new);
    let [before, after] = [old, new].map(|text| text.get(..text.len() - tail).unwrap_or(text));
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    match placement {
        HunkPlacement::Lowest => diff.postprocess_no_heuristic(&input),
        HunkPlacement::ByIndent => diff.postprocess_lines(&input),
    }
    diff.hunks().map(|hunk| LineHunk { before: hunk.before, after: hunk.after }).collect()
}

/// Returns the bytes of equal whole lines at the end that git does not compare.
fn find_common_tail(old: &[u8], new: &[u8]) -> usize {
    let [mut old_blocks, mut new_blocks] = [old, new].map(|text| text.rchunks_exact(TAIL_BLOCK));
    let equal = std::iter::from_fn(|| (old_blocks.next()? == new_blocks.next()?).then_some(()));
    let common = equal.count() * TAIL_BLOCK;
    let start = old.len() - common;
    let line_end = old.get(start..).and_then(|text| memchr::memchr(b'\n', text));
    common - line_end.map_or(common, |end| end + 1)
}

/// Returns the place in the old version of lines that did not change.
pub(crate) fn shift_range(range: Range<u32>, hunks: &[LineHunk]) -> Option<Range<u32>> {
    let above = hunks.partition_point(|hunk| hunk.after.start <= range.start);
    let last = above.checked_sub(1).and_then(|index| hunks.get(index));
    let (old_end, new_end) = last.map_or((0, 0), |hunk| (hunk.before.end, hunk.after.end));
    let start = range.start.checked_sub(new_end)?.checked_add(old_end)?;
    let length = range.end.checked_sub(range.start).filter(|length| *length > 0)?;
    Some(start..start.checked_add(length)?)
}

/// Renders hunks that are near each other together, up to a limit of bytes.
pub(crate) fn render_hunks(
    old: &[u8],
    new: &[u8],
    hunks: &[LineHunk],
    shown: &DiffLimits,
) -> Vec<DiffHunk> {
    let [old_lines, new_lines] = [old, new].map(split_lines);
    let is_apart =
        |a: &LineHunk, b: &LineHunk| b.after.start > a.after.end + 2 * shown.context_lines;
    let mut rest = shown.max_bytes;
    let mut rendered = Vec::new();
    for group in hunks.chunk_by(|a, b| !is_apart(a, b)) {
        if rest == 0 {
            break;
        }
        if let Some(hunk) =
            render_group(&old_lines, &new_lines, group, &DiffLimits { max_bytes: rest, ..*shown })
        {
            rest = if hunk.is_truncated { 0 } else { rest.saturating_sub(hunk.text.len()) };
            rendered.push(hunk);
        }
    }
    rendered
}

fn render_group(
    old: &[&[u8]],
    new: &[&[u8]],
    group: &[LineHunk],
    shown: &DiffLimits,
) -> Option<DiffHunk> {
    let (first, last) = (group.first()?, group.last()?);
    let lead = shown.context_lines.min(first.after.start).min(first.before.start);
    let after_end = last.after.end.saturating_add(shown.context_lines).min(count_lines(new));
    let trail = after_end - last.after.end;
    let (old_start, new_start) = (first.before.start - lead, first.after.start - lead);
    let mut writer =
        HunkWriter { text: String::new(), max_bytes: shown.max_bytes, is_truncated: false };
    let mut position = new_start;
    for hunk in group {
        writer.write_lines(' ', new, position..hunk.after.start);
        writer.write_lines('-', old, hunk.before.clone());
        writer.write_lines('+', new, hunk.after.clone());
        position = hunk.after.end;
    }
    writer.write_lines(' ', new, position..after_end);
    Some(DiffHunk {
        old_first: old_start + 1,
        old_lines: last.before.end + trail - old_start,
        new_first: new_start + 1,
        new_lines: after_end - new_start,
        text: writer.text,
        is_truncated: writer.is_truncated,
    })
}

struct HunkWriter {
    text: String,
    max_bytes: usize,
    is_truncated: bool,
}

impl HunkWriter {
    fn write_lines(&mut self, sign: char, lines: &[&[u8]], range: Range<u32>) {
        let places = range.start as usize..range.end as usize;
        for line in lines.get(places).unwrap_or_default() {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let shown = text.get(..MAX_LINE_BYTES).unwrap_or(text);
            if self.is_truncated || self.text.len() + shown.len() + 2 > self.max_bytes {
                self.is_truncated = true;
                return;
            }
            self.text.push(sign);
            self.text.push_str(&String::from_utf8_lossy(shown));
            self.text.push('\n');
        }
    }
}
