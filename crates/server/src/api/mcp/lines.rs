//! Lines of a file as text for models.

use std::fmt::Write;

use codeinfo_core::{FileSummary, LineRange, MAX_TOOL_TEXT_BYTES, plain_line, plain_name};
use codeinfo_search::evidence::{FileLines, IndexedFile, IndexedFileState};
use codeinfo_worktree::decode::TextEncoding;

/// Characters of a path that are shown.
const MAX_PATH_CHARS: usize = 500;
/// Characters of the name of a host that are shown.
const MAX_HOST: usize = 100;
/// Bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 1500;
/// Room for the last line.
const RESERVE: usize = 120;
/// More changed ranges are not named one by one.
const MAX_RANGES: usize = 12;

/// Writes the lines that are not blank, each after its number, under one that says which they are; the last says
/// which are left out. Returns also which are not.
pub(super) fn render_lines(read: &FileLines) -> (String, LineRange) {
    let path = plain_name(&read.file.path, MAX_PATH_CHARS);
    let LineRange { first, last } = read.asked;
    let (encoding, state) = (describe_encoding(read.encoding), describe_state(read));
    let mut text = format!("{path}:{first}-{last} of {}{encoding}{state}\n", read.total);
    let mut next = first;
    for (number, line) in &read.lines {
        let line = line.trim_end();
        let (shown, cut) = line.split_at(line.floor_char_boundary(MAX_LINE_BYTES));
        let more = if cut.is_empty() { "" } else { " ⋯" };
        if text.len() + shown.len() + RESERVE > MAX_TOOL_TEXT_BYTES {
            break;
        }
        if !shown.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{number}|{}{more}", plain_line(shown));
        }
        next = number + 1;
    }
    if next <= last {
        let _ = writeln!(text, "({next}-{last} do not fit: call ReadLines with first {next})");
    }
    (text.trim_end().to_owned(), LineRange { first, last: (next - 1).max(first) })
}

/// Says what a file is written in that is not UTF-8, so that nobody writes it back as that.
fn describe_encoding(encoding: TextEncoding) -> String {
    let mut said = String::new();
    if encoding.name != TextEncoding::UTF_8.name {
        said = format!(", in {}, not UTF-8", encoding.name);
    }
    if encoding.is_lossy {
        said.push_str(", with `\u{fffd}` for what is no text in it");
    }
    said
}

fn describe_state(read: &FileLines) -> String {
    let changed = match &read.state {
        IndexedFileState::Indexed => return String::new(),
        IndexedFileState::Gone => return ", deleted since indexed: as it was".to_owned(),
        IndexedFileState::Unreadable => {
            return ", cannot be read any more: as it was indexed".to_owned();
        }
        IndexedFileState::Elsewhere(host) => {
            let host = plain_name(host, MAX_HOST);
            return format!(", on {host}, where it may have changed: as it was indexed");
        }
        IndexedFileState::Changed(changed) => changed,
    };
    let LineRange { first, last } = read.asked;
    let near = changed.iter().filter(|range| range.first <= last && first <= range.last);
    let near: Vec<String> = near.map(ToString::to_string).collect();
    if near.is_empty() {
        return ", changed since indexed, but not these lines".to_owned();
    }
    let more = if near.len() > MAX_RANGES { ", …" } else { "" };
    let near: Vec<String> = near.into_iter().take(MAX_RANGES).collect();
    format!(", changed since indexed: {} new{more}", near.join(", "))
}

/// Summarizes a file of which these lines were shown; `ranges` are ascending and disjoint.
pub(super) fn summarize_file(file: &IndexedFile, ranges: Vec<LineRange>, best: f64) -> FileSummary {
    FileSummary {
        path: file.path.clone(),
        rel_path: file.rel_path.clone(),
        repo: file.repo.clone(),
        best,
        chunks: u32::try_from(ranges.len()).unwrap_or(u32::MAX),
        lines: ranges.iter().map(|range| range.last - range.first + 1).sum(),
        ranges,
    }
}
