//! Finds secrets by the name of a group of values: a parent key (`credentials:`, `[passwords]`,
//! `"secrets": {`), or the heading of a column of CSV, Markdown or an SQL `INSERT`.

use std::ops::Range;

use super::{
    assigned::SECRET_WORDS,
    judge::{DetectionMode, SecretKind, is_secret},
};

pub(super) const GROUP_WORDS: &[&str] =
    &["credentials", "creds", "passwords", "secrets", "tokens", "api_keys", "apikeys", "api-keys"];

/// Names of passwords that are too short to count outside of a group.
const PASSWORD_NAMES: &[&str] = &["key", "p", "pass", "password", "phrase", "pin", "pw", "pwd"];
/// Last words of names of values that accompany a secret.
const COMPANION_NAMES: &[&str] = &[
    "id", "ref", "version", "digest", "sha", "sha256", "checksum", "path", "file", "url", "uri",
    "type", "name", "user", "username", "email", "host", "region", "uuid", "kind", "revision",
    "commit",
];
const ITEM_NAME: &str = "item";
const ITEM_SEPARATORS: &[char] = &['\n', ','];
/// Maximum bytes of a line that are read before a word.
const MAX_LINE: usize = 256;
const MAX_LIST: usize = 2048;
const MAX_GROUP_BYTES: usize = 8 * 1024;
const MAX_GROUP_LINES: usize = 100;

pub(super) fn find_group_secrets(text: &str, word: Range<usize>, into: &mut Vec<Range<usize>>) {
    let is_passwords =
        text.get(word.clone()).is_some_and(|word| word.eq_ignore_ascii_case("passwords"));
    let Some((mut start, body, parts)) = find_group_body(text, word) else { return };
    let is_list = parts == ITEM_SEPARATORS;
    for piece in body.split_inclusive(parts) {
        let pair = piece.trim_end_matches(parts);
        let item = pair.trim_start().strip_prefix("- ").or(is_list.then_some(pair));
        let named = item.filter(|item| !item.contains(": ")).map(|value| (ITEM_NAME, value));
        if let Some((name, value)) = named.or_else(|| pair.split_once([':', '='])) {
            let started = value.trim_start_matches(is_around);
            let before_comment = started.split_once(" #").map_or(started, |(value, _)| value);
            let bare = before_comment.trim_end_matches(is_around);
            let kind = guess_secret_kind(name, is_passwords);
            if kind.is_some_and(|kind| is_secret(bare, kind, DetectionMode::Data)) {
                let from = start + pair.len() - started.len();
                into.push(from..from + bare.len());
            }
        }
        start += piece.len();
    }
}

fn is_around(c: char) -> bool {
    c.is_whitespace() || "\"'".contains(c)
}

fn guess_secret_kind(name: &str, is_passwords: bool) -> Option<SecretKind> {
    let lower = name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
    let last = lower.rsplit(['_', '-', '.']).next().unwrap_or_default();
    if lower.contains(char::is_whitespace)
        || COMPANION_NAMES.contains(&last)
        || lower.ends_with("id")
    {
        return None;
    }
    let is_password = is_passwords || PASSWORD_NAMES.contains(&last);
    Some(if is_password { SecretKind::Password } else { SecretKind::Token })
}

/// Returns the offset of the pairs of a group, their text and their separators.
fn find_group_body(text: &str, word: Range<usize>) -> Option<(usize, &str, &'static [char])> {
    let near = text.floor_char_boundary(word.end + MAX_GROUP_BYTES);
    let rest = text.get(word.end..near)?;
    let from = text.ceil_char_boundary(word.start.saturating_sub(MAX_LINE));
    let (first_line, below) = rest.split_once('\n').unwrap_or((rest, ""));
    let head = first_line.trim_end();
    let line = text.get(from..word.start)?.rsplit('\n').next()?;
    if head == "]" && line.trim_start().starts_with('[') {
        let is_empty = below.starts_with('[');
        let pairs = below.split("\n[").next()?;
        return (!is_empty).then_some((near - below.len(), pairs, &['\n']));
    }
    let after_name = head.trim_start_matches(['"', '\'']).trim_start();
    let sign = after_name.strip_prefix([':', '='])?.trim();
    if sign.starts_with('[') {
        let (list, _) = rest.split_at(rest.floor_char_boundary(MAX_LIST));
        let end = word.end + list.len();
        let (_, inner) = list.split_once('[')?;
        return Some((end - inner.len(), inner.split(']').next()?, ITEM_SEPARATORS));
    }
    if sign.starts_with('{') {
        let (_, inner) = rest.split_once('{')?;
        return Some((near - inner.len(), inner.split('}').next()?, &['\n', ',', '{']));
    }
    if !sign.is_empty() && !sign.starts_with('#') {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let own = indent(line);
    let near_lines = below.split_inclusive('\n').take(MAX_GROUP_LINES);
    let group_lines = near_lines.take_while(|line| line.trim().is_empty() || indent(line) > own);
    let (pairs, _) = below.split_at_checked(group_lines.map(str::len).sum())?;
    Some((near - below.len(), pairs, &['\n']))
}

const MAX_COLUMNS: usize = 64;
const MAX_HEADING: usize = 1024;
const MAX_ROW: usize = 4096;
/// Headings of accounts. Beside one, a column of passwords lists accounts instead of options.
const ACCOUNT_HEADINGS: &[&str] =
    &["account", "email", "host", "login", "name", "server", "user", "username"];

struct SecretColumn {
    at: usize,
    kind: SecretKind,
    mode: DetectionMode,
}

/// Reads files whose values are separated by commas, semicolons, tabs or bars.
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

/// Adds the secrets of an SQL `INSERT` whose first words end at `at`. Returns the end of its text.
pub(super) fn find_insert_secrets(
    text: &str,
    at: usize,
    mode: DetectionMode,
    into: &mut Vec<Range<usize>>,
) -> usize {
    let near = text.get(at..text.floor_char_boundary(at + MAX_HEADING)).unwrap_or_default();
    let Some((_, heading)) = near.split_once('(') else { return at };
    let Some((names, after)) = heading.split_once(')') else { return at };
    let columns = find_secret_columns(names, b',', mode.for_argument());
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

fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split('\n').map(move |line| {
        let start = next;
        next += line.len() + 1;
        (start, line)
    })
}

fn find_secret_columns(heading: &str, separator: u8, mode: DetectionMode) -> Vec<SecretColumn> {
    let cells =
        split_row(heading, separator, b'"').map(|(_, name)| trim_cell(name).1.to_ascii_lowercase());
    let names: Vec<String> = cells.take(MAX_COLUMNS).collect();
    let is_list = names.iter().any(|name| ACCOUNT_HEADINGS.contains(&name.as_str()));
    let mode = if is_list { DetectionMode::Data } else { mode };
    let column = |(at, name): (usize, &String)| {
        let ends = |(word, _): &&(&str, SecretKind)| name.ends_with(word);
        let (_, kind) = SECRET_WORDS.iter().find(ends)?;
        let is_name = name.len() <= 32 && !name.contains(char::is_whitespace);
        is_name.then_some(SecretColumn { at, kind: *kind, mode })
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
        if !value.contains('(') && is_secret(value, column.kind, column.mode) {
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

/// Trims spaces, quotes and code marks. Returns the length of the trimmed start, and the value.
fn trim_cell(cell: &str) -> (usize, &str) {
    let is_mark = |c: char| c.is_whitespace() || "\"'`*".contains(c);
    let value = cell.trim_start_matches(is_mark);
    (cell.len() - value.len(), value.trim_end_matches(is_mark))
}
