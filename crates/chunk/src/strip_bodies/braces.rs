//! Finds bodies in braces, in languages whose comments and strings may contain braces.

use std::ops::Range;

use codeinfo_lang::grammar::LexicalSyntax;

use super::{
    super::lines::WHOLE, find_bytes, guess_length, insert_body, is_small_definition, line_length,
    quoted_length, regex_length, string_length, template_length,
};

struct OpenBrace {
    at: usize,
    /// True if it may contain definitions with names of their own.
    is_container: bool,
    before: StatementState,
}

/// A statement read up to the current position.
#[derive(Clone, Copy, Default)]
struct StatementState {
    start: usize,
    /// Byte offset after its last brace.
    head: usize,
    /// True if its last brace was a container, so that another may follow: `class A<B = {}> {`.
    is_container: bool,
    depth: usize,
    /// The last byte that is not blank.
    last: Option<u8>,
}

impl StatementState {
    fn new(start: usize) -> Self {
        Self { start, head: start, ..Self::default() }
    }
}

/// Finds the contents of the largest braces that the outline does not open, in order. In some
/// languages, the words `containers` mark braces with definitions. Returns `None` if the braces do
/// not match, and for PHP with text outside its tags or with heredocs.
pub(super) fn find_bodies(
    lexis: LexicalSyntax,
    containers: &[&str],
    text: &str,
) -> Option<Vec<Range<usize>>> {
    if lexis == LexicalSyntax::Php && !is_plain_php(text) {
        return None;
    }
    let bytes = text.as_bytes();
    let mut bodies: Vec<Range<usize>> = Vec::new();
    let mut open: Vec<OpenBrace> = Vec::new();
    let mut statement = StatementState::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = match byte {
            b'/' | b'"' | b'\'' | b'`' | b'#' => skip_text(lexis, bytes, at)?,
            _ => at + 1,
        };
        match byte {
            b'{' => {
                let head = bytes.get(statement.head..at)?;
                let is_container = statement.is_container || is_container(lexis, containers, head);
                open.push(OpenBrace { at, is_container, before: statement });
                statement = StatementState::new(next);
            }
            b'}' => {
                let OpenBrace { at: start, is_container, before } = open.pop()?;
                if !is_container && is_small_definition(bytes.get(before.start..at)?) {
                    insert_body(&mut bodies, start + 1..at);
                }
                let is_continued = match bytes.get(next..)?.trim_ascii_start() {
                    // Parameters, types and tables continue after their braces.
                    [b'>' | b',' | b')' | b']' | b'&' | b'|' | b':' | b'=' | b'{', ..] => true,
                    // In scripts, an array of the type in braces; elsewhere an attribute.
                    [b'[', ..] => lexis == LexicalSyntax::Script,
                    _ => false,
                };
                statement = if is_continued {
                    StatementState { head: next, is_container, last: Some(byte), ..before }
                } else {
                    StatementState { depth: before.depth, ..StatementState::new(next) }
                };
            }
            b';' if statement.depth == 0 => statement = StatementState::new(next),
            b'\n' if statement.ends_here(lexis) => statement.start = next,
            // A comment or directive before the statement.
            b'/' | b'#' if at + 1 < next && statement.last.is_none() => {
                statement = StatementState { depth: statement.depth, ..StatementState::new(next) };
            }
            _ => statement.read_byte(byte),
        }
        at = next;
    }
    open.is_empty().then_some(bodies)
}

impl StatementState {
    fn read_byte(&mut self, byte: u8) {
        match byte {
            b'(' | b'[' => self.depth += 1,
            b')' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.last = Some(byte);
        }
    }

    /// Returns true if a line end may end the statement, in languages that need no semicolon.
    fn ends_here(&self, lexis: LexicalSyntax) -> bool {
        matches!(lexis, LexicalSyntax::Go | LexicalSyntax::Script)
            && self.depth == 0
            && self.last == Some(b')')
    }
}

/// Returns true if a text is PHP from its first line to its last, without heredocs.
fn is_plain_php(text: &str) -> bool {
    text.starts_with("<?php") && !text.contains("?>") && !text.contains("<<<")
}

