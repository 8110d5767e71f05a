//! Takes out the bodies that no chunk begins or ends in, so that a parser has little to read.
//!
//! A function that fits into one chunk is never opened, so what its braces hold does not matter to
//! the outline, and it is most of a text. Braces are found by what comments and strings of a language
//! look like; where they do not match, the text is parsed as it is.

use std::ops::Range;

use super::outline::WHOLE;

/// Bodies of at most this many lines and bytes are taken out. The rest of [`WHOLE`] is for what stands
/// before the brace.
const BODY: (usize, usize) = (WHOLE.0 - 10, WHOLE.1 - 600);

/// How comments and strings of a language look, and which of its blocks are opened however small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    C,
    Csharp,
    Go,
    Java,
    Rust,
}

/// A brace that is not closed yet.
struct Block {
    at: usize,
    /// Whether what it holds may be definitions, with names of their own.
    is_container: bool,
}

/// Returns the text without bodies, of which only the line ends stay, so that every line keeps its
/// number. `None` for languages that are not read this way and for texts whose braces do not match.
pub(super) fn hollowed(language: &str, text: &str) -> Option<String> {
    let family = match language {
        "c" | "cpp" | "cuda" => Family::C,
        "csharp" => Family::Csharp,
        "go" => Family::Go,
        "java" => Family::Java,
        "rust" => Family::Rust,
        _ => return None,
    };
    let mut hollow = String::with_capacity(text.len());
    let mut kept = 0;
    for body in bodies(family, text.as_bytes())? {
        hollow.push_str(text.get(kept..body.start)?);
        kept = body.end;
        hollow.extend(text.get(body)?.matches('\n'));
    }
    hollow.push_str(text.get(kept..)?);
    Some(hollow)
}

/// Finds what the largest braces hold that need not be looked into, in order.
fn bodies(family: Family, bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut bodies: Vec<Range<usize>> = Vec::new();
    let mut open: Vec<Block> = Vec::new();
    // Where what stands before the next brace starts.
    let mut head = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'{' => {
                let is_container = is_container(family, bytes.get(head..at)?);
                open.push(Block { at, is_container });
                head = at + 1;
                head
            }
            b'}' => {
                let block = open.pop()?;
                let body = block.at + 1..at;
                if !block.is_container && fits(bytes.get(body.clone())?) {
                    while bodies.last().is_some_and(|inner| body.start < inner.start) {
                        bodies.pop();
                    }
                    bodies.push(body);
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

fn fits(body: &[u8]) -> bool {
    body.len() <= BODY.1 && body.split(|byte| *byte == b'\n').count() <= BODY.0
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
        Family::Rust => &[b"enum", b"extern", b"impl", b"mod", b"struct", b"trait", b"union"],
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
            (family, _) => quoted(rest, family == Family::Rust)?,
        },
        // A digit separator.
        [b'\'', ..] if family == Family::C && before(1).is_some_and(is_word) => 1,
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

/// Length of a line without its end.
fn line(rest: &[u8]) -> usize {
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
fn quoted(rest: &[u8], spans_lines: bool) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_go_and_what_has_names_of_its_own_stays() {
        for (language, text, hollow) in [
            ("c", "int f(struct a *b) {\n  return 1;\n}\n", "int f(struct a *b) {\n\n}\n"),
            (
                "c",
                "struct a { int b; };\nint c[] = { 1 };\n",
                "struct a { int b; };\nint c[] = {};\n",
            ),
            (
                "cpp",
                "namespace n { struct A { int f() { return 1; } }; }",
                "namespace n { struct A { int f() {} }; }",
            ),
            ("csharp", "class A { int B { get; set; } }", "class A { int B {} }"),
            (
                "go",
                "type A struct { b int }\nfunc f() { g() }\n",
                "type A struct { b int }\nfunc f() {}\n",
            ),
            ("java", "@T(A.class) void f() { g(); }", "@T(A.class) void f() {}"),
            ("java", "/** class */ void f() { g(); }", "/** class */ void f() {}"),
            (
                "rust",
                "impl A { fn f(&self) -> impl B { 1 } }",
                "impl A { fn f(&self) -> impl B {} }",
            ),
        ] {
            assert_eq!(hollowed(language, text).as_deref(), Some(hollow));
        }
        assert_eq!(hollowed("python", "a = {}"), None);
    }

    #[test]
    fn large_bodies_stay_with_their_small_parts_hollow() {
        let text = format!("fn f() {{ if a {{ b(); }} {} }}\n", "c(); ".repeat(600));
        assert_eq!(hollowed("rust", &text), Some(text.replace(" b(); ", "")));
    }

    #[test]
    fn braces_in_comments_and_strings_are_none() {
        for (language, body) in [
            ("c", "'{' '\\'' \"{\\\"{\" /* { */ // {\n"),
            ("c", "\n#define A { \\\n  {\n#error don't {\n1'000;\n"),
            ("cpp", "R\"x({ )\" { )x\""),
            ("csharp", "@\"{\\\" $@\"{\"\"{\" \"\"\"{ \" {\"\"\" '{'"),
            ("go", "`{\\` '{' \"{\""),
            ("java", "\"\"\"\n { \" \"\"\" '{' '\\''"),
            ("rust", "'{' '\\'' b'{' 'a: r#\"{\"{\"# r\"{\\\" br\"{\" \"\n{\" /* /* { */ { */ '…'"),
        ] {
            let text = format!("f() {{{body}}}\n");
            let lines = "\n".repeat(body.matches('\n').count());
            assert_eq!(hollowed(language, &text), Some(format!("f() {{{lines}}}\n")), "{text}");
        }
    }

    #[test]
    fn a_text_whose_braces_do_not_match_is_left_alone() {
        let branches = "void f() {\n#if A\nif (a) {\n#else\nif (b) {\n#endif\n}\n}\n";
        for text in [branches, "}", "{", "f() { \"", "f() { /* }", "f() { ' }"] {
            assert_eq!(hollowed("c", text), None, "{text}");
        }
    }
}
