//! Finds secrets known by the name that they are assigned to, such as `password: hunter2`: behind a sign,
//! as the next item of a list, or in another field of the same object.

mod cursor;
mod name;

use std::ops::Range;

pub(super) use self::name::SECRET_WORDS;
use self::{
    cursor::{AssignedValue, ValueCursor},
    name::AssignedName,
};
use super::{
    MARK,
    judge::{DetectionMode, SecretKind},
    shape::is_placeholder,
};

/// Maximum bytes of names, types and spaces that are skipped.
const MAX_GAP: usize = 48;
/// Maximum bytes of a value that are judged, for hostile texts full of names; the rest shares the verdict.
const MAX_JUDGED: usize = 128;
const MAX_BLOCK_LINES: usize = 200;
/// Maximum bytes of a block that are judged; its further lines count as secrets.
const MAX_JUDGED_BLOCK: usize = 16 * 1024;
/// Bytes before and after a name that are searched for fields.
const MAX_FIELD_DISTANCE: usize = 320;
/// Fields with the value that another field names, in lower case.
const VALUE_FIELD_NAMES: &[&str] = &["value", "default", "defaultvalue", "content"];
/// Fields with the name of a value in another field, in lower case.
const LABEL_FIELD_NAMES: &[&str] = &["forkey", "key", "name"];

pub(super) fn find_assigned_secrets(
    text: &str,
    word: Range<usize>,
    kind: SecretKind,
    mode: DetectionMode,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let is_auth = word.len() == "_auth".len() && byte_at(bytes, word.start) == b'_';
    let Some(name) = AssignedName::ending_with(text, word) else { return };
    if (is_auth && mode != DetectionMode::Data) || name.is_harmless(bytes) {
        return;
    }
    let mut cursor = ValueCursor { bytes, at: name.range.end };
    if name.is_statement(bytes) {
        // SQL in a file of any language.
        if let Some(value) = cursor.read_sql_literal() {
            into.extend(cursor.range_if_secret(text, &value, kind, mode.for_argument()));
        }
        return;
    }
    let found = into.len();
    find_following_values(text, &name, kind, mode, into);
    if into.len() == found {
        into.extend(find_nearby_secret(text, &name, kind, mode));
    }
}

fn find_following_values(
    text: &str,
    name: &AssignedName<'_>,
    kind: SecretKind,
    mode: DetectionMode,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let mut cursor = ValueCursor { bytes, at: name.range.end };
    // Values in connection strings and queries are literal in any language.
    let follows = byte_at(bytes, name.range.end);
    let is_query = follows == b'=' && name.before.ends_with([';', '?', '&']);
    let is_argument = name.is_argument() && b"= ".contains(&follows);
    let is_code = mode == DetectionMode::Code;
    let mode = match mode {
        _ if is_query => DetectionMode::Loose,
        _ if is_argument => mode.for_argument(),
        DetectionMode::Code if name.is_in_comment() => DetectionMode::Loose,
        DetectionMode::Code if follows == b'=' && name.before.ends_with(['"', '\'']) => {
            DetectionMode::Code
        }
        DetectionMode::Code => {
            let value = cursor.read_code_literal(&name.range);
            into.extend(
                value.iter().flat_map(|value| cursor.find_joined_literals(text, value, kind)),
            );
            return;
        }
        mode => mode,
    };
    let Some(mode) = skip_separator(&mut cursor, name, mode) else { return };
    if mode == DetectionMode::Data && cursor.is_block() {
        into.extend(find_block_lines(text, name));
        return;
    }
    cursor.skip_value_lead(name.indent_width(), mode);
    if let Some(mut value) = cursor.read_value(is_query) {
        value.is_argument = is_argument;
        if name.is_in_flow() {
            cursor.trim_at_bracket(&mut value);
        }
        if is_argument && is_code && cursor.is_joined(&value) {
            return;
        }
        let Some(secret) = cursor.range_if_secret(text, &value, kind, mode) else { return };
        if !text.get(secret.clone()).is_some_and(|value| name.is_of_scope(value)) {
            into.push(secret);
        }
    }
}

