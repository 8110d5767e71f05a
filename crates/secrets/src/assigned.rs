//! Finds secrets known by the name that they are assigned to, such as `password: hunter2`.

mod cursor;
mod name;
mod step;
mod words;

use std::ops::Range;

pub(super) use self::words::WORDS;
use self::{cursor::ValueCursor, name::AssignedName};
use super::{
    MARK,
    judge::{DetectionMode, SecretKind},
    shape::is_placeholder,
};

/// Maximum bytes of names, types and spaces that are skipped.
const NEAR: usize = 48;
/// Maximum bytes of a value that are judged; the rest shares the verdict. The limit is small
/// because a hostile text may be full of names.
const FAR: usize = 128;
/// Maximum lines of a block value.
const BLOCK_LINES: usize = 200;
/// Maximum bytes of a block that are judged; its further lines count as secrets.
const BLOCK_BYTES: usize = 16 * 1024;

/// Adds the values assigned to the name that contains `word`, a word of `family`.
pub(super) fn find_assigned_secrets(
    text: &str,
    word: Range<usize>,
    family: SecretKind,
    reading: DetectionMode,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let is_auth = word.len() == "_auth".len() && byte_at(bytes, word.start) == b'_';
    let Some(name) = AssignedName::ending_with(text, word) else { return };
    if (is_auth && reading != DetectionMode::Data) || name.is_harmless(bytes) {
        return;
    }
    let mut cursor = ValueCursor { bytes, at: name.range.end };
    if name.is_statement(bytes) {
        // SQL in a file of any language.
        if let Some(value) = cursor.read_sql_literal() {
            into.extend(cursor.range_if_secret(text, &value, family, reading.for_argument()));
        }
        return;
    }
    let found = into.len();
    find_following_values(text, &name, family, reading, into);
    if into.len() == found {
        into.extend(step::find_nearby_secret(text, &name, family, reading));
    }
}

/// Adds the values that follow `name`, with or without a sign between.
fn find_following_values(
    text: &str,
    name: &AssignedName<'_>,
    family: SecretKind,
    reading: DetectionMode,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let mut cursor = ValueCursor { bytes, at: name.range.end };
    // Values in connection strings and queries are literal in any language.
    let follows = byte_at(bytes, name.range.end);
    let is_query = follows == b'=' && name.before.ends_with([';', '?', '&']);
    let is_argument = name.is_argument() && b"= ".contains(&follows);
    let is_code = reading == DetectionMode::Code;
    let reading = match reading {
        _ if is_query => DetectionMode::Loose,
        _ if is_argument => reading.for_argument(),
        reading => reading,
    };
    let reading = match reading {
        DetectionMode::Code if name.is_in_comment() => DetectionMode::Loose,
        DetectionMode::Code if follows == b'=' && name.before.ends_with(['"', '\'']) => {
            DetectionMode::Code
        }
        DetectionMode::Code => {
            let value = cursor.read_code_literal(&name.range);
            into.extend(
                value.iter().flat_map(|value| cursor.find_joined_literals(text, value, family)),
            );
            return;
        }
        reading => reading,
    };
    let Some(reading) = skip_separator(&mut cursor, name, reading) else { return };
    if reading == DetectionMode::Data && cursor.is_block() {
        into.extend(find_block_lines(text, name));
        return;
    }
    cursor.step_in(name.indent_width(), reading);
    if let Some(mut value) = cursor.read_value(is_query) {
        value.is_argument = is_argument;
        if name.is_in_flow() {
            cursor.trim_at_bracket(&mut value);
        }
        if is_argument && is_code && cursor.is_joined(&value) {
            return;
        }
        let Some(secret) = cursor.range_if_secret(text, &value, family, reading) else { return };
        if !text.get(secret.clone()).is_some_and(|value| name.is_of_scope(value)) {
            into.push(secret);
        }
    }
}

