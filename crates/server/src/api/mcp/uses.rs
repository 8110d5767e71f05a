//! The uses of a name as text for models.

use std::{fmt::Write, time::Duration};

use codeinfo_core::{FileSummary, LineRange, MAX_TOOL_TEXT_BYTES, plain_line, plain_name};
use codeinfo_search::evidence::{
    IndexedFile, MAX_SHOWN, NameUses, OccurrenceGroup, OccurrenceKind, SearchedRepository,
};

use super::lines::summarize_file;

/// Characters of a name, and of a path, that are shown.
const MAX_NAME_CHARS: usize = 100;
const MAX_PATH_CHARS: usize = 500;
/// Bytes of a line that are shown where all do not fit; the word is among the first of them.
const SHORT_LINE: usize = 120;
/// More repositories are not named one by one.
const MAX_NAMED: usize = 8;
/// Maximum number of files in a summary, as many as a search may find.
const MAX_SUMMARY_FILES: usize = 20;
/// `match` of files in a summary: all have the name, and nothing measures how well they fit.
const MATCH: f64 = 0.5;

/// Writes the counts in the first line, then each group: paths, and below each its lines, numbered, so that no line of
/// a file can be taken for one of ours. Returns also a summary of the files with lines that are shown.
pub(super) fn render_uses(uses: &NameUses) -> (String, Vec<FileSummary>) {
    if uses.count == 0 {
        return (render_absence(uses), Vec::new());
    }
    let mut text = render_groups(uses, MAX_SHOWN, usize::MAX);
    let mut lines = MAX_SHOWN;
    while text.len() > MAX_TOOL_TEXT_BYTES && lines > 1 {
        text = render_groups(uses, lines, SHORT_LINE);
        lines -= 1;
    }
    // The loop has counted down once more than it has written.
    (text, summarize_files(uses, MAX_SHOWN.min(lines + 1)))
}

/// Returns the files of the first `max_lines` lines, each once, in the order in which they are shown.
fn summarize_files(uses: &NameUses, max_lines: usize) -> Vec<FileSummary> {
    let used_files = uses.groups.iter().flat_map(|group| &group.files);
    let lines = used_files.flat_map(|used| used.lines.iter().map(|line| (&used.file, line.0)));
    summarize_lines(lines.take(max_lines))
}

/// Groups lines by file, in the order in which the files come first.
pub(super) fn summarize_lines<'a>(
    lines: impl Iterator<Item = (&'a IndexedFile, u32)>,
) -> Vec<FileSummary> {
    let mut files: Vec<(&IndexedFile, Vec<u32>)> = Vec::new();
    for (file, line) in lines {
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, known_lines)) => known_lines.push(line),
            None => files.push((file, vec![line])),
        }
    }
    let files = files.into_iter().take(MAX_SUMMARY_FILES);
    files.map(|(file, lines)| summarize_file(file, join_lines(lines), MATCH)).collect()
}

/// Joins lines into ascending ranges.
fn join_lines(mut lines: Vec<u32>) -> Vec<LineRange> {
    lines.sort_unstable();
    let mut ranges: Vec<LineRange> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some(range) if line <= range.last + 1 => range.last = line,
            Some(_) | None => ranges.push(LineRange { first: line, last: line }),
        }
    }
    ranges
}

fn render_absence(uses: &NameUses) -> String {
    let name = quote_name(&uses.name);
    let mut text = match uses.unread {
        0 => format!("{name} is nowhere in the index"),
        unread => {
            format!("{name} was not found, but {unread} files were not read; name a repository")
        }
    };
    if let Some(bare) = &uses.bare {
        let _ = write!(text, ", nor is {}", quote_name(bare));
    }
    if !uses.spellings.is_empty() {
        let spellings: Vec<String> = uses.spellings.iter().map(|name| quote_name(name)).collect();
        // Writing to a `String` cannot fail.
        let _ = write!(text, "; spelled otherwise: {}", spellings.join(", "));
    }
    if let Some(unsearched) = &uses.unsearched {
        let _ = write!(text, "\n({unsearched})");
    }
    text + "\n" + &describe_searched("whole words", &uses.searched, &uses.gone)
}

