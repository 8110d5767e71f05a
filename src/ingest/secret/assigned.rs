//! Secrets that are known by the name of what they are assigned to, such as `password: hunter2`.

mod cursor;
mod words;

use std::ops::Range;

pub(super) use self::words::WORDS;
use self::{
    cursor::Cursor,
    words::{HARMLESS, STATEMENTS, TAILS, VARIABLES},
};
use super::{
    MARK,
    judge::{Family, Reading},
    shape::is_placeholder,
};

/// How far names, types and spaces are gone over, in bytes.
const NEAR: usize = 48;
/// How much of a value is judged, in bytes; the rest of it is a secret when that is. Small, as a hostile
/// text is full of names.
const FAR: usize = 128;
/// How many lines a value in a block has at most.
const BLOCK_LINES: usize = 200;
/// How much of a block is judged, in bytes; further lines of it are secrets whatever they say.
const BLOCK_BYTES: usize = 16 * 1024;

/// Adds where the values stand that are assigned to the name that holds `word`, a word of `family`.
pub(super) fn find(
    text: &str,
    word: Range<usize>,
    family: Family,
    reading: Reading,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let is_auth = word.len() == "_auth".len() && byte(bytes, word.start) == b'_';
    let Some(name) = name(bytes, word) else { return };
    if (is_auth && reading != Reading::Data) || is_harmless(text, &name) {
        return;
    }
    let mut cursor = Cursor { bytes, at: name.end };
    if is_statement(text, &name) {
        // SQL, in whatever language it is written.
        if let Some(value) = cursor.sql() {
            into.extend(cursor.judged(text, &value, family, reading.of_argument()));
        }
        return;
    }
    // Connection strings and queries have literal values wherever they stand.
    let is_query = byte(bytes, name.end) == b'='
        && name.start.checked_sub(1).is_some_and(|before| b";?&".contains(&byte(bytes, before)));
    let is_argument = is_argument(text, &name) && b"= ".contains(&byte(bytes, name.end));
    let is_code = reading == Reading::Code;
    let reading = match reading {
        _ if is_query => Reading::Loose,
        _ if is_argument => reading.of_argument(),
        reading => reading,
    };
    if reading == Reading::Code {
        if let Some(value) = cursor.literal(&name) {
            into.extend(cursor.literals(text, &value, family));
        }
        return;
    }
    let Some(reading) = separator(&mut cursor, text, &name, reading) else { return };
    if reading == Reading::Data && cursor.is_block() {
        into.extend(block(text, &name));
    } else if let Some(mut value) = cursor.value(is_query) {
        value.is_argument = is_argument;
        if is_argument && is_code && cursor.is_joined(&value) {
            return;
        }
        let secret = cursor.judged(text, &value, family, reading);
        into.extend(secret.filter(|secret| !is_scope(text, &name, secret)));
    }
}

/// Whether what is called a credential is the scope of a signature: a user, a day and a service.
fn is_scope(text: &str, name: &Range<usize>, value: &Range<usize>) -> bool {
    let [name, value] = [name, value].map(|range| text.get(range.clone()).unwrap_or_default());
    let is_day = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_digit());
    name.to_ascii_lowercase().ends_with("credential")
        && value.replace("%2F", "/").split('/').any(is_day)
}

/// Whether a name is that of an option of a program, or of a variable that only a program reads.
fn is_argument(text: &str, name: &Range<usize>) -> bool {
    let name = text.get(name.clone()).unwrap_or_default();
    let is_option = name.starts_with("--") && name.len() > 2;
    is_option || VARIABLES.contains(&name)
}

/// Whether a name is what gives a password in a statement of SQL: `IDENTIFIED BY`, or `PASSWORD` in one
/// that is about users.
fn is_statement(text: &str, name: &Range<usize>) -> bool {
    let is_by = |name: &str| name.to_ascii_lowercase().ends_with("identified by");
    let named = text.get(name.clone()).unwrap_or_default();
    if is_by(named) {
        return true;
    }
    let follows = text.as_bytes().get(name.end).copied().unwrap_or_default();
    if !named.to_ascii_lowercase().ends_with("password") || !b" (".contains(&follows) {
        return false;
    }
    let line = before(text, name.start).to_ascii_lowercase();
    STATEMENTS.iter().any(|statement| line.contains(statement))
        || line.ends_with("identified with ")
}

/// Returns what stands before `at` in its line, as far as that is read.
fn before(text: &str, at: usize) -> &str {
    let start = text.ceil_char_boundary(at.saturating_sub(4 * NEAR));
    let before = text.get(start..at).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default()
}

