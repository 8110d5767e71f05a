//! Prints lines, names, times and JSON, for people and programs.

use std::{fmt::Write as _, io::IsTerminal, path::Path};

use codeinfo_core::plain_name;
use jiff::Timestamp;
use serde_json::Value;

use super::CliError;
use crate::documents::{PAGES, find_document, find_title};
pub use crate::install::replace_control_characters;
use crate::install::{write_to_stderr, write_to_stdout};
pub(super) use codeinfo_core::count_things;

pub fn print_line(text: &str) -> Result<(), CliError> {
    Ok(write_to_stdout(&replace_control_characters(text))?)
}

/// Writes the title of a result to standard output: on a terminal, name bold and rest dimmed.
pub(super) fn print_title(name: &str, rest: &str) -> Result<(), CliError> {
    let safe_name = replace_control_characters(name);
    let safe_rest = replace_control_characters(rest);
    let is_styled = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Ok(write_to_stdout(&if is_styled {
        format!("\u{1b}[1m{safe_name}\u{1b}[0m\u{1b}[2m{safe_rest}\u{1b}[0m")
    } else {
        format!("{safe_name}{safe_rest}")
    })?)
}

/// Writes a line to standard error, dimmed on a terminal.
pub fn print_note(text: &str) -> Result<(), CliError> {
    let safe_text = replace_control_characters(text);
    Ok(write_to_stderr(&if std::io::stderr().is_terminal() {
        format!("\u{1b}[2m{safe_text}\u{1b}[0m")
    } else {
        safe_text
    })?)
}

/// Prints a suggestion for the next step, only on a terminal.
pub(super) fn print_next_step(text: &str) -> Result<(), CliError> {
    if std::io::stderr().is_terminal() { print_note(&format!("next: {text}")) } else { Ok(()) }
}

/// Returns a time for standard output: its age on a terminal, otherwise the time as it is.
pub(super) fn format_time(time: &str) -> String {
    let is_read_by_person = std::io::stdout().is_terminal();
    let parsed_time = is_read_by_person.then(|| time.parse().ok()).flatten();
    parsed_time.map_or_else(|| time.to_owned(), |then| describe_age(then, Timestamp::now()))
}

/// Returns the age of `then`: `3 h ago`; after 99 days, the date.
fn describe_age(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then).as_secs() {
        ..60 => "just now".to_owned(),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds @ 86_400..8_640_000 => format!("{} d ago", seconds / 86_400),
        8_640_000.. => then.to_string().chars().take(10).collect(),
    }
}

/// Writes indented JSON to standard output; escapes characters that could control a terminal.
pub(super) fn print_json(value: &Value) -> Result<(), CliError> {
    let mut text = String::new();
    for c in format!("{value:#}").chars() {
        if c.is_control() && c != '\n' {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    Ok(write_to_stdout(&text)?)
}

pub(super) fn align_columns<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let align = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<String>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(align).collect()
}

/// Returns at most `max_chars` characters of a text: whole words, and `…` in place of the rest.
pub(super) fn shorten_text(text: &str, max_chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max_chars) else { return text.to_owned() };
    let cut = text.get(..end).unwrap_or_default();
    let is_between_words = text.get(end..).is_some_and(|rest| rest.starts_with(' '));
    let whole_words = match cut.rsplit_once(char::is_whitespace) {
        Some((whole_words, _)) if !is_between_words => whole_words.trim_end(),
        _ => cut.trim_end(),
    };
    format!("{whole_words} …")
}

pub(super) fn single_line(name: &str) -> String {
    plain_name(name, usize::MAX)
}

/// Returns the parameter that selects a repository: the named one, or the working folder.
pub(super) fn scope_parameter(repository: Option<String>) -> Option<(String, String)> {
    let here = || {
        let folder = std::env::current_dir().ok()?;
        Some(("folder".to_owned(), folder.to_str()?.to_owned()))
    };
    let named = repository.map(|name| ("repository".to_owned(), name));
    named.or_else(here)
}

/// Resolves a typed repository: text with `/`, `.` and `..` are paths, which become absolute.
pub fn resolve_reference(name: &str) -> String {
    let is_path = name.contains(std::path::MAIN_SEPARATOR) || matches!(name, "." | "..");
    let canonical_path = is_path.then(|| std::fs::canonicalize(name).ok()).flatten();
    canonical_path.map_or(name.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Prints a page as Markdown, or the names and titles of all pages.
///
/// # Errors
///
/// The name is unknown, or standard output cannot be written.
pub fn print_docs(name: Option<&str>) -> Result<(), CliError> {
    let Some(name) = name else {
        let rows = PAGES.map(|(name, text)| [name.to_owned(), find_title(text).to_owned()]);
        return align_columns(&rows).iter().try_for_each(|row| print_line(row));
    };
    // Also accepts the name of the file, as in links between pages.
    let stem = Path::new(name).file_stem().unwrap_or_default();
    match stem.to_str().and_then(find_document) {
        Some(text) => print_line(text.trim_end()),
        None => Err(CliError::Usage(format!(
            "there is no page `{}`; `codeinfo docs` lists the pages",
            single_line(name)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, describe_age, shorten_text};

    #[test]
    fn long_texts_are_cut_between_words() {
        assert_eq!(shorten_text("reads a file", 12), "reads a file");
        assert_eq!(shorten_text("reads a file", 11), "reads a …");
        assert_eq!(shorten_text("reads a file", 7), "reads a …");
        assert_eq!(shorten_text("lädt Dateien", 4), "lädt …");
        assert_eq!(shorten_text("unbroken", 3), "unb …");
    }

    #[test]
    fn times_are_given_in_the_largest_unit_that_fits() {
        let now: Timestamp = "2026-11-26T12:00:00Z".parse().unwrap();
        for (then, age) in [
            ("2026-11-26T12:00:05Z", "just now"),
            ("2026-11-26T11:59:01Z", "just now"),
            ("2026-11-26T11:58:59Z", "1 min ago"),
            ("2026-11-26T08:01:00Z", "3 h ago"),
            ("2026-11-23T08:01:00Z", "3 d ago"),
            ("2025-11-23T08:01:00Z", "2025-11-23"),
        ] {
            assert_eq!(describe_age(then.parse().unwrap(), now), age);
        }
    }
}
