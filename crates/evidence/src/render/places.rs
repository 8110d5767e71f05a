//! Renders names, places and the repositories that were searched.

use std::time::Duration;

use codeinfo_core::{FileSummary, LineRange, merge_ranges, plain_name};

use super::summarize_file;
use crate::{Certainty, IndexedFile, SearchedRepository, SymbolPlace};

const MAX_PATH_CHARS: usize = 500;
const MAX_NAME_CHARS: usize = 100;
/// Maximum characters of a qualified name.
const MAX_SYMBOL_CHARS: usize = 200;
/// Maximum number of repositories that are named.
const MAX_NAMED: usize = 8;
/// Maximum number of files in a summary, as many as a search may find.
const MAX_SUMMARY_FILES: usize = 20;
/// `match` of files in a summary. All contain the name; nothing measures how well they fit.
const MATCH: f64 = 0.5;

/// Groups lines by file, in the order of each file's first line.
pub(super) fn summarize_lines<'a>(
    lines: impl Iterator<Item = (&'a IndexedFile, u32)>,
) -> Vec<FileSummary> {
    let mut files: Vec<(&IndexedFile, Vec<LineRange>)> = Vec::new();
    for (file, line) in lines {
        let range = LineRange { first: line, last: line };
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, ranges)) => ranges.push(range),
            None => files.push((file, vec![range])),
        }
    }
    let summarized = files.into_iter().take(MAX_SUMMARY_FILES);
    summarized.map(|(file, ranges)| summarize_file(file, merge_ranges(ranges), MATCH)).collect()
}

/// Describes what was searched, how old that is, and the repositories whose folder is `gone`.
pub(super) fn describe_searched(
    what: &str,
    searched: &[SearchedRepository],
    gone: &[String],
) -> String {
    let describe = |repository: &SearchedRepository| {
        let age = repository.age.map(|age| format!(" {} old", format_age(age))).unwrap_or_default();
        format!("{}{age}", plain_name(&repository.name, MAX_NAME_CHARS))
    };
    let repositories: Vec<String> = searched.iter().take(MAX_NAMED).map(describe).collect();
    let more = match searched.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let gone_repositories: Vec<String> =
        gone.iter().take(MAX_NAMED).map(|name| plain_name(name, MAX_NAME_CHARS)).collect();
    let left_out = match gone_repositories.as_slice() {
        [] => String::new(),
        names => format!("; not {}, whose folder is gone", names.join(", ")),
    };
    format!("({what} of the index: {}{more}{left_out})", repositories.join(", "))
}

fn format_age(age: Duration) -> String {
    match age.as_secs() / 60 {
        0 => "less than a minute".to_owned(),
        minutes @ 1..120 => format!("{minutes} min"),
        minutes @ 120..2880 => format!("{} hours", minutes / 60),
        minutes => format!("{} days", minutes / 1440),
    }
}

pub(super) fn quote_name(name: &str) -> String {
    format!("\"{}\"", plain_name(name, MAX_NAME_CHARS))
}

/// Writes where a definition is: `path:12-40 Store.open`.
pub(super) fn describe_place(place: &SymbolPlace) -> String {
    let path = plain_name(&place.file.path, MAX_PATH_CHARS);
    let (first, last) = place.lines;
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("{path}:{lines} {}", plain_name(&place.name, MAX_SYMBOL_CHARS))
}

/// Writes what is added to a relation that is not certain.
pub(super) fn mark_certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Certain => "",
        Certainty::Likely => ", likely",
        Certainty::Possible => ", possible",
    }
}
