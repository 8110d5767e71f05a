//! Measures the length of lines, strings and other tokens, in bytes.

/// Returns the length of a line without its end.
pub(super) fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// Returns the length of a string or character with `\` as escape; `None` if it does not end.
pub(super) fn quoted_length(rest: &[u8], spans_lines: bool) -> Option<usize> {
    string_length(rest, spans_lines).ok()
}

/// Returns the length of a string as [`quoted_length`], or as an error the bytes read if it does
/// not end.
pub(super) fn string_length(rest: &[u8], spans_lines: bool) -> Result<usize, usize> {
    let quote = rest.first();
    let mut at = 1;
    loop {
        at += match rest.get(at..).unwrap_or_default() {
            [] => return Err(rest.len()),
            [byte, ..] if Some(byte) == quote => return Ok(at + 1),
            [b'\n', ..] if !spans_lines => return Err(at),
            [b'\\', b'\r', b'\n', ..] => 3,
            [b'\\', _, ..] => 2,
            _ => 1,
        };
    }
}

/// Returns the length of a regular expression, whose classes may contain slashes, or as an error
/// the bytes read if it does not end.
pub(super) fn regex_length(rest: &[u8]) -> Result<usize, usize> {
    let mut is_class = false;
    let mut at = 1;
    loop {
        at += match rest.get(at..).unwrap_or_default() {
            [] | [b'\n', ..] | [b'\\', b'\n', ..] => return Err(at),
            [b'\\', _, ..] => 2,
            [b'/', ..] if !is_class => return Ok(at + 1),
            [byte, ..] => {
                is_class = *byte == b'[' || is_class && *byte != b']';
                1
            }
        };
    }
}

/// Returns the length of a token that may be a string or an expression. Without an end, it is all
/// bytes read if these were many, so that they are not read again, and otherwise one byte.
pub(super) fn guess_length(read: Result<usize, usize>) -> usize {
    const MUCH: usize = 256;
    read.unwrap_or_else(|read| if read <= MUCH { 1 } else { read })
}

/// Returns the length of a template, whose placeholders may contain templates.
pub(super) fn template_length(rest: &[u8]) -> Option<usize> {
    // Open braces in the placeholder around each template, outermost first.
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
            ([b'"' | b'\'', ..], Some(_)) => length = quoted_length(rest, false)?,
            _ => {}
        }
        at += length;
    }
}

pub(super) fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