/// Returns where the name stands that ends with `word` and perhaps a tail.
fn name(bytes: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let length = |rest: &[u8]| rest.iter().take(NEAR).take_while(|byte| is_part(byte)).count();
    let end = word.end + length(bytes.get(word.end..)?);
    let before = bytes.get(word.start.saturating_sub(NEAR)..word.start)?;
    let mut start = word.start - before.iter().rev().take_while(|byte| is_part(byte)).count();
    let escape = start.checked_sub(1).and_then(|before| bytes.get(before..=start));
    if start < word.start && matches!(escape, Some([b'\\', b'n' | b'r' | b't'])) {
        start += 1;
    }
    if word.len() <= 4 && start < word.start {
        // `bypass` and `compass` are other words; `dbPass` and `DB_PASS` are not.
        let (before, first) = (byte(bytes, word.start - 1), byte(bytes, word.start));
        if before.is_ascii_alphabetic() && before.is_ascii_lowercase() == first.is_ascii_lowercase()
        {
            return None;
        }
    }
    let tail = str::from_utf8(bytes.get(word.end..end)?).ok()?;
    let tail: String = tail.chars().filter(char::is_ascii_alphabetic).collect();
    TAILS.contains(&tail.to_ascii_lowercase().as_str()).then_some(start..end)
}

/// Whether a name is one of a token that is no secret, or a part of a name with colons (an ARN).
fn is_harmless(text: &str, name: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let before = name.start.checked_sub(1).map_or(0, |before| byte(bytes, before));
    if before == b':' && byte(bytes, name.end) == b':' {
        return true;
    }
    let lower = text.get(name.clone()).unwrap_or_default().to_ascii_lowercase();
    let what = lower.strip_suffix("token").map(|what| what.trim_end_matches(['-', '_']));
    what.is_some_and(|what| HARMLESS.iter().any(|harmless| what.ends_with(harmless)))
}

/// Goes over what stands between a name and its value; returns how the value is to be read.
fn separator(
    cursor: &mut Cursor<'_>,
    text: &str,
    name: &Range<usize>,
    reading: Reading,
) -> Option<Reading> {
    if cursor.takes("</key>") {
        // A property list.
        cursor.skip(b" \t\r\n");
        return cursor.takes("<string>").then_some(reading);
    }
    let is_element = cursor.here() == b'>';
    let closers = cursor.skip(b"\\\"'`])");
    if reading == Reading::Data && cursor.here() == b'>' && (is_element || closers > 0) {
        cursor.at += 1;
        return Some(reading);
    }
    let after_name = cursor.at;
    let spaces = cursor.skip(b" \t");
    if cursor.sign() {
        cursor.skip(b" \t");
        return Some(reading);
    }
    if closers > 0 || cursor.here() == b'\n' || cursor.here() == b'\r' || cursor.here() == b',' {
        cursor.at = after_name;
        return cursor.pair().then_some(reading);
    }
    (spaces > 0 && closers == 0).then(|| spaced(text, name, reading)).flatten()
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(rest.len())
}

/// Whether another name and value start at a comma, as in `password=a,user=b`.
fn starts_next(value: &[u8], at: usize) -> bool {
    if !b",;&".contains(&byte(value, at)) {
        return false;
    }
    let rest = value.get(at + 1..).unwrap_or_default();
    let name = rest.iter().take(NEAR).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    name > 0 && b"=:".contains(&byte(rest, name))
}

/// Whether a word at the end of which `at` is goes on as a sentence.
fn starts_sentence(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default().iter().take(NEAR);
    let next = rest.copied().find(|byte| !matches!(byte, b' ' | b'\t'));
    next.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"('\"`".contains(&byte))
}

/// Returns how a value is to be read that follows its name after a space, if one may: that of an option of
/// a command, a setting of a Dockerfile, a directive of a configuration, a login.
fn spaced(text: &str, name: &Range<usize>, reading: Reading) -> Option<Reading> {
    let line = before(text, name.start).trim();
    if is_argument(text, name) || (line.is_empty() && reading == Reading::Data) {
        return Some(reading);
    }
    let is_login = || line.split_whitespace().any(|word| word == "login");
    (matches!(line, "ENV" | "ARG") || is_login()).then_some(Reading::Loose)
}

/// Returns the lines below that of `name` that are indented more, each without its indent.
fn block(text: &str, name: &Range<usize>) -> Vec<Range<usize>> {
    let before = before(text, name.start);
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let own = indent(before);
    let begun = line_end(text.as_bytes(), name.end);
    let mut at = begun;
    let mut found = Vec::new();
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n').take(BLOCK_LINES) {
        let content = line.trim();
        if !content.is_empty() {
            if indent(line) <= own {
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
