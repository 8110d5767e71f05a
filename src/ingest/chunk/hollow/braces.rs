//! Bodies in braces, in languages whose comments and strings have braces of their own.

use std::ops::Range;

use super::{fits, insert};

/// How comments and strings of a language look, and which of its blocks are opened however small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    C,
    Csharp,
    Go,
    Java,
    Php,
    Rust,
    /// JavaScript and TypeScript.
    Script,
}

/// A brace that is not closed yet.
struct Block {
    /// Where what stands before it starts.
    head: usize,
    at: usize,
    /// Whether what it holds may be definitions, with names of their own.
    is_container: bool,
}

impl Family {
    /// Returns the family of a text. PHP may be anything outside its tags, and in its longer strings.
    fn of(language: &str, text: &str) -> Option<Self> {
        Some(match language {
            "c" | "cpp" | "cuda" => Self::C,
            "csharp" => Self::Csharp,
            "go" => Self::Go,
            "java" => Self::Java,
            "php" if !text.contains("?>") && !text.contains("<<<") => Self::Php,
            "rust" => Self::Rust,
            "javascript" | "tsx" | "typescript" => Self::Script,
            _ => return None,
        })
    }
}

/// Finds what the largest braces hold that need not be looked into, in order. `None` for languages that
/// are not read this way and for texts whose braces do not match.
pub(super) fn bodies(language: &str, text: &str) -> Option<Vec<Range<usize>>> {
    let family = Family::of(language, text)?;
    let bytes = text.as_bytes();
    let mut bodies: Vec<Range<usize>> = Vec::new();
    let mut open: Vec<Block> = Vec::new();
    // Where what stands before the next brace starts.
    let mut head = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'{' => {
                let is_container = is_container(family, bytes.get(head..at)?);
                open.push(Block { head, at, is_container });
                head = at + 1;
                head
            }
            b'}' => {
                let block = open.pop()?;
                let body = block.at + 1..at;
                let content = bytes.get(body.clone())?;
                let whole = bytes.get(block.head..at)?;
                // Names may be told by what one line holds: `let { a, b } = …`.
                let is_name = || family == Family::Script && !content.contains(&b'\n');
                if !block.is_container && fits(whole, content) && !is_name() {
                    insert(&mut bodies, body);
                }
                head = at + 1;
                head
            }
            b';' => {
                head = at + 1;
                head
            }
            b'/' | b'"' | b'\'' | b'`' | b'#' => {
                let end = passed(family, bytes, at)?;
                let is_comment = byte == b'/' && at + 1 < end;
                if is_comment && bytes.get(head..at)?.iter().all(u8::is_ascii_whitespace) {
                    head = end;
                }
                end
            }
            _ => at + 1,
        };
    }
    open.is_empty().then_some(bodies)
}

