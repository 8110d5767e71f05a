//! Renders the names that match a pattern as text for models.

use std::fmt::Write;

use crate::evidence::{MAX_SHOWN, MatchedName, OccurrenceKind, PatternMatches};
use codeinfo_core::{FileSummary, MAX_TOOL_TEXT_BYTES, plain_line, plain_name};

use super::uses::{describe_searched, group_label, quote_name, summarize_lines};

const MAX_PATH_CHARS: usize = 500;
const RESERVE: usize = 1100;

/// Renders the counts in the first line, then each name with its best place, then further names
/// without a place. Also returns a summary of the files whose places are shown.
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

/// Renders a name with its counts, its best place and the line there.
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
        // Writing to a `String` cannot fail.
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
