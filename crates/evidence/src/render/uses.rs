//! Renders the uses of a name as text for models.

use std::fmt::Write;

use codeinfo_core::{FileSummary, MAX_TOOL_TEXT_BYTES, plain_line, plain_name};

use super::places::{describe_place, describe_searched, quote_name, summarize_lines};
use crate::{
    DefinitionUses, MAX_SHOWN, MatchedName, NameUses, OccurrenceGroup, OccurrenceKind,
    PatternMatches,
};

const MAX_NAME_CHARS: usize = 100;
const MAX_PATH_CHARS: usize = 500;
/// Maximum bytes of a shown line when not all fit; the name is within the first of them.
const SHORT_LINE: usize = 120;
/// Maximum number of repositories that are named.
const MAX_NAMED: usize = 8;

/// Renders the counts, then each group: paths, each followed by its lines, numbered to tell them
/// from other text. Also summarizes the shown files.
pub fn render_uses(uses: &NameUses) -> (String, Vec<FileSummary>) {
    if uses.count == 0 {
        return (render_absence(uses), Vec::new());
    }
    let mut text = render_groups(uses, MAX_SHOWN, usize::MAX);
    let mut lines = MAX_SHOWN;
    while text.len() > MAX_TOOL_TEXT_BYTES && lines > 1 {
        text = render_groups(uses, lines, SHORT_LINE);
        lines -= 1;
    }
    // The loop decrements once more after its last rendering.
    (text, summarize_files(uses, MAX_SHOWN.min(lines + 1)))
}

/// Returns the files of the first `max_lines` lines, each once, in the order of these lines.
fn summarize_files(uses: &NameUses, max_lines: usize) -> Vec<FileSummary> {
    let used_files = uses.groups.iter().flat_map(|group| &group.files);
    let lines = used_files.flat_map(|used| used.lines.iter().map(|line| (&used.file, line.number)));
    summarize_lines(lines.take(max_lines))
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
        let _ = write!(text, "; spelled otherwise: {}", spellings.join(", "));
    }
    if let Some(unsearched) = &uses.unsearched {
        let _ = write!(text, "\n({unsearched})");
    }
    text + "\n" + &describe_searched("whole words", &uses.searched, &uses.gone)
}

