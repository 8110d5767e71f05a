//! Renders what a change reaches as text for models and people.

use std::fmt::Write;

use codeinfo_core::{FileSummary, MAX_TOOL_TEXT_BYTES, count_things, plain_name};

use super::places::{mark_certainty, summarize_lines};
use crate::{
    ChangeImpact, ChangeKind, ImpactRequest, IndexedFile, ReachingDefinition, SymbolPlace,
    TouchedDefinition,
};

/// Bytes of the text after which no more touched definitions, callers and tests are shown.
const MAX_TOUCHED_BYTES: usize = 4_500;
const MAX_CALLERS_BYTES: usize = 8_000;
const MAX_TESTS_BYTES: usize = 10_800;
const MAX_FILES: usize = 5;
const MAX_PATH_CHARS: usize = 300;
const MAX_NAME_CHARS: usize = 200;
const LAST_LINE: &str = "(calls by names that are made at run time are not seen)";

/// Renders the touched definitions, then callers and tests by their number of steps, then notes
/// about files. Also summarizes the shown files.
pub fn render_impact(impact: &ChangeImpact, request: &ImpactRequest) -> (String, Vec<FileSummary>) {
    let commit: String = impact.commit.chars().take(10).collect();
    let is_id = impact.commit.starts_with(&request.since);
    let since = if is_id {
        commit
    } else {
        format!("{} ({commit})", plain_name(&request.since, MAX_NAME_CHARS))
    };
    let mut text = format!(
        "{} of {} changed since {since}; within {}, {} and {} reach them\n",
        count_things(impact.touched.len() as u64, "definition"),
        plain_name(&impact.repo, MAX_PATH_CHARS),
        count_things(request.depth as u64, "step"),
        count_things(impact.callers.len() as u64, "caller"),
        count_things(impact.tests.len() as u64, "test"),
    );
    let mut shown: Vec<(&IndexedFile, u32)> = Vec::new();
    let touched = impact
        .touched
        .iter()
        .map(|touched| (render_touched(touched), (&touched.place.file, touched.place.line)));
    push_section(&mut text, "", touched.collect(), MAX_TOUCHED_BYTES, &mut shown);
    for (title, reaching, max_bytes) in [
        ("callers, by steps:\n", &impact.callers, MAX_CALLERS_BYTES),
        ("tests, by steps:\n", &impact.tests, MAX_TESTS_BYTES),
    ] {
        let lines = reaching
            .iter()
            .map(|found| (render_reaching(found), (&found.place.file, found.place.line)));
        push_section(&mut text, title, lines.collect(), max_bytes, &mut shown);
    }
    let moved: Vec<String> =
        impact.files.moved.iter().map(|moved| format!("{} to {}", moved.from, moved.to)).collect();
    for (note, paths) in [
        ("moved without a change; importers of the old path are not followed", &moved),
        ("also changed, without a symbol graph", &impact.files.other_files),
        ("changed since indexing, so that callers may be missing", &impact.files.stale_files),
        ("could not be read", &impact.files.unread_files),
    ] {
        push_note(&mut text, note, paths);
    }
    if impact.is_cut {
        text.push_str(
            "(there is more than was compared or followed: too many, or too little time)\n",
        );
    }
    text.push_str(LAST_LINE);
    (text, summarize_lines(shown.into_iter()))
}

fn render_touched(touched: &TouchedDefinition) -> String {
    let (kind, note) = match touched.change {
        ChangeKind::Added => ("added", ""),
        ChangeKind::Changed if touched.place.name.is_empty() => {
            ("changed", " (its importers are not followed)")
        }
        ChangeKind::Changed => ("changed", ""),
        ChangeKind::Deleted => ("deleted", " (where it was)"),
    };
    format!("{kind} {}{note}\n", describe_place(&touched.place))
}

fn render_reaching(found: &ReachingDefinition) -> String {
    let place = describe_place(&found.place);
    if found.depth == 0 {
        return format!("0 {place} (changed)\n");
    }
    let through = plain_name(&found.through, MAX_NAME_CHARS);
    let verb = if found.is_broken { "breaks: uses deleted" } else { "uses" };
    let (depth, line) = (found.depth, found.call_line);
    let mark = mark_certainty(found.certainty);
    format!("{depth} {place} ({verb} {through} in line {line}{mark})\n")
}

/// Writes where a definition is below the root: `path:12-40 Store.open`.
fn describe_place(place: &SymbolPlace) -> String {
    let path = plain_name(&place.file.rel_path, MAX_PATH_CHARS);
    let (first, last) = place.lines;
    let name = if place.name.is_empty() { "top level" } else { &place.name };
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("{path}:{lines} {}", plain_name(name, MAX_NAME_CHARS))
}

/// Adds lines until the text has some bytes, and says how many do not fit.
fn push_section<'a>(
    text: &mut String,
    title: &str,
    lines: Vec<(String, (&'a IndexedFile, u32))>,
    max_bytes: usize,
    shown: &mut Vec<(&'a IndexedFile, u32)>,
) {
    let count = lines.len();
    if count > 0 {
        text.push_str(title);
    }
    for (number, (line, place)) in lines.into_iter().enumerate() {
        if text.len() + line.len() > max_bytes {
            let _ = writeln!(text, "({} more do not fit)", count - number);
            break;
        }
        text.push_str(&line);
        shown.push(place);
    }
}

fn push_note(text: &mut String, note: &str, paths: &[String]) {
    if paths.is_empty() {
        return;
    }
    let named: Vec<String> =
        paths.iter().take(MAX_FILES).map(|path| plain_name(path, MAX_PATH_CHARS)).collect();
    let more = match paths.len().saturating_sub(MAX_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let files = count_things(paths.len() as u64, "file");
    let line = format!("({files} {note}: {}{more})\n", named.join(", "));
    let fits = text.len() + line.len() + 2 * LAST_LINE.len() + 40 <= MAX_TOOL_TEXT_BYTES;
    if fits {
        text.push_str(&line);
    } else {
        let _ = writeln!(text, "({files} {note})");
    }
}