/// Skips the syntax between a name and its value. Returns the mode for the value.
fn skip_separator(
    cursor: &mut ValueCursor<'_>,
    name: &AssignedName<'_>,
    mode: DetectionMode,
) -> Option<DetectionMode> {
    if cursor.consume_text("</key>") {
        // A property list.
        cursor.skip_bytes(b" \t\r\n");
        return cursor.consume_text("<string>").then_some(mode);
    }
    let is_element = cursor.current_byte() == b'>';
    let closers = cursor.skip_bytes(b"\\\"'`*])");
    if mode == DetectionMode::Data && cursor.current_byte() == b'>' && (is_element || closers > 0) {
        cursor.at += 1;
        return Some(mode);
    }
    let after_name = cursor.at;
    let spaces = cursor.skip_bytes(b" \t\\");
    if cursor.skip_assignment_sign() {
        cursor.skip_bytes(b" \t*");
        return Some(mode);
    }
    if mode == DetectionMode::Loose
        && name.line_before().starts_with('|')
        && cursor.consume_text("|")
    {
        cursor.skip_bytes(b" ");
        return Some(mode);
    }
    if closers > 0
        || cursor.current_byte() == b'\n'
        || cursor.current_byte() == b'\r'
        || cursor.current_byte() == b','
    {
        cursor.at = after_name;
        return cursor.skip_paired_name().then_some(mode);
    }
    let is_quoted = mode == DetectionMode::Script && b"\"'".contains(&cursor.current_byte());
    if spaces > 0 && closers == 0 && is_quoted {
        return Some(DetectionMode::Loose);
    }
    (spaces > 0 && closers == 0).then(|| mode_after_space(name, mode)).flatten()
}

/// Returns the byte at `at`, or 0 after the end, which no rule looks for.
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Returns whether another name and value start at a comma, as in `password=a,user=b`.
fn starts_next(value: &[u8], at: usize) -> bool {
    let name = value.iter().skip(at + 1).take(MAX_GAP);
    let length = name.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    b",;&".contains(&byte_at(value, at))
        && length > 0
        && b"=:".contains(&byte_at(value, at + 1 + length))
}

/// Returns whether the word that ends at `at` continues as a sentence.
fn starts_sentence(bytes: &[u8], at: usize) -> bool {
    let mut next = bytes.iter().skip(at).take(MAX_GAP).filter(|byte| !b" \t".contains(byte));
    next.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"('\"`".contains(byte))
}

