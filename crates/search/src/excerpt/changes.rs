//! Renders the changes between two trees as unified diffs.

use std::{collections::BTreeSet, fmt::Write};

use codeinfo_core::{Hit, LineRange, plain_line, plain_name};

use super::{
    super::{DiffHunk, FileDiff, ResultFreshness},
    Excerpt, render, render_left_out_note,
    trim::MARK,
};
use crate::results::summarize_files;

/// Maximum total bytes of hunks, as of the chunks that are shown whole.
const HUNK_BYTES: usize = super::WHOLE_BYTES;
/// Minimum bytes of a hunk that is cut. With less room, only its first line appears.
const MIN_CUT_BYTES: usize = 300;
const MAX_PATH_CHARS: usize = 500;

/// A hunk to show, the indices of its file and of itself, and the ranks of the hits that touch it.
struct ShownHunk {
    file: usize,
    hunk: usize,
    text: String,
    ranks: Vec<usize>,
}

/// Renders in at most `max_bytes` bytes the hunks that hits touch. Files and the room for hunks are
/// in the order of the hits, the hunks of a file in that of their lines.
pub(super) fn render_changes(
    diffs: &[FileDiff],
    hits: &[&Hit],
    freshness: &ResultFreshness,
    last: &str,
    max_bytes: usize,
) -> Excerpt {
    let mut hunks = fill_hunks(diffs, hits);
    loop {
        let ranks: BTreeSet<usize> = hunks.iter().flat_map(|hunk| hunk.ranks.clone()).collect();
        let touching = ranks.iter().filter_map(|rank| hits.get(*rank));
        let shown: Vec<Hit> = touching.map(|hit| (*hit).clone()).collect();
        let left_out = hits.len() - shown.len();
        let end = format!("{}{last}", render_left_out_note(left_out));
        let mut text = join_hunks(diffs, &hunks, hits, freshness);
        text.push_str(end.trim_end());
        if text.len() <= max_bytes || hunks.is_empty() {
            let fitting = super::truncate_text(&text, max_bytes).to_owned();
            return Excerpt {
                text: fitting,
                files: summarize_files(&shown),
                whole: Vec::new(),
                left_out,
            };
        }
        hunks.pop();
    }
}

/// Returns the hunks that hits touch, those of the best hits first.
fn fill_hunks(diffs: &[FileDiff], hits: &[&Hit]) -> Vec<ShownHunk> {
    let mut room = HUNK_BYTES;
    let mut shown: Vec<ShownHunk> = Vec::new();
    for (rank, hit) in hits.iter().enumerate() {
        let own = diffs.iter().enumerate().filter(|(_, diff)| diff.rel_path == hit.rel_path);
        let hunks = own.flat_map(|(file, diff)| {
            diff.hunks.iter().enumerate().map(move |(place, hunk)| (file, diff, place, hunk))
        });
        for (file, _, hunk, content) in
            hunks.filter(|(_, diff, _, hunk)| is_touched(diff, hunk, hit))
        {
            let is_same = |known: &&mut ShownHunk| (known.file, known.hunk) == (file, hunk);
            if let Some(known) = shown.iter_mut().find(is_same) {
                known.ranks.push(rank);
            } else {
                let text = render_hunk(&content.text, room);
                room = room.saturating_sub(text.len());
                shown.push(ShownHunk { file, hunk, text, ranks: vec![rank] });
            }
        }
    }
    shown
}

fn is_touched(diff: &FileDiff, hunk: &DiffHunk, hit: &Hit) -> bool {
    let lines = if hit.only_in == diff.after { hunk.after } else { hunk.before };
    lines.is_some_and(|LineRange { first, last }| hit.start_line <= last && first <= hit.end_line)
}

/// Renders a hunk in about `room` bytes: its first line, and as many others as fit.
fn render_hunk(hunk: &str, room: usize) -> String {
    let mut text = String::new();
    let mut lines = hunk.lines();
    let max_bytes = if hunk.len() <= room || MIN_CUT_BYTES <= room { room } else { 0 };
    for line in lines.by_ref().take(1) {
        push_line(&mut text, line);
    }
    let mut left_out = 0;
    for line in lines {
        if left_out > 0 || text.len() + line.len() > max_bytes {
            left_out += 1;
        } else {
            push_line(&mut text, line);
        }
    }
    if left_out > 0 {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{MARK} {left_out} more lines");
    }
    text
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(plain_line(line).trim_end());
    text.push('\n');
}

/// Joins hunks by file, each below a line with its place and the two lines with its versions.
fn join_hunks(
    diffs: &[FileDiff],
    hunks: &[ShownHunk],
    hits: &[&Hit],
    freshness: &ResultFreshness,
) -> String {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for ShownHunk { file, .. } in hunks {
        let Some(diff) = diffs.get(*file).filter(|_| seen.insert(*file)) else { continue };
        let hit = hits.iter().find(|hit| hit.path == diff.path);
        let notes = hit.map(|hit| render::list_file_notes(hit, freshness)).unwrap_or_default();
        let path = plain_name(&diff.path, MAX_PATH_CHARS);
        let _ = match notes.as_slice() {
            [] => writeln!(text, "{path}"),
            notes => writeln!(text, "{path} ({})", notes.join(", ")),
        };
        text.push_str(&diff.render_header());
        let mut of_file: Vec<&ShownHunk> = hunks.iter().filter(|hunk| hunk.file == *file).collect();
        of_file.sort_by_key(|hunk| hunk.hunk);
        text.extend(of_file.iter().map(|hunk| hunk.text.as_str()));
        text.push('\n');
    }
    text
}
