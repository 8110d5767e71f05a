//! Secrets that are known by the name of what they are assigned to, such as `password: hunter2`.

use std::ops::Range;

use super::{
    MARK,
    judge::{Family, Reading, is_secret},
    shape::is_placeholder,
};

/// Words that names of secrets end with.
pub(super) const WORDS: &[(&str, Family)] = &[
    ("password", Family::Password),
    ("passwd", Family::Password),
    ("passphrase", Family::Password),
    ("passwort", Family::Password),
    ("pwd", Family::Password),
    ("pass", Family::Password),
    ("requirepass", Family::Password),
    ("identified by", Family::Password),
    ("masterauth", Family::Password),
    ("secret", Family::Token),
    ("token", Family::Token),
    ("api_key", Family::Token),
    ("apikey", Family::Token),
    ("api-key", Family::Token),
    ("access_key", Family::Token),
    ("accesskey", Family::Token),
    ("access-key", Family::Token),
    ("account_key", Family::Token),
    ("accountkey", Family::Token),
    ("app_key", Family::Token),
    ("auth_key", Family::Token),
    ("authkey", Family::Token),
    ("encryption_key", Family::Token),
    ("encryptionkey", Family::Token),
    ("license_key", Family::Token),
    ("master_key", Family::Token),
    ("masterkey", Family::Token),
    ("private_key", Family::Token),
    ("privatekey", Family::Token),
    ("private-key", Family::Token),
    ("shared_key", Family::Token),
    ("sharedkey", Family::Token),
    ("signing_key", Family::Token),
    ("signingkey", Family::Token),
    ("storage_key", Family::Token),
    ("credential", Family::Token),
    ("_auth", Family::Token),
];

/// What may follow such a word in a name, without its separators, lower case.
const TAILS: &[&str] = &[
    "",
    "base",
    "key",
    "keybase",
    "accesskey",
    "value",
    "string",
    "text",
    "plain",
    "plaintext",
    "data",
    "raw",
    "hash",
    "prod",
    "production",
    "dev",
    "development",
    "stage",
    "staging",
    "test",
    "live",
    "old",
    "new",
    "current",
    "previous",
    "next",
    "primary",
    "secondary",
    "default",
    "master",
    "admin",
    "root",
    "user",
    "db",
    "pepper",
    "salt",
    "seed",
    "encrypted",
];

/// What tokens are called that are no secrets: places in lists, numbers of requests and versions.
const HARMLESS: &[&str] = &[
    "cancellation",
    "change",
    "client",
    "continuation",
    "idempotency",
    "lock",
    "next",
    "page",
    "purchase",
    "request",
    "session_start",
    "sync",
    "update",
    "nextpage",
    "backward",
    "forward",
    "creator",
    "starting",
];

/// Names of values, in lists of names and values.
const PAIRED: &[&str] = &["value", "Value", "default", "defaultValue"];

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
    // Connection strings and queries have literal values wherever they stand.
    let is_query = byte(bytes, name.end) == b'='
        && name.start.checked_sub(1).is_some_and(|before| b";?&".contains(&byte(bytes, before)));
    let reading = if is_query { Reading::Loose } else { reading };
    let mut cursor = Cursor { bytes, at: name.end };
    if reading == Reading::Code {
        if let Some(value) = cursor.literal(&name) {
            into.extend(cursor.judged(text, &value, family, reading));
        }
        return;
    }
    let Some(reading) = cursor.separator(text, &name, reading) else { return };
    if reading == Reading::Data && cursor.is_block() {
        into.extend(block(text, &name));
    } else if let Some(value) = cursor.value(is_query) {
        into.extend(cursor.judged(text, &value, family, reading));
    }
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

/// A value, or how it starts.
struct Value {
    range: Range<usize>,
    /// Stands at its end, if it is quoted.
    quote: Option<u8>,
}

