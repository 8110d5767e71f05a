//! Finds secrets in table columns with the heading of a secret: CSV and Markdown tables.

use std::ops::Range;

use super::{
    assigned::WORDS,
    judge::{DetectionMode, SecretKind, is_secret},
};

/// Maximum columns read of a row.
const MAX_COLUMNS: usize = 64;
/// Maximum bytes of the column names of an SQL statement.
const MAX_HEADING: usize = 1024;
/// Maximum bytes of a row of an SQL statement.
const MAX_ROW: usize = 4096;
/// Headings of accounts. Next to one of them, a column of passwords lists accounts instead of
/// describing options.
const ACCOUNTS: &[&str] =
    &["account", "email", "host", "login", "name", "server", "user", "username"];

struct SecretColumn {
    at: usize,
    family: SecretKind,
    reading: DetectionMode,
}

/// Adds the secrets of a file whose values are separated by commas, semicolons, tabs or bars.
pub(super) fn find_csv_secrets(text: &str, into: &mut Vec<Range<usize>>) {
    let mut lines = lines_with_offsets(text);
    let Some((_, heading)) = lines.find(|(_, line)| !line.trim().is_empty()) else { return };
    let Some(separator) =
        [b',', b';', b'\t', b'|'].into_iter().find(|byte| heading.as_bytes().contains(byte))
    else {
        return;
    };
    let columns = find_secret_columns(heading, separator, DetectionMode::Data);
    if columns.is_empty() {
        return;
    }
    for (start, line) in lines {
        find_secret_cells(start, line, (separator, b'"'), &columns, into);
    }
}

/// Adds the secrets of the Markdown tables of a text.
pub(super) fn find_table_secrets(text: &str, into: &mut Vec<Range<usize>>) {
    if !text.contains("--") || !text.contains('|') {
        return;
    }
    let mut before = "";
    let mut columns = Vec::new();
    for (start, line) in lines_with_offsets(text) {
        let is_rule = line.contains('|')
            && line.contains('-')
            && line.bytes().all(|byte| b"|-: \t\r".contains(&byte));
        if is_rule {
            columns = find_secret_columns(before, b'|', DetectionMode::Loose);
        } else if !line.contains('|') {
            columns.clear();
        } else if !columns.is_empty() {
            find_secret_cells(start, line, (b'|', 0), &columns, into);
        }
        before = line;
    }
}

/// Adds the secrets of the rows of an SQL `INSERT` whose first words end at `at`. Returns the end
/// of the text read.
pub(super) fn find_insert_secrets(
    text: &str,
    at: usize,
    reading: DetectionMode,
    into: &mut Vec<Range<usize>>,
) -> usize {
    let near = text.get(at..text.floor_char_boundary(at + MAX_HEADING)).unwrap_or_default();
    let Some((_, heading)) = near.split_once('(') else { return at };
    let Some((names, after)) = heading.split_once(')') else { return at };
    let columns = find_secret_columns(names, b',', reading.for_argument());
    let mut end = at + near.len() - after.trim_start().len();
    let is_values = |rest: &str| rest.get(..6).is_some_and(|w| w.eq_ignore_ascii_case("values"));
    if columns.is_empty() || !text.get(end..).is_some_and(is_values) {
        return end;
    }
    end += "values".len();
    while let Some(rest) = text.get(end..) {
        let row = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        let Some(row) = row.strip_prefix('(') else { break };
        let start = text.len() - row.len();
        let (near, _) = row.split_at(row.floor_char_boundary(MAX_ROW));
        let Some((_, row)) = split_row(near, b')', b'\'').next() else { break };
        find_secret_cells(start, row, (b',', b'\''), &columns, into);
        end = start + row.len() + 1;
    }
    end
}

/// Returns lines without their ends, each with its byte offset.
fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split('\n').map(move |line| {
        let start = next;
        next += line.len() + 1;
        (start, line)
    })
}

fn find_secret_columns(heading: &str, separator: u8, reading: DetectionMode) -> Vec<SecretColumn> {
    let cells =
        split_row(heading, separator, b'"').map(|(_, name)| trim_cell(name).1.to_ascii_lowercase());
    let names: Vec<String> = cells.take(MAX_COLUMNS).collect();
    let is_list = names.iter().any(|name| ACCOUNTS.contains(&name.as_str()));
    let reading = if is_list { DetectionMode::Data } else { reading };
    let column = |(at, name): (usize, &String)| {
        let ends = |(word, _): &&(&str, SecretKind)| name.ends_with(word);
        let (_, family) = WORDS.iter().find(ends)?;
        let is_name = name.len() <= 32 && !name.contains(char::is_whitespace);
        is_name.then_some(SecretColumn { at, family: *family, reading })
    };
    names.iter().enumerate().filter_map(column).collect()
}

/// Adds the secret cells of a row. `signs` are the separator and the quote of cells.
fn find_secret_cells(
    start: usize,
    row: &str,
    signs: (u8, u8),
    columns: &[SecretColumn],
    into: &mut Vec<Range<usize>>,
) {
    let mut known = columns.iter().peekable();
    for (at, (from, cell)) in split_row(row, signs.0, signs.1).take(MAX_COLUMNS).enumerate() {
        let Some(column) = known.next_if(|column| column.at == at) else { continue };
        let (lead, value) = trim_cell(cell);
        if !value.contains('(') && is_secret(value, column.family, column.reading) {
            let from = start + from + lead;
            into.push(from..from + value.len());
        }
    }
}

/// Splits a row at its separators outside of quotes. Returns each cell with its offset.
fn split_row(row: &str, separator: u8, quote: u8) -> impl Iterator<Item = (usize, &str)> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let from = next?;
        let rest = row.get(from..)?;
        let mut is_quoted = false;
        let end = rest.bytes().position(|byte| {
            is_quoted ^= byte == quote;
            byte == separator && !is_quoted
        });
        next = end.map(|end| from + end + 1);
        Some((from, rest.get(..end.unwrap_or(rest.len()))?))
    })
}

/// Trims spaces, quotes and code marks off a cell. Returns the length of the trimmed start, and the
/// value.
fn trim_cell(cell: &str) -> (usize, &str) {
    let is_mark = |c: char| c.is_whitespace() || "\"'`*".contains(c);
    let value = cell.trim_start_matches(is_mark);
    (cell.len() - value.len(), value.trim_end_matches(is_mark))
}