/// Skips the syntax between a name and its value. Returns the mode for the value.
fn skip_separator(
    cursor: &mut ValueCursor<'_>,
    name: &AssignedName<'_>,
    reading: DetectionMode,
) -> Option<DetectionMode> {
    if cursor.consume_text("</key>") {
        // A property list.
        cursor.skip_bytes(b" \t\r\n");
        return cursor.consume_text("<string>").then_some(reading);
    }
    let is_element = cursor.current_byte() == b'>';
    let closers = cursor.skip_bytes(b"\\\"'`*])");
    if reading == DetectionMode::Data
        && cursor.current_byte() == b'>'
        && (is_element || closers > 0)
    {
        cursor.at += 1;
        return Some(reading);
    }
    let after_name = cursor.at;
    let spaces = cursor.skip_bytes(b" \t\\");
    if cursor.skip_assignment_sign() {
        cursor.skip_bytes(b" \t*");
        return Some(reading);
    }
    if reading == DetectionMode::Loose
        && name.line_before().starts_with('|')
        && cursor.consume_text("|")
    {
        cursor.skip_bytes(b" ");
        return Some(reading);
    }
    if closers > 0
        || cursor.current_byte() == b'\n'
        || cursor.current_byte() == b'\r'
        || cursor.current_byte() == b','
    {
        cursor.at = after_name;
        return cursor.skip_paired_name().then_some(reading);
    }
    let is_quoted = reading == DetectionMode::Script && b"\"'".contains(&cursor.current_byte());
    if spaces > 0 && closers == 0 && is_quoted {
        return Some(DetectionMode::Loose);
    }
    (spaces > 0 && closers == 0).then(|| mode_after_space(name, reading)).flatten()
}

/// Returns the byte at `at`, or 0 after the end, which no rule looks for.
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Returns whether another name and value start at a comma, as in `password=a,user=b`.
fn starts_next(value: &[u8], at: usize) -> bool {
    let name = value.iter().skip(at + 1).take(NEAR);
    let length = name.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    b",;&".contains(&byte_at(value, at))
        && length > 0
        && b"=:".contains(&byte_at(value, at + 1 + length))
}

/// Returns whether the word that ends at `at` continues as a sentence.
fn starts_sentence(bytes: &[u8], at: usize) -> bool {
    let mut next = bytes.iter().skip(at).take(NEAR).filter(|byte| !b" \t".contains(byte));
    next.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"('\"`".contains(byte))
}

/// Returns the mode for a value that follows its name after a space, if the context allows one.
///
/// Contexts are an option of a command, a setting of a Dockerfile, a directive of a configuration,
/// and a login.
fn mode_after_space(name: &AssignedName<'_>, reading: DetectionMode) -> Option<DetectionMode> {
    let line = name.line_before().trim();
    if name.is_argument() || (line.is_empty() && reading == DetectionMode::Data) {
        return Some(reading);
    }
    let is_given = || line.split_whitespace().any(|word| matches!(word, "login" | "set" | "setx"));
    (matches!(line, "ENV" | "ARG") || is_given()).then_some(DetectionMode::Loose)
}

/// Returns the indentation of a line, including the dash of a list item.
fn indent_width(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '-']).len()
}

/// Returns the lines below that of `name` that are indented more, without their indentation.
fn find_block_lines(text: &str, name: &AssignedName<'_>) -> Vec<Range<usize>> {
    let own = name.indent_width();
    let mut found = Vec::new();
    let Some((_, rest)) = text.split_at_checked(name.range.end) else { return found };
    let end_of_line = rest.bytes().take_while(|byte| !b"\r\n".contains(byte)).count();
    let (_, below) = rest.split_at(end_of_line);
    let begun = text.len() - below.len();
    let mut at = begun;
    for line in below.split_inclusive('\n').take(BLOCK_LINES) {
        let content = line.trim();
        if !content.is_empty() {
            if indent_width(line) <= own {
                break;
            }
            let is_near = at + line.len() - begun <= BLOCK_BYTES;
            let is_harmless = content.contains(MARK) || (is_near && is_placeholder(content));
            if !is_harmless {
                let from = at + (line.len() - line.trim_start().len());
                found.push(from..from + content.len());
            }
        }
        at += line.len();
    }
    found
}
