//! Reads the text after a name up to the assigned value, and the value.

use std::ops::Range;

use super::{MAX_GAP, MAX_JUDGED, byte_at, name::VALUE_FIELDS, starts_next, starts_sentence};
use crate::judge::{DetectionMode, SecretKind, is_secret};

const MAX_STEPS: usize = 4;
const MAX_LITERALS: usize = 64;

/// A value, or its start.
pub(super) struct AssignedValue {
    range: Range<usize>,
    quote: Option<u8>,
    /// Set if the place allows only a value, so that a word is not part of a sentence.
    pub(super) is_argument: bool,
}

pub(super) struct ValueCursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl ValueCursor<'_> {
    /// Skips at most [`MAX_GAP`] bytes of a set.
    pub(super) fn skip_bytes(&mut self, set: &[u8]) -> usize {
        let rest = self.bytes.iter().skip(self.at);
        let count = rest.take(MAX_GAP).take_while(|byte| set.contains(byte)).count();
        self.at += count;
        count
    }

    pub(super) fn consume_text(&mut self, text: &str) -> bool {
        let is_there =
            self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    pub(super) fn current_byte(&self) -> u8 {
        byte_at(self.bytes, self.at)
    }

    /// Returns the first quoted text after a name in code, behind only types, brackets and signs.
    pub(super) fn read_code_literal(&mut self, name: &Range<usize>) -> Option<AssignedValue> {
        let closers = self.skip_bytes(b"\\\"'`])");
        let before = name.start.checked_sub(1).map_or(0, |before| byte_at(self.bytes, before));
        if closers > 0 && !b"\"'`.([{ ".contains(&before) {
            return None;
        }
        let start = self.at;
        let rest = self.bytes.get(self.at..)?.iter().take(MAX_GAP);
        let is_between =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"_ \t\r\n&<>[]|?*:=,(+-@#$".contains(byte);
        self.at += rest.take_while(|byte| is_between(byte)).count();
        if self.at > start && self.consume_text("//") {
            let rest = self.bytes.iter().skip(self.at).take(MAX_JUDGED);
            self.at += rest.take_while(|byte| **byte != b'\n').count();
            self.skip_bytes(b" \t\r\n");
        }
        let between = self.bytes.get(start..self.at)?;
        let mut lines = between.split(|byte| *byte == b'\n');
        let line = lines.next()?.trim_ascii_end();
        // A name at the end of a line belongs to the next line only if a sign connects them.
        let goes_on =
            lines.next().is_none() || line.last().is_some_and(|sign| b"=:(+".contains(sign));
        (goes_on && self.at > start).then(|| self.read_quoted()).flatten()
    }

    /// Returns the literal of an SQL statement, maybe inside of a call or after a plugin name.
    pub(super) fn read_sql_literal(&mut self) -> Option<AssignedValue> {
        self.skip_bytes(b" (");
        if self.consume_text("BY ")
            || self.consume_text("by ")
            || self.consume_text("AS ")
            || self.consume_text("as ")
        {
            self.skip_bytes(b" ");
        }
        if self.consume_text("= ") || self.consume_text("=") {
            self.skip_bytes(b" ");
        }
        let is_wide = self.current_byte() == b'N' && byte_at(self.bytes, self.at + 1) == b'\'';
        self.at += usize::from(is_wide);
        self.read_quoted()
    }

    /// Returns the ranges of a secret in code, including literals joined to the first one.
    pub(super) fn find_joined_literals(
        &self,
        text: &str,
        value: &AssignedValue,
        kind: SecretKind,
    ) -> Vec<Range<usize>> {
        let Some(first) = self.range_if_secret(text, value, kind, DetectionMode::Code) else {
            return Vec::new();
        };
        let mut found = vec![first.clone()];
        let mut cursor = ValueCursor { bytes: self.bytes, at: first.end };
        while found.len() < MAX_LITERALS {
            cursor.skip_bytes(b"\"'`");
            let start = cursor.at;
            cursor.skip_bytes(b" \t\r\n+.\\");
            let is_apart = self.bytes.get(start..cursor.at).is_some_and(|gap| gap.contains(&b'\n'));
            let next = if is_apart { cursor.read_quoted() } else { None };
            let Some(range) = next.and_then(|next| {
                cursor.range_if_secret(text, &next, SecretKind::Token, DetectionMode::Code)
            }) else {
                break;
            };
            cursor.at = range.end;
            found.push(range);
        }
        found
    }

    /// Skips an assignment sign; signs of comparison do not count.
    pub(super) fn skip_assignment_sign(&mut self) -> bool {
        let start = self.at;
        let is_long = ["=>", ":=", "?=", "+="].iter().any(|sign| self.consume_text(sign));
        if !is_long && !self.consume_text("=") && !self.consume_text(":") {
            return false;
        }
        if !is_long && b"=~:".contains(&self.current_byte()) {
            self.at = start;
            return false;
        }
        true
    }

    /// Skips the field name of a value, as in `name: X_TOKEN, value: …`.
    pub(super) fn skip_paired_name(&mut self) -> bool {
        self.skip_bytes(b" \t\r\n,;/<{");
        let is_quoted = self.skip_bytes(b"\\\"'") > 0;
        let is_named = VALUE_FIELDS.iter().any(|name| self.consume_text(name));
        if is_quoted {
            self.skip_bytes(b"\\\"'");
        }
        self.skip_bytes(b" \t");
        is_named && (self.skip_assignment_sign() || self.consume_text(">")) && {
            self.skip_bytes(b" \t");
            true
        }
    }

    /// Returns whether the value is a block on the following lines.
    pub(super) fn is_block(&self) -> bool {
        let near = self.bytes.iter().skip(self.at).take(5);
        let mut line = near.take_while(|byte| !b"\r\n".contains(byte)).copied();
        let is_open = matches!(line.next(), Some(b'|' | b'>'));
        is_open
            && line.all(|byte| b"+-0123456789 ".contains(&byte))
            && self.bytes.len() > self.at + 5
    }

    /// Skips the syntax between a sign and a value: an anchor, a tag, the start of a list, or a
    /// line end if the next line is indented by more than `column`.
    pub(super) fn skip_value_lead(&mut self, column: usize, mode: DetectionMode) {
        let is_data = mode == DetectionMode::Data;
        for _ in 0..MAX_STEPS {
            let next = byte_at(self.bytes, self.at + 1);
            match self.current_byte() {
                b'&' | b'!' if is_data && (next.is_ascii_alphabetic() || next == b'!') => {
                    let rest = self.bytes.iter().skip(self.at).take(MAX_GAP);
                    let end = self.at + rest.take_while(|byte| !byte.is_ascii_whitespace()).count();
                    if byte_at(self.bytes, end) != b' ' {
                        return;
                    }
                    self.at = end;
                    self.skip_bytes(b" ");
                }
                b'\\' if b"\r\n".contains(&next) => {
                    self.at += 1;
                    self.skip_bytes(b"\r\n \t");
                }
                b'[' if is_data => {
                    self.at += 1;
                    self.skip_bytes(b"\r\n \t");
                }
                b'\r' | b'\n' if is_data && self.is_continued(column) => {
                    self.skip_bytes(b"\r\n \t");
                }
                b'@' if next == b'"' => self.at += 1,
                _ => return,
            }
        }
    }

    /// Returns whether the next line is indented over `column` and no item, field or comment.
    fn is_continued(&self, column: usize) -> bool {
        let rest = self.bytes.iter().skip(self.at).copied();
        let next_line = rest.skip_while(|byte| b"\r\n".contains(byte)).take(MAX_JUDGED);
        let line: Vec<u8> = next_line.take_while(|byte| !b"\r\n".contains(byte)).collect();
        let content = line.trim_ascii_start();
        let is_field =
            content.windows(2).any(|pair| matches!(pair, b": " | b"= " | b" =" | b"=\""));
        line.len() - content.len() > column
            && !is_field
            && !content.ends_with(b":")
            && !content.starts_with(b"- ")
            && !content.starts_with(b"#")
    }

    /// Ends an unquoted value where the object or list around it ends.
    pub(super) fn trim_at_bracket(&self, value: &mut AssignedValue) {
        let mut depth = 0_usize;
        for at in value.range.clone().filter(|_| value.quote.is_none()) {
            match byte_at(self.bytes, at) {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => {
                    value.range.end = at;
                    return;
                }
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
    }

    pub(super) fn read_value(&mut self, is_query: bool) -> Option<AssignedValue> {
        if let Some(value) = self.read_quoted() {
            return Some(value);
        }
        let start = self.at;
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<".contains(byte);
        let ends_query = |byte: &u8| is_query && b";&\\)".contains(byte);
        let rest = self.bytes.get(start..)?.iter().take(MAX_JUDGED + 1);
        let mut end = start + rest.take_while(|byte| !ends(byte) && !ends_query(byte)).count();
        let value = self.bytes.get(start..end)?;
        let next = (1..value.len()).find(|at| starts_next(value, *at));
        end = next.map_or(end, |next| start + next);
        while end > start && b",;)}]".contains(&byte_at(self.bytes, end - 1)) {
            end -= 1;
        }
        Some(AssignedValue { range: start..end, quote: None, is_argument: false })
    }

    pub(super) fn read_quoted(&mut self) -> Option<AssignedValue> {
        let mut is_escaped = self.consume_text("\\");
        let mut quote = self.current_byte();
        if !b"\"'`".contains(&quote) {
            self.at -= usize::from(is_escaped);
            return None;
        }
        let opened = self.at;
        while self.current_byte() == quote {
            self.at += 1;
        }
        let next = byte_at(self.bytes, self.at + 1);
        if self.current_byte() == b'\\' && b"\r\n".contains(&next) || self.at - opened == 3 {
            // Multi-line text starts on the next line.
            self.skip_bytes(b"\\\r\n \t");
        } else if self.at - opened == 1 && self.current_byte() == b'\\' && next == b'"' {
            // A literal inside a literal.
            (is_escaped, quote) = (true, next);
            self.at += 2;
        } else if self.at - opened == 1 && self.current_byte() == b'"' {
            quote = b'"';
            self.at += 1;
        }
        let start = self.at;
        let mut end = start;
        while end - start <= MAX_JUDGED {
            match byte_at(self.bytes, end) {
                b'\n' | b'\r' | 0 => break,
                b'\\' if is_escaped => break,
                b'\\' if quote != b'\'' => end += 2,
                other if other == quote => break,
                _ => end += 1,
            }
        }
        Some(AssignedValue {
            range: start..end.min(self.bytes.len()),
            quote: Some(quote),
            is_argument: false,
        })
    }

    /// Returns whether the quote before a value ends a string that code joins with another one.
    pub(super) fn is_joined(&self, value: &AssignedValue) -> bool {
        value.quote.is_some() && b" .+,)]};".contains(&byte_at(self.bytes, value.range.start))
    }

    pub(super) fn range_if_secret(
        &self,
        text: &str,
        value: &AssignedValue,
        kind: SecretKind,
        mode: DetectionMode,
    ) -> Option<Range<usize>> {
        let Range { start, end } = value.range.clone();
        let end = text.floor_char_boundary(end);
        let read = text.get(start..end)?;
        if value.quote.is_none() {
            let is_computed = read.contains(['(', '[']) && !read.starts_with("[secret");
            let is_word = read.bytes().all(|byte| byte.is_ascii_alphabetic());
            let is_sentence = || is_word && !value.is_argument && starts_sentence(self.bytes, end);
            if is_computed || is_sentence() {
                return None;
            }
        }
        if !is_secret(read, kind, mode) {
            return None;
        }
        if end - start < MAX_JUDGED - 4 {
            return Some(start..end);
        }
        let is_end = |byte: &u8| match value.quote {
            Some(quote) => *byte == quote || b"\r\n".contains(byte),
            None => byte.is_ascii_whitespace() || b"\"'`<".contains(byte),
        };
        let rest = self.bytes.iter().skip(end);
        Some(start..end + rest.take_while(|byte| !is_end(byte)).count())
    }
}