/// Writes at most so many lines, each with at most so many bytes of the file's.
fn render_groups(uses: &NameUses, most: usize, line_bytes: usize) -> String {
    let mut groups = String::new();
    let (mut room, mut shown) = (most, 0);
    for group in &uses.groups {
        let (text, count) = of_group(group, &mut room, line_bytes);
        groups.push_str(&text);
        shown += count;
    }
    let counts: Vec<String> =
        uses.groups.iter().map(|group| describe_count(group.group, group.count)).collect();
    let least = if uses.unread > 0 { "at least " } else { "" };
    let files = if uses.files == 1 { "file" } else { "files" };
    let places = if uses.count == 1 { "place" } else { "places" };
    let shown = if shown == uses.count { "all".to_owned() } else { shown.to_string() };
    let mut text = format!(
        "{least}{} {places} of {} in {} {files}, {shown} shown: {}\n",
        uses.count,
        quote_name(&uses.name),
        uses.files,
        counts.join(", ")
    );
    if uses.unread > 0 {
        let _ = writeln!(
            text,
            "({} files were not read: name a repository, or try again)",
            uses.unread
        );
    }
    text + &groups
        + &explain_reading(uses)
        + &describe_searched("whole words", &uses.searched, &uses.gone)
}

/// Says in a line how the name was read, if it may be read in several ways.
fn explain_reading(uses: &NameUses) -> String {
    let asked = uses.asked.as_ref().map(|asked| format!("(read from {}", quote_name(asked)));
    let bare =
        uses.bare.as_ref().map(|bare| format!("{} alone may be in more places", quote_name(bare)));
    match (asked, bare) {
        (Some(asked), Some(bare)) => format!("{asked}; {bare})\n"),
        (Some(asked), None) => format!("{asked})\n"),
        (None, Some(bare)) => format!("({bare})\n"),
        (None, None) => String::new(),
    }
}

/// Writes a group; returns also how often the name stands in the lines that are shown.
fn of_group(group: &OccurrenceGroup, room: &mut usize, line_bytes: usize) -> (String, usize) {
    let (mut text, mut count) = (String::new(), 0);
    for file in &group.files {
        let lines = file.lines.iter().take(*room);
        if lines.len() == 0 {
            break;
        }
        *room -= lines.len();
        let _ = writeln!(text, "{}", plain_name(&file.file.path, MAX_PATH_CHARS));
        for (number, line, times) in lines {
            let (shown, cut) = line.split_at(line.floor_char_boundary(line_bytes));
            let more = if cut.is_empty() { "" } else { " ⋯" };
            let _ = writeln!(text, "{number}|{}{more}", plain_line(shown));
            count += times;
        }
    }
    let all =
        if count == group.count { String::new() } else { format!(", {count} of {}", group.count) };
    (format!("{}{all}:\n{text}", group_label(group.group)), count)
}

pub(super) fn group_label(group: OccurrenceKind) -> &'static str {
    match group {
        OccurrenceKind::Definitions => "definitions",
        OccurrenceKind::Uses => "uses",
        OccurrenceKind::Tests => "tests",
        OccurrenceKind::Documents => "documents",
        OccurrenceKind::Asides => "comments and strings",
    }
}

fn describe_count(group: OccurrenceKind, count: usize) -> String {
    match (group, count) {
        (OccurrenceKind::Definitions, 1) => "1 definition".to_owned(),
        (OccurrenceKind::Uses, 1) => "1 use".to_owned(),
        (group, count) => {
            let within = matches!(
                group,
                OccurrenceKind::Tests | OccurrenceKind::Documents | OccurrenceKind::Asides
            );
            format!("{count}{} {}", if within { " in" } else { "" }, group_label(group))
        }
    }
}

/// One line that says what was searched, how old that is, and what was not searched since its folder is `gone`.
pub(super) fn describe_searched(
    what: &str,
    searched: &[SearchedRepository],
    gone: &[String],
) -> String {
    let one = |one: &SearchedRepository| {
        let age = one.age.map(|age| format!(" {} old", age_of(age))).unwrap_or_default();
        format!("{}{age}", plain_name(&one.name, MAX_NAME_CHARS))
    };
    let named: Vec<String> = searched.iter().take(MAX_NAMED).map(one).collect();
    let more = match searched.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let gone: Vec<String> =
        gone.iter().take(MAX_NAMED).map(|name| plain_name(name, MAX_NAME_CHARS)).collect();
    let gone = match gone.as_slice() {
        [] => String::new(),
        left_out => format!("; not {}, whose folder is gone", left_out.join(", ")),
    };
    format!("({what} of the index: {}{more}{gone})", named.join(", "))
}

fn age_of(age: Duration) -> String {
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
