//! Renders evidence as text for models, within the limit of a tool's text.

mod history;
mod impact;
mod outline;
mod places;
mod relations;
mod uses;

pub use history::{render_commits, render_history};
pub use impact::render_impact;
pub use outline::render_outline;
pub use relations::{render_caller_changes, render_neighbours, render_relations, render_trace};
pub use uses::{render_matches, render_uses};

use std::fmt::Write;

use codeinfo_core::{FileSummary, LineRange, MAX_TOOL_TEXT_BYTES, plain_line, plain_name};
use codeinfo_worktree::decode::TextEncoding;

use crate::{FileLines, IndexedFile, IndexedFileState};

const MAX_PATH_CHARS: usize = 500;
const MAX_HOST: usize = 100;
const MAX_LINE_BYTES: usize = 1500;
const RESERVE: usize = 120;
/// Maximum number of changed ranges that are listed.
const MAX_RANGES: usize = 12;

/// Renders the lines that are not blank, each after its number, below a header with their range.
/// The last line says which ones do not fit. Also returns the shown range.
pub fn render_lines(read: &FileLines) -> (String, LineRange) {
    let path = plain_name(&read.file.path, MAX_PATH_CHARS);
    let LineRange { first, last } = read.asked;
    let encoding = describe_encoding(read.encoding);
    let state = describe_state(read);
    let mut text = format!("{path}:{first}-{last} of {}{encoding}{state}\n", read.total);
    let mut next = first;
    for (number, line) in &read.lines {
        let trimmed = line.trim_end();
        let (shown, cut) = trimmed.split_at(trimmed.floor_char_boundary(MAX_LINE_BYTES));
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

/// Describes an encoding other than UTF-8, so that a model does not write the file back as UTF-8.
fn describe_encoding(encoding: TextEncoding) -> String {
    let mut text = String::new();
    if encoding.name != TextEncoding::UTF_8.name {
        text = format!(", in {}, not UTF-8", encoding.name);
    }
    if encoding.is_lossy {
        text.push_str(", with `\u{fffd}` for what is no text in it");
    }
    text
}

fn describe_state(read: &FileLines) -> String {
    let changed = match &read.state {
        IndexedFileState::Indexed | IndexedFileState::Committed => return String::new(),
        IndexedFileState::Deleted => return ", deleted since indexed: as it was".to_owned(),
        IndexedFileState::Unreadable => {
            return ", cannot be read any more: as it was indexed".to_owned();
        }
        IndexedFileState::OnOtherHost(host) => {
            let host = plain_name(host, MAX_HOST);
            return format!(", on {host}, where it may have changed: as it was indexed");
        }
        IndexedFileState::Changed(changed) => changed,
    };
    let LineRange { first, last } = read.asked;
    let near: Vec<String> = changed
        .iter()
        .filter(|range| range.first <= last && first <= range.last)
        .map(ToString::to_string)
        .collect();
    if near.is_empty() {
        return ", changed since indexed, but not these lines".to_owned();
    }
    let more = if near.len() > MAX_RANGES { ", …" } else { "" };
    let listed: Vec<String> = near.into_iter().take(MAX_RANGES).collect();
    format!(", changed since indexed: {} new{more}", listed.join(", "))
}

/// Summarizes a file whose `ranges` were shown. They must be ascending and disjoint.
pub fn summarize_file(file: &IndexedFile, ranges: Vec<LineRange>, best: f64) -> FileSummary {
    FileSummary {
        path: file.path.clone(),
        rel_path: file.rel_path.clone(),
        repo: file.repo.clone(),
        best,
        chunks: u32::try_from(ranges.len()).unwrap_or(u32::MAX),
        lines: ranges.iter().map(|range| range.line_count()).sum(),
        ranges,
    }
}
