//! How long lines, strings and the like are.

/// Length of a line without its end.
pub(super) fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// Length of a string or character in which `\` escapes, if it ends.
pub(super) fn quoted_length(rest: &[u8], spans_lines: bool) -> Option<usize> {
    string_length(rest, spans_lines).ok()
}

/// The same, or how much was read where it does not end.
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

/// Length of a regular expression, whose classes may hold slashes, or how much was read where it does
/// not end.
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

/// Length of what may be a string or an expression: all that was read if that was much, so that no text
/// is read again and again, and else what it starts with if it does not end.
pub(super) fn guess_length(read: Result<usize, usize>) -> usize {
    const MUCH: usize = 256;
    read.unwrap_or_else(|read| if read <= MUCH { 1 } else { read })
}

/// Length of a template, whose placeholders may hold templates.
pub(super) fn template_length(rest: &[u8]) -> Option<usize> {
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
            ([b'"' | b'\'', ..], Some(_)) => length = quoted_length(rest, false)?,
            _ => {}
        }
        at += length;
    }
}

pub(super) fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