/// Renders at most `max_lines` lines, each with at most `line_bytes` bytes of the file.
fn render_groups(uses: &NameUses, max_lines: usize, line_bytes: usize) -> String {
    let mut groups = String::new();
    let mut room = max_lines;
    let mut shown = 0;
    for group in &uses.groups {
        let (text, count) = render_group(group, &mut room, line_bytes);
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
    text.push_str(&render_definition_uses(uses));
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

/// Renders how many of the places use each definition, by the symbol graph.
fn render_definition_uses(uses: &NameUses) -> String {
    let mut text = String::new();
    for DefinitionUses { place, by_certainty } in uses.definitions.iter().take(MAX_NAMED) {
        let labels = ["certain", "likely", "possible"].iter().zip(by_certainty);
        let counted = labels.filter(|(_, count)| **count > 0);
        let counts: Vec<String> =
            counted.map(|(label, count)| format!("{count} {label}")).collect();
        let counts = if counts.is_empty() { "none found".to_owned() } else { counts.join(", ") };
        let _ = writeln!(text, "uses of {}: {counts}", describe_place(place));
    }
    if !uses.definitions.is_empty() {
        let more = uses.definitions.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 {
            format!(", among them those of {more} more definitions")
        } else {
            String::new()
        };
        let _ = writeln!(text, "other places: {}{more}", uses.other());
    }
    text
}

/// Explains in one line how the name was read, if several readings are possible.
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

/// Renders a group. Also returns the number of occurrences in the shown lines.
fn render_group(group: &OccurrenceGroup, room: &mut usize, line_bytes: usize) -> (String, usize) {
    let mut text = String::new();
    let mut count = 0;
    for file in &group.files {
        let lines = file.lines.iter().take(*room);
        if lines.len() == 0 {
            break;
        }
        *room -= lines.len();
        let _ = writeln!(text, "{}", plain_name(&file.file.path, MAX_PATH_CHARS));
        let mut enclosing = None;
        for line in lines {
            let (shown, cut) = line.text.split_at(line.text.floor_char_boundary(line_bytes));
            let more = if cut.is_empty() { "" } else { " ⋯" };
            if line.enclosing.is_some() && line.enclosing != enclosing {
                enclosing.clone_from(&line.enclosing);
                let name = enclosing.as_deref().unwrap_or_default();
                let _ = writeln!(text, "in {}:", plain_name(name, MAX_NAME_CHARS));
            }
            let _ = writeln!(text, "{}|{}{more}", line.number, plain_line(shown));
            count += line.count;
        }
    }
    if text.is_empty() {
        return (text, 0);
    }
    let all =
        if count == group.count { String::new() } else { format!(", {count} of {}", group.count) };
    (format!("{}{all}:\n{text}", group_label(group.group)), count)
}

fn group_label(group: OccurrenceKind) -> &'static str {
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

const RESERVE: usize = 1100;

/// Renders the counts in the first line, then each name with its best place, then further names
/// without a place. Also summarizes the shown files.
pub fn render_matches(matches: &PatternMatches) -> (String, Vec<FileSummary>) {
    let searched = describe_searched("lines", &matches.searched, &matches.gone);
    let pattern = format!("`{}`", plain_name(&matches.pattern, MAX_PATH_CHARS).replace('`', "'"));
    if matches.count == 0 {
        let nowhere = match matches.unread {
            0 => format!("{pattern} matches nothing in the index\n"),
            _ => format!("{pattern} was not found\n"),
        };
        return (nowhere + &render_limits(matches) + &searched, Vec::new());
    }
    let least = if matches.unread > 0 { "at least " } else { "" };
    let more = if matches.uncounted > 0 { "more than " } else { "" };
    let mut text = format!(
        "{least}{} of {pattern} in {}: {more}{}, best first\n",
        write_count(matches.count, "place"),
        write_count(matches.files, "file"),
        write_count(matches.distinct, "name"),
    );
    let room = MAX_TOOL_TEXT_BYTES - RESERVE;
    let mut shown = 0;
    for name in matches.names.iter().take(MAX_SHOWN) {
        let entry = render_name(name);
        if text.len() + entry.len() > room {
            break;
        }
        text.push_str(&entry);
        shown += 1;
    }
    text.push_str(&render_other_names(matches, shown, room.saturating_sub(text.len())));
    let places = matches.names.iter().take(shown).map(|name| (&name.first.file, name.first.line));
    (text + &render_limits(matches) + &searched, summarize_lines(places))
}

fn render_name(name: &MatchedName) -> String {
    let MatchedName { name, count, files, first } = name;
    let files = if *files > 1 { format!(" in {files} files") } else { String::new() };
    let group = match first.group {
        OccurrenceKind::Definitions | OccurrenceKind::Uses => String::new(),
        group => format!(", in {}", group_label(group)),
    };
    let path = plain_name(&first.file.path, MAX_PATH_CHARS);
    let line = plain_line(&first.text);
    let name = quote_name(&name.replace('"', "'"));
    format!("{name} {count}{files}{group}: {path}:{}\n{}|{line}\n", first.line, first.line)
}

/// Lists the names after the first `shown` ones in one line, as many as fit into `room` bytes.
fn render_other_names(matches: &PatternMatches, shown: usize, room: usize) -> String {
    let mut text = String::new();
    let mut left = matches.distinct - shown;
    for name in matches.names.iter().skip(shown) {
        let named = format!("{} {}, ", quote_name(&name.name.replace('"', "'")), name.count);
        if text.len() + named.len() > room {
            break;
        }
        text.push_str(&named);
        left -= 1;
    }
    if text.is_empty() && left == 0 {
        return text;
    }
    let more = match left {
        0 => String::new(),
        left => format!(" {left} more: narrow the pattern"),
    };
    format!("(also {}{more})\n", text.trim_end_matches(", "))
}

/// Describes which files and names are missing from the counts.
fn render_limits(matches: &PatternMatches) -> String {
    let mut text = String::new();
    if matches.unread > 0 {
        let _ = writeln!(
            text,
            "({} not read for want of time: name a repository, or narrow the pattern)",
            write_count(matches.unread, "file")
        );
    }
    if matches.uncounted > 0 {
        let _ = writeln!(
            text,
            "({} of other names, which are too many to tell apart)",
            write_count(matches.uncounted, "place")
        );
    }
    if matches.is_cut {
        text.push_str(
            "(very long lines were searched in pieces; matches across two of them are missing)\n",
        );
    }
    text
}

fn write_count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