/// Whether what stands before a brace says that definitions follow. A wrong yes costs time only.
fn is_container(family: Family, head: &[u8]) -> bool {
    let head = head.trim_ascii_end();
    let words: &[&[u8]] = match family {
        // `struct a *f(struct b *c) {` and `struct a b = {` hold none.
        Family::C if head.ends_with(b")") || head.ends_with(b"=") => return false,
        Family::C => &[b"class", b"enum", b"extern", b"namespace", b"struct", b"union"],
        Family::Csharp => &[b"class", b"enum", b"interface", b"namespace", b"record", b"struct"],
        Family::Go => &[b"interface", b"struct", b"type"],
        Family::Java => &[b"class", b"enum", b"interface", b"module", b"record"],
        Family::Php => &[b"class", b"enum", b"interface", b"namespace", b"trait"],
        Family::Rust => &[b"enum", b"extern", b"impl", b"mod", b"struct", b"trait", b"union"],
        Family::Script => &[b"class", b"enum", b"global", b"interface", b"module", b"namespace"],
    };
    let mut found = false;
    let mut before = b' ';
    let mut rest = head;
    while let Some((&first, behind)) = rest.split_first() {
        if !is_word(first) {
            (before, rest) = (first, behind);
            continue;
        }
        let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        if family == Family::Rust && word == b"fn" {
            return false;
        }
        // `Thing.class` names one.
        found |= before != b'.' && words.contains(&word);
        (before, rest) = (b' ', behind);
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || 0x7f < byte
}

/// Returns where the comment, string or directive that starts at `at` ends, or the next byte if none
/// does. `None` if it has no end, so that what was taken for its start may not have been one.
fn passed(family: Family, bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let before = |back: usize| at.checked_sub(back).and_then(|at| bytes.get(at)).copied();
    let length = match rest {
        [b'/', b'/', ..] => line(rest),
        [b'/', b'*', ..] => comment(rest, family == Family::Rust)?,
        [b'"', b'"', b'"', ..] if matches!(family, Family::Java | Family::Csharp) => {
            let quotes = rest.iter().take_while(|byte| **byte == b'"').count();
            quotes + find(rest.get(quotes..)?, rest.get(..quotes)?)? + quotes
        }
        [b'"', ..] => match (family, before(1)) {
            (Family::Csharp, Some(b'@')) => verbatim(rest)?,
            (Family::Csharp, Some(b'$')) if before(2) == Some(b'@') => verbatim(rest)?,
            (Family::C, Some(b'R')) => {
                let open = rest.iter().take(18).position(|byte| *byte == b'(')?;
                let end = [b")", rest.get(1..open)?, b"\""].concat();
                open + find(rest.get(open..)?, &end)? + end.len()
            }
            (Family::Rust, Some(b'r' | b'#')) => match raw(bytes, at) {
                Some(end) => find(rest.get(1..)?, &end)? + 1 + end.len(),
                None => quoted(rest, true)?,
            },
            (Family::Script, _) => guessed(quoted(rest, false), rest),
            (family, _) => quoted(rest, matches!(family, Family::Php | Family::Rust))?,
        },
        // A digit separator.
        [b'\'', ..] if family == Family::C && before(1).is_some_and(is_word) => 1,
        [b'\'' | b'`', ..] if family == Family::Php => quoted(rest, true)?,
        [b'#', b'[', ..] if family == Family::Php => 1,
        [b'#', ..] if family == Family::Php => line(rest),
        [b'`', ..] if family == Family::Script => template(rest)?,
        // What stands between tags has apostrophes.
        [b'\'', ..] if family == Family::Script => guessed(quoted(rest, false), rest),
        [b'/', ..] if family == Family::Script && may_start(bytes.get(..at)?) => {
            guessed(expression(rest), rest)
        }
        [b'\'', b'\\', ..] => quoted(rest, false)?,
        [b'\'', ..] if family == Family::Rust => {
            // A letter, or else a lifetime.
            let width = rest.iter().skip(2).take_while(|byte| **byte & 0xc0 == 0x80).count() + 1;
            if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
        }
        [b'\'', ..] => quoted(rest, false)?,
        [b'`', behind @ ..] if family == Family::Go => find(behind, b"`")? + 2,
        [b'#', ..] if matches!(family, Family::C | Family::Csharp) => directive(bytes, at),
        _ => 1,
    };
    Some(at + length)
}

/// Length of what may be a string, or of what it starts with if it has no end. In a long line that is
/// all of it, so that no text is looked at again and again.
fn guessed(length: Option<usize>, rest: &[u8]) -> usize {
    const SHORT_LINE: usize = 256;
    length.unwrap_or_else(|| {
        let line = line(rest);
        if line <= SHORT_LINE { 1 } else { line }
    })
}

/// Length of a line without its end.
pub(super) fn line(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

fn comment(rest: &[u8], nests: bool) -> Option<usize> {
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

/// Length of a string or character in which `\` escapes.
pub(super) fn quoted(rest: &[u8], spans_lines: bool) -> Option<usize> {
    let (quote, mut rest_of) = rest.split_first()?;
    loop {
        match rest_of {
            [byte, behind @ ..] if byte == quote => return Some(rest.len() - behind.len()),
            [b'\n', ..] if !spans_lines => return None,
            [b'\\', b'\r', b'\n', behind @ ..] | [b'\\', _, behind @ ..] | [_, behind @ ..] => {
                rest_of = behind;
            }
            [] => return None,
        }
    }
}

/// Length of a string in which a quote is escaped by another one.
fn verbatim(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += find(rest.get(at..)?, b"\"")? + 1;
        if rest.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// What ends the raw string whose quote is at `at`, if it is one: `r#"…"#`.
fn raw(bytes: &[u8], at: usize) -> Option<Vec<u8>> {
    let hashes = bytes.get(..at)?.iter().rev().take_while(|byte| **byte == b'#').count();
    let mut before = bytes.get(..at - hashes)?.iter().rev();
    let is_raw = match (before.next(), before.next()) {
        (Some(b'r'), Some(b'b' | b'c')) => true,
        (Some(b'r'), before) => !before.copied().is_some_and(is_word),
        _ => false,
    };
    is_raw.then(|| [b"\"".as_slice(), &b"#".repeat(hashes)].concat())
}

/// Length of a template, whose placeholders may hold templates.
fn template(rest: &[u8]) -> Option<usize> {
    // How many braces are open in the placeholder around each template, and in the innermost one.
    let mut around = Vec::new();
    let mut braces: Option<usize> = None;
    let mut at = 1;
    loop {
        let rest = rest.get(at..)?;
        let mut length = 1;
        match (rest, braces) {
            ([], _) => return None,
            ([b'\\', _, ..], None) => length = 2,
            ([b'$', b'{', ..], None) => (braces, length) = (Some(0), 2),
            ([b'`', ..], None) if around.is_empty() => return Some(at + 1),
            ([b'`', ..], None) => braces = around.pop(),
            ([b'`', ..], Some(open)) => {
                around.push(open);
                braces = None;
            }
            ([b'{', ..], Some(open)) => braces = Some(open + 1),
            ([b'}', ..], Some(open)) => braces = open.checked_sub(1),
            ([b'"' | b'\'', ..], Some(_)) => length = quoted(rest, false)?,
            _ => {}
        }
        at += length;
    }
}

/// Whether a slash behind such text starts a regular expression, and does not divide.
fn may_start(before: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[b"case", b"else", b"in", b"of", b"return", b"throw", b"typeof"];
    let before = before.trim_ascii_end();
    let start = before.iter().rposition(|byte| !is_word(*byte)).map_or(0, |last| last + 1);
    match before.split_at_checked(start) {
        Some((before, b"")) => {
            before.last().is_none_or(|last| b"(,=:[!&|?{;+-*%>~^".contains(last))
        }
        Some((_, word)) => WORDS.contains(&word),
        None => false,
    }
}

/// Length of a regular expression, whose classes may hold slashes.
fn expression(rest: &[u8]) -> Option<usize> {
    let mut is_class = false;
    let mut at = 1;
    loop {
        at += match rest.get(at..)? {
            [] | [b'\n', ..] => return None,
            [b'\\', _, ..] => 2,
            [b'/', ..] if !is_class => return Some(at + 1),
            [byte, ..] => {
                is_class = *byte == b'[' || is_class && *byte != b']';
                1
            }
        };
    }
}

/// Length of a directive with the lines it goes on over: a macro need not have whole statements, and
/// prose behind `#error` may have apostrophes.
fn directive(bytes: &[u8], at: usize) -> usize {
    let mut before = bytes.get(..at).unwrap_or_default().iter().rev();
    let is_first =
        before.find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n');
    if !is_first {
        return 1;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let mut length = line(rest);
    while rest.get(..length).is_some_and(|part| part.trim_ascii_end().ends_with(b"\\"))
        && length < rest.len()
    {
        length += 1 + line(rest.get(length + 1..).unwrap_or_default());
    }
    length
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
