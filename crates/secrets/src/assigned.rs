//! Secrets that are known by the name of what they are assigned to, such as `password: hunter2`.

mod cursor;
mod name;
mod step;
mod words;

use std::ops::Range;

pub(super) use self::words::WORDS;
use self::{cursor::Cursor, name::Name};
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
    let Some(name) = Name::ending_with(text, word) else { return };
    if (is_auth && reading != Reading::Data) || name.is_harmless(bytes) {
        return;
    }
    let mut cursor = Cursor { bytes, at: name.range.end };
    if name.is_statement(bytes) {
        // SQL, in whatever language it is written.
        if let Some(value) = cursor.sql() {
            into.extend(cursor.judged(text, &value, family, reading.of_argument()));
        }
        return;
    }
    let found = into.len();
    follow(text, &name, family, reading, into);
    if into.len() == found {
        into.extend(step::find(text, &name, family, reading));
    }
}

/// Adds where the values stand that follow `name`, after a sign or alone.
fn follow(
    text: &str,
    name: &Name<'_>,
    family: Family,
    reading: Reading,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let mut cursor = Cursor { bytes, at: name.range.end };
    // Connection strings and queries have literal values wherever they stand.
    let follows = byte(bytes, name.range.end);
    let is_query = follows == b'=' && name.before.ends_with([';', '?', '&']);
    let is_argument = name.is_argument() && b"= ".contains(&follows);
    let is_code = reading == Reading::Code;
    let reading = match reading {
        _ if is_query => Reading::Loose,
        _ if is_argument => reading.of_argument(),
        reading => reading,
    };
    let reading = match reading {
        Reading::Code if name.is_in_comment() => Reading::Loose,
        Reading::Code if follows == b'=' && name.before.ends_with(['"', '\'']) => Reading::Code,
        Reading::Code => {
            let value = cursor.literal(&name.range);
            into.extend(value.iter().flat_map(|value| cursor.literals(text, value, family)));
            return;
        }
        reading => reading,
    };
    let Some(reading) = separator(&mut cursor, name, reading) else { return };
    if reading == Reading::Data && cursor.is_block() {
        into.extend(block(text, name));
        return;
    }
    cursor.step_in(name.column(), reading);
    if let Some(mut value) = cursor.value(is_query) {
        value.is_argument = is_argument;
        if name.is_in_flow() {
            cursor.close(&mut value);
        }
        if is_argument && is_code && cursor.is_joined(&value) {
            return;
        }
        let Some(secret) = cursor.judged(text, &value, family, reading) else { return };
        if !text.get(secret.clone()).is_some_and(|value| name.is_of_scope(value)) {
            into.push(secret);
        }
    }
}

/// Goes over what stands between a name and its value; returns how the value is to be read.
fn separator(cursor: &mut Cursor<'_>, name: &Name<'_>, reading: Reading) -> Option<Reading> {
    if cursor.takes("</key>") {
        // A property list.
        cursor.skip(b" \t\r\n");
        return cursor.takes("<string>").then_some(reading);
    }
    let is_element = cursor.here() == b'>';
    let closers = cursor.skip(b"\\\"'`*])");
    if reading == Reading::Data && cursor.here() == b'>' && (is_element || closers > 0) {
        cursor.at += 1;
        return Some(reading);
    }
    let after_name = cursor.at;
    let spaces = cursor.skip(b" \t\\");
    if cursor.sign() {
        cursor.skip(b" \t*");
        return Some(reading);
    }
    if reading == Reading::Loose && name.line_before().starts_with('|') && cursor.takes("|") {
        cursor.skip(b" ");
        return Some(reading);
    }
    if closers > 0 || cursor.here() == b'\n' || cursor.here() == b'\r' || cursor.here() == b',' {
        cursor.at = after_name;
        return cursor.pair().then_some(reading);
    }
    let is_quoted = reading == Reading::Script && b"\"'".contains(&cursor.here());
    if spaces > 0 && closers == 0 && is_quoted {
        return Some(Reading::Loose);
    }
    (spaces > 0 && closers == 0).then(|| spaced(name, reading)).flatten()
}

/// Returns the byte at `at`, or 0 after the end, which no rule looks for.
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Whether another name and value start at a comma, as in `password=a,user=b`.
fn starts_next(value: &[u8], at: usize) -> bool {
    let name = value.iter().skip(at + 1).take(NEAR);
    let length = name.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    b",;&".contains(&byte(value, at)) && length > 0 && b"=:".contains(&byte(value, at + 1 + length))
}

/// Whether a word at the end of which `at` is goes on as a sentence.
fn starts_sentence(bytes: &[u8], at: usize) -> bool {
    let mut next = bytes.iter().skip(at).take(NEAR).filter(|byte| !b" \t".contains(byte));
    next.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"('\"`".contains(byte))
}

/// Returns how a value is to be read that follows its name after a space, if one may: that of an option of
/// a command, a setting of a Dockerfile, a directive of a configuration, a login.
fn spaced(name: &Name<'_>, reading: Reading) -> Option<Reading> {
    let line = name.line_before().trim();
    if name.is_argument() || (line.is_empty() && reading == Reading::Data) {
        return Some(reading);
    }
    let is_given = || line.split_whitespace().any(|word| matches!(word, "login" | "set" | "setx"));
    (matches!(line, "ENV" | "ARG") || is_given()).then_some(Reading::Loose)
}

/// Returns how far a line is indented, the dash of a list included.
fn column(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '-']).len()
}

/// Returns the lines below that of `name` that are indented more, each without its indent.
fn block(text: &str, name: &Name<'_>) -> Vec<Range<usize>> {
    let own = name.column();
    let mut found = Vec::new();
    let Some((_, rest)) = text.split_at_checked(name.range.end) else { return found };
    let end_of_line = rest.bytes().take_while(|byte| !b"\r\n".contains(byte)).count();
    let (_, below) = rest.split_at(end_of_line);
    let begun = text.len() - below.len();
    let mut at = begun;
    for line in below.split_inclusive('\n').take(BLOCK_LINES) {
        let content = line.trim();
        if !content.is_empty() {
            if column(line) <= own {
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
