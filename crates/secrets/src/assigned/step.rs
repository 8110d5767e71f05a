//! Finds values one syntax step away from their name: the next item of a list, another field of the
//! same object.

use std::ops::Range;

use super::{
    AssignedName,
    cursor::{AssignedValue, ValueCursor},
    indent_width,
};
use crate::judge::{DetectionMode, SecretKind};

/// Bytes before and after a name that are searched for fields.
const FIELDS: usize = 320;
/// Fields with the value that another field names, in lower case.
const VALUES: &[&str] = &["value", "default", "defaultvalue", "content"];
/// Fields with the name of a value in another field, in lower case.
const LABELS: &[&str] = &["forkey", "key", "name"];

/// Returns the secret that a list, an object or a call assigns to `name`, before or after it.
pub(super) fn find_nearby_secret(
    text: &str,
    name: &AssignedName<'_>,
    family: SecretKind,
    reading: DetectionMode,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut cursor = ValueCursor { bytes, at: name.range.end };
    let closers = cursor.skip_bytes(b"\\\"'`])");
    let after_name = cursor.at;
    if reading == DetectionMode::Code && closers == 0 {
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
    if !is_label && let Some(secret) = next_item(text, name, after_name, family, reading) {
        return Some(secret);
    }
    let may_hold_fields =
        if is_label { b"{\r\n".contains(&next) } else { b"{,;\r\n>c/".contains(&next) };
    let own = name.indent_width() + usize::from(is_label);
    let after = || field_after(text, cursor.at, own, family, reading);
    may_hold_fields.then(after).flatten().or_else(|| field_before(text, name, family, reading))
}

/// Returns the secret that is the list item after `name`, which ends at `at` with its quotes.
fn next_item(
    text: &str,
    name: &AssignedName<'_>,
    at: usize,
    family: SecretKind,
    reading: DetectionMode,
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
    let reading = match reading {
        DetectionMode::Code => DetectionMode::Code,
        other if is_option => other.for_argument(),
        _ => DetectionMode::Loose,
    };
    is_apart.then(|| cursor.range_if_secret(text, &value, family, reading)).flatten()
}

/// Returns the secret in a field after `at` of the same object, whose lines are indented by at
/// least `own`.
fn field_after(
    text: &str,
    at: usize,
    own: usize,
    family: SecretKind,
    reading: DetectionMode,
) -> Option<Range<usize>> {
    let near = text.get(at..text.floor_char_boundary(at + FIELDS))?;
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
            return cursor.range_if_secret(text, &value, family, reading);
        }
        is_word = is_part;
    }
    None
}

/// Reads the value of the field whose name starts at `at`, if it is one of [`VALUES`].
fn read_value_field(text: &str, at: usize) -> Option<(AssignedValue, ValueCursor<'_>)> {
    let rest = text.as_bytes().get(at..)?;
    let length = rest.iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = text.get(at..at + length)?;
    if !VALUES.iter().any(|value| name.eq_ignore_ascii_case(value)) {
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

/// Returns the secret in a field before `name` in the same object or call.
fn field_before(
    text: &str,
    name: &AssignedName<'_>,
    family: SecretKind,
    reading: DetectionMode,
) -> Option<Range<usize>> {
    let before = name.before.trim_end_matches(['"', '\'', '\\', '@']).trim_end();
    let field = before.strip_suffix([':', '='])?.trim_end_matches(['"', '\'', ' ', '\\']);
    let length = field.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let (beside, label) = field.split_at_checked(field.len() - length)?;
    if !LABELS.iter().any(|known| label.eq_ignore_ascii_case(known)) {
        return None;
    }
    let start = name.range.start - name.before.len();
    if label.eq_ignore_ascii_case("forkey") {
        let (literal, quote) = beside.trim_end_matches([',', ' ']).rsplit_once(['"', '\''])?;
        let at = start + literal.rfind(['"', '\'']).filter(|_| quote.is_empty())?;
        let mut cursor = ValueCursor { bytes: text.as_bytes(), at };
        let value = cursor.read_quoted()?;
        return cursor.range_if_secret(text, &value, family, reading);
    }
    let item = beside.rfind("\n-").into_iter().chain(beside.rfind(" - "));
    let object = beside.rfind(['{', '}', '<', '>', ';']).into_iter().chain(beside.rfind("\n\n"));
    let mut at = item.chain(object).max().unwrap_or(0);
    while let Some(rest) = beside.get(at..) {
        at += rest.find(|c: char| c.is_ascii_alphabetic())?;
        if let Some((value, cursor)) = read_value_field(text, start + at) {
            return cursor.range_if_secret(text, &value, family, reading);
        }
        at += beside.get(at..)?.find(|c: char| !c.is_ascii_alphanumeric())?;
    }
    None
}