/// Returns true if the text before a brace announces definitions. A false positive only costs time.
fn is_container(lexis: LexicalSyntax, containers: &[&str], head: &[u8]) -> bool {
    if WHOLE.bytes < head.len() {
        // A body this large is never taken out.
        return true;
    }
    let trimmed = head.trim_ascii_end();
    match lexis {
        // `struct a *f(struct b *c) {` and `struct a b = {` contain no definitions.
        LexicalSyntax::C if trimmed.ends_with(b")") || trimmed.ends_with(b"=") => return false,
        LexicalSyntax::Php if trimmed.ends_with(b"\\") => return true,
        // Names may be in braces: `let { a, b } = …`.
        LexicalSyntax::Script if ends_with_word(trimmed, &[b"const", b"let", b"var"]) => {
            return true;
        }
        _ => {}
    }
    let mut found = false;
    let mut before = b' ';
    let mut rest = trimmed;
    while let Some((&first, after)) = rest.split_first() {
        if !is_word(first) {
            (before, rest) = (first, after);
            continue;
        }
        let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if lexis == LexicalSyntax::Rust && word == b"fn" {
            return found;
        }
        // `Thing.class` is an expression.
        found |= before != b'.' && containers.iter().any(|known| known.as_bytes() == word);
        (before, rest) = (b' ', after);
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || 0x7f < byte
}

/// Returns the end of the comment, string or directive at `at`, or the next byte if none starts
/// there; `None` if it has no end, because its start may have been something else.
pub(in super::super) fn skip_text(lexis: LexicalSyntax, bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let before = |back: usize| at.checked_sub(back).and_then(|at| bytes.get(at)).copied();
    let length = match rest {
        [b'/', b'/', ..] => line_length(rest),
        [b'/', b'*', ..] => comment_length(rest, lexis == LexicalSyntax::Rust)?,
        [b'"', b'"', b'"', ..] if matches!(lexis, LexicalSyntax::Java | LexicalSyntax::Csharp) => {
            let quotes = rest.iter().take_while(|byte| **byte == b'"').count();
            quotes + find_bytes(rest.get(quotes..)?, rest.get(..quotes)?)? + quotes
        }
        [b'"', ..] => match (lexis, before(1)) {
            (LexicalSyntax::Csharp, Some(b'@')) => verbatim_length(rest)?,
            (LexicalSyntax::Csharp, Some(b'$')) if before(2) == Some(b'@') => {
                verbatim_length(rest)?
            }
            (LexicalSyntax::C, Some(b'R')) => {
                let open = rest.iter().take(18).position(|byte| *byte == b'(')?;
                let end = [b")", rest.get(1..open)?, b"\""].concat();
                open + find_bytes(rest.get(open..)?, &end)? + end.len()
            }
            (LexicalSyntax::Rust, Some(b'r' | b'#')) => match find_raw_string_end(bytes, at) {
                Some(end) => find_bytes(rest.get(1..)?, &end)? + 1 + end.len(),
                None => quoted_length(rest, true)?,
            },
            (LexicalSyntax::Script, _) => guess_length(string_length(rest, false)),
            (lexis, _) => {
                quoted_length(rest, matches!(lexis, LexicalSyntax::Php | LexicalSyntax::Rust))?
            }
        },
        // A digit separator.
        [b'\'', ..] if lexis == LexicalSyntax::C && before(1).is_some_and(is_word) => 1,
        [b'\'' | b'`', ..] if lexis == LexicalSyntax::Php => quoted_length(rest, true)?,
        [b'#', b'[', ..] if lexis == LexicalSyntax::Php => 1,
        [b'#', ..] if lexis == LexicalSyntax::Php => line_length(rest),
        [b'`', ..] if lexis == LexicalSyntax::Script => template_length(rest)?,
        // Text between tags has apostrophes.
        [b'\'', ..] if lexis == LexicalSyntax::Script => guess_length(string_length(rest, false)),
        [b'/', ..] if lexis == LexicalSyntax::Script && may_start(bytes.get(..at)?) => {
            guess_length(regex_length(rest))
        }
        [b'\'', b'\\', ..] => quoted_length(rest, false)?,
        [b'\'', ..] if lexis == LexicalSyntax::Rust => {
            // A character, or else a lifetime.
            let width = rest.iter().skip(2).take_while(|byte| **byte & 0xc0 == 0x80).count() + 1;
            if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
        }
        [b'\'', ..] => quoted_length(rest, false)?,
        [b'`', after @ ..] if lexis == LexicalSyntax::Go => find_bytes(after, b"`")? + 2,
        [b'#', ..] if matches!(lexis, LexicalSyntax::C | LexicalSyntax::Csharp) => {
            directive_length(bytes, at)
        }
        _ => 1,
    };
    Some(at + length)
}

fn comment_length(rest: &[u8], nests: bool) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        match rest.get(at..)? {
            [b'/', b'*', ..] if nests || depth == 0 => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            [] => return None,
            _ => at += 1,
        }
    }
}

/// Returns the length in bytes of a string that escapes a quote by doubling it.
fn verbatim_length(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += find_bytes(rest.get(at..)?, b"\"")? + 1;
        if rest.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns the end mark, such as `"#`, of the raw string whose quote is at `at`; `None` for others.
fn find_raw_string_end(bytes: &[u8], at: usize) -> Option<Vec<u8>> {
    let hashes = bytes.get(..at)?.iter().rev().take_while(|byte| **byte == b'#').count();
    let mut before = bytes.get(..at - hashes)?.iter().rev();
    let is_raw = match (before.next(), before.next()) {
        (Some(b'r'), Some(b'b' | b'c')) => true,
        (Some(b'r'), before) => !before.copied().is_some_and(is_word),
        _ => false,
    };
    is_raw.then(|| [b"\"".as_slice(), &b"#".repeat(hashes)].concat())
}

/// Returns true if a slash after such text starts a regular expression instead of a division.
fn may_start(before: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[b"case", b"else", b"in", b"of", b"return", b"throw", b"typeof"];
    let trimmed = before.trim_ascii_end();
    match trimmed.last() {
        Some(last) if is_word(*last) => ends_with_word(trimmed, WORDS),
        last => last.is_none_or(|last| b"(,=:[!&|?{;+-*%>~^".contains(last)),
    }
}

fn ends_with_word(text: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| {
        text.strip_suffix(*word)
            .is_some_and(|before| before.last().is_none_or(|last| !is_word(*last)))
    })
}

/// Returns the length in bytes of a directive with its continuation lines. It is skipped because a
/// macro need not contain whole statements, and prose after `#error` may have apostrophes.
fn directive_length(bytes: &[u8], at: usize) -> usize {
    let mut before = bytes.get(..at).unwrap_or_default().iter().rev();
    let is_first =
        before.find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n');
    if !is_first {
        return 1;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let mut length = line_length(rest);
    while length < rest.len() && rest.get(..length).is_some_and(is_continued_line) {
        length += 1 + line_length(rest.get(length + 1..).unwrap_or_default());
    }
    length
}

/// Returns true if the last line of a directive continues on the next one.
fn is_continued_line(line: &[u8]) -> bool {
    line.iter().rfind(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) == Some(&b'\\')
}