/// Returns the mode for a value that a space separates from its name: after an option of a command,
/// a setting of a Dockerfile, a directive of a configuration, or a login.
fn mode_after_space(name: &AssignedName<'_>, mode: DetectionMode) -> Option<DetectionMode> {
    let line = name.line_before().trim();
    if name.is_argument() || (line.is_empty() && mode == DetectionMode::Data) {
        return Some(mode);
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
    for line in below.split_inclusive('\n').take(MAX_BLOCK_LINES) {
        let content = line.trim();
        if !content.is_empty() {
            if indent_width(line) <= own {
                break;
            }
            let is_near = at + line.len() - begun <= MAX_JUDGED_BLOCK;
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

fn find_nearby_secret(
    text: &str,
    name: &AssignedName<'_>,
    kind: SecretKind,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut cursor = ValueCursor { bytes, at: name.range.end };
    let closers = cursor.skip_bytes(b"\\\"'`])");
    let after_name = cursor.at;
    if mode == DetectionMode::Code && closers == 0 {
        return None;
    }
    let is_label = {
        cursor.skip_bytes(b" \t");
        cursor.skip_assignment_sign()
    };
    cursor.skip_bytes(b" \t");
    // A template may be in quotes.
    cursor.consume_text("\"{");
    let next = cursor.current_byte();
    if !is_label && let Some(secret) = next_item(text, name, after_name, kind, mode) {
        return Some(secret);
    }
    let may_hold_fields =
        if is_label { b"{\r\n".contains(&next) } else { b"{,;\r\n>c/".contains(&next) };
    let own = name.indent_width() + usize::from(is_label);
    let after = || field_after(text, cursor.at, own, kind, mode);
    may_hold_fields.then(after).flatten().or_else(|| field_before(text, name, kind, mode))
}

/// Returns the list item after `name`, which ends at `at` with its quotes, if it is a secret.
fn next_item(
    text: &str,
    name: &AssignedName<'_>,
    at: usize,
    kind: SecretKind,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let is_option = name.is_argument();
    let mut cursor = ValueCursor { bytes: text.as_bytes(), at };
    cursor.skip_bytes(b" \t\\\r\n,");
    let gap = text.get(at..cursor.at)?;
    let is_apart = gap.contains(if is_option { &[',', '\n'] } else { &[','][..] });
    let may_be_bare = is_option && (cursor.consume_text("- ") || gap.contains('\\'));
    let mut value = match cursor.read_quoted() {
        Some(value) => value,
        None if may_be_bare => cursor.read_value(false)?,
        None => return None,
    };
    value.is_argument = is_option;
    let mode = match mode {
        DetectionMode::Code => DetectionMode::Code,
        other if is_option => other.for_argument(),
        _ => DetectionMode::Loose,
    };
    is_apart.then(|| cursor.range_if_secret(text, &value, kind, mode)).flatten()
}

/// Searches the object from `at` on, whose lines are indented by at least `own`.
fn field_after(
    text: &str,
    at: usize,
    own: usize,
    kind: SecretKind,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let near = text.get(at..text.floor_char_boundary(at + MAX_FIELD_DISTANCE))?;
    let opening = near.trim_start_matches([',', ' ']);
    let own_depth = opening.len() - opening.trim_start_matches('{').len();
    let mut depth = 0_usize;
    let mut is_word = false;
    for (offset, byte) in near.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.checked_sub(1)?,
            b'\n' if depth == 0 => {
                let line = near.get(offset + 1..)?.lines().next()?;
                let is_over = line.trim_start().starts_with('-') || indent_width(line) < own;
                if is_over || line.trim().is_empty() {
                    return None;
                }
            }
            _ => {}
        }
        let is_part = byte.is_ascii_alphanumeric() || byte == b'_';
        if is_part
            && !is_word
            && depth <= own_depth
            && let Some((value, cursor)) = read_value_field(text, at + offset)
        {
            return cursor.range_if_secret(text, &value, kind, mode);
        }
        is_word = is_part;
    }
    None
}

/// Reads the value of the field whose name starts at `at`, if it is one of [`VALUE_FIELD_NAMES`].
fn read_value_field(text: &str, at: usize) -> Option<(AssignedValue, ValueCursor<'_>)> {
    let rest = text.as_bytes().get(at..)?;
    let length = rest.iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = text.get(at..at + length)?;
    if !VALUE_FIELD_NAMES.iter().any(|value| name.eq_ignore_ascii_case(value)) {
        return None;
    }
    let mut cursor = ValueCursor { bytes: text.as_bytes(), at: at + length };
    cursor.skip_bytes(b"\\\"'");
    cursor.skip_bytes(b" \t");
    if !(cursor.skip_assignment_sign() || cursor.consume_text(">") || cursor.consume_text("(")) {
        return None;
    }
    cursor.skip_bytes(b" \t");
    let value = cursor.read_value(false)?;
    Some((value, cursor))
}

/// Searches the object or call that contains `name` backwards.
fn field_before(
    text: &str,
    name: &AssignedName<'_>,
    kind: SecretKind,
    mode: DetectionMode,
) -> Option<Range<usize>> {
    let before = name.before.trim_end_matches(['"', '\'', '\\', '@']).trim_end();
    let field = before.strip_suffix([':', '='])?.trim_end_matches(['"', '\'', ' ', '\\']);
    let length = field.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let (beside, label) = field.split_at_checked(field.len() - length)?;
    if !LABEL_FIELD_NAMES.iter().any(|known| label.eq_ignore_ascii_case(known)) {
        return None;
    }
    let start = name.range.start - name.before.len();
    if label.eq_ignore_ascii_case("forkey") {
        let (literal, quote) = beside.trim_end_matches([',', ' ']).rsplit_once(['"', '\''])?;
        let at = start + literal.rfind(['"', '\'']).filter(|_| quote.is_empty())?;
        let mut cursor = ValueCursor { bytes: text.as_bytes(), at };
        let value = cursor.read_quoted()?;
        return cursor.range_if_secret(text, &value, kind, mode);
    }
    let item = beside.rfind("\n-").into_iter().chain(beside.rfind(" - "));
    let object = beside.rfind(['{', '}', '<', '>', ';']).into_iter().chain(beside.rfind("\n\n"));
    let mut at = item.chain(object).max().unwrap_or(0);
    while let Some(rest) = beside.get(at..) {
        at += rest.find(|c: char| c.is_ascii_alphabetic())?;
        if let Some((value, cursor)) = read_value_field(text, start + at) {
            return cursor.range_if_secret(text, &value, kind, mode);
        }
        at += beside.get(at..)?.find(|c: char| !c.is_ascii_alphanumeric())?;
    }
    None
}