/// Goes over what follows a name.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Goes over at most [`NEAR`] bytes of a set.
    fn skip(&mut self, set: &[u8]) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take(NEAR).take_while(|byte| set.contains(byte)).count();
        self.at += count;
        count
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_there =
            self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    fn here(&self) -> u8 {
        byte(self.bytes, self.at)
    }

    /// Returns the literal that code gives to a name: what stands between the first quotes after it,
    /// when types, brackets and signs are all that comes before.
    fn literal(&mut self, name: &Range<usize>) -> Option<Value> {
        let closers = self.skip(b"\\\"'`])");
        let before = name.start.checked_sub(1).map_or(0, |before| byte(self.bytes, before));
        if closers > 0 && !b"\"'`.([{ ".contains(&before) {
            return None;
        }
        let start = self.at;
        let rest = self.bytes.get(self.at..)?.iter().take(NEAR);
        let is_between =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"_ \t&<>[]|?*:=,(+-".contains(byte);
        self.at += rest.take_while(|byte| is_between(byte)).count();
        (self.at > start).then(|| self.quoted()).flatten()
    }

    /// Goes over what stands between a name and its value; returns how the value is to be read.
    fn separator(&mut self, text: &str, name: &Range<usize>, reading: Reading) -> Option<Reading> {
        if self.takes("</key>") {
            // A property list.
            self.skip(b" \t\r\n");
            return self.takes("<string>").then_some(reading);
        }
        let is_element = self.here() == b'>';
        let closers = self.skip(b"\\\"'`])");
        if reading == Reading::Data && self.here() == b'>' && (is_element || closers > 0) {
            self.at += 1;
            return Some(reading);
        }
        let after_name = self.at;
        let spaces = self.skip(b" \t");
        if self.sign() {
            self.skip(b" \t");
            return Some(reading);
        }
        if closers > 0 || self.here() == b'\n' || self.here() == b'\r' || self.here() == b',' {
            self.at = after_name;
            return self.pair().then_some(reading);
        }
        (spaces > 0 && closers == 0).then(|| spaced(text, name, reading)).flatten()
    }

    /// Goes over a sign that assigns; one that compares is none.
    fn sign(&mut self) -> bool {
        let start = self.at;
        let is_long = ["=>", ":=", "?=", "+="].iter().any(|sign| self.takes(sign));
        if !is_long && !self.takes("=") && !self.takes(":") {
            return false;
        }
        if !is_long && b"=~:".contains(&self.here()) {
            self.at = start;
            return false;
        }
        true
    }

    /// Goes over the name of a value, as in `name: X_TOKEN, value: …`.
    fn pair(&mut self) -> bool {
        self.skip(b" \t\r\n,;/<{");
        let is_quoted = self.skip(b"\\\"'") > 0;
        let is_named = PAIRED.iter().any(|name| self.takes(name));
        if is_quoted {
            self.skip(b"\\\"'");
        }
        self.skip(b" \t");
        is_named && (self.sign() || self.takes(">")) && {
            self.skip(b" \t");
            true
        }
    }

    /// Whether the value stands in the lines below.
    fn is_block(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let line = rest.iter().take(5).take_while(|byte| !b"\r\n".contains(byte));
        let mut line = line.copied();
        let is_open = matches!(line.next(), Some(b'|' | b'>'));
        is_open && line.all(|byte| b"+-0123456789 ".contains(&byte)) && rest.len() > 5
    }

    /// Returns the value here.
    fn value(&mut self, is_query: bool) -> Option<Value> {
        if self.takes("!!str") {
            self.skip(b" ");
        }
        if let Some(value) = self.quoted() {
            return Some(value);
        }
        let start = self.at;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<".contains(byte);
        let ends_query = |byte: &u8| is_query && b";&\\)".contains(byte);
        let rest = self.bytes.get(start..)?.iter().take(FAR + 1);
        let mut end = start + rest.take_while(|byte| !ends(byte) && !ends_query(byte)).count();
        let value = self.bytes.get(start..end)?;
        let next = (1..value.len()).find(|at| starts_next(value, *at));
        end = next.map_or(end, |next| start + next);
        while end > start && b",;)}]".contains(&byte(self.bytes, end - 1)) {
            end -= 1;
        }
        Some(Value { range: start..end, quote: None })
    }

    /// Returns what stands between quotes, if one is here.
    fn quoted(&mut self) -> Option<Value> {
        let is_escaped = self.takes("\\");
        let quote = self.here();
        if !b"\"'`".contains(&quote) {
            self.at -= usize::from(is_escaped);
            return None;
        }
        while self.here() == quote {
            self.at += 1;
        }
        let start = self.at;
        let mut end = start;
        while end - start <= FAR {
            match byte(self.bytes, end) {
                b'\n' | b'\r' | 0 => break,
                b'\\' if is_escaped => break,
                b'\\' if quote != b'\'' => end += 2,
                other if other == quote => break,
                _ => end += 1,
            }
        }
        Some(Value { range: start..end.min(self.bytes.len()), quote: Some(quote) })
    }

    /// Returns where the value stands if it is a secret.
    fn judged(
        &self,
        text: &str,
        value: &Value,
        family: Family,
        reading: Reading,
    ) -> Option<Range<usize>> {
        let Range { start, end } = value.range.clone();
        let end = text.floor_char_boundary(end);
        let read = text.get(start..end)?;
        if value.quote.is_none() {
            let is_computed = read.contains(['(', '[']) && !read.starts_with("[secret");
            let is_word = read.bytes().all(|byte| byte.is_ascii_alphabetic());
            if is_computed || (is_word && starts_sentence(self.bytes, end)) {
                return None;
            }
        }
        if !is_secret(read, family, reading) {
            return None;
        }
        if end - start < FAR - 4 {
            return Some(start..end);
        }
        let is_end = |byte: &u8| match value.quote {
            Some(quote) => *byte == quote || b"\r\n".contains(byte),
            None => byte.is_ascii_whitespace() || b"\"'`<".contains(byte),
        };
        let rest = self.bytes.get(end..).unwrap_or_default();
        Some(start..end + rest.iter().position(is_end).unwrap_or(rest.len()))
    }
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
    let start = text.ceil_char_boundary(name.start.saturating_sub(2 * NEAR));
    let line = text.get(start..name.start).unwrap_or_default();
    let line = line.rsplit('\n').next().unwrap_or_default().trim();
    if line.is_empty() && reading == Reading::Data {
        return Some(reading);
    }
    let is_option = text.get(name.clone()).is_some_and(|name| {
        // The other is SQL.
        name.starts_with("--") || name.ends_with(" by") || name.ends_with(" BY")
    });
    let is_login = || line.split_whitespace().any(|word| word == "login");
    (is_option || matches!(line, "ENV" | "ARG") || is_login()).then_some(Reading::Loose)
}

/// Returns the lines below that of `name` that are indented more, each without its indent.
fn block(text: &str, name: &Range<usize>) -> Vec<Range<usize>> {
    let near = text.ceil_char_boundary(name.start.saturating_sub(2 * NEAR));
    let before = text.get(near..name.start).unwrap_or_default();
    let before = before.rsplit('\n').next().unwrap_or_default();
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
