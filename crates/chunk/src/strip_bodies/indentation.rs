//! Finds function bodies by indentation, for Python.

use std::ops::Range;

use super::{insert_body, is_small_definition, line_length, quoted_length};

/// A tab goes to the next multiple of this many columns, as in Python.
const TAB: usize = 8;

struct OpenFunction {
    column: usize,
    start: usize,
    /// Byte offset of the body, after the colon.
    body: usize,
    /// Column of the first statement in the body.
    inside: Option<usize>,
}

struct LogicalLine {
    column: usize,
    start: usize,
    kind: LogicalLineKind,
    end: usize,
}

enum LogicalLineKind {
    Blank,
    Comment,
    /// The head of a function, with the byte offset of its body.
    Function(usize),
    Other,
}

/// Functions of the text read up to the current position.
#[derive(Default)]
struct FunctionBodies {
    bodies: Vec<Range<usize>>,
    open: Vec<OpenFunction>,
    /// Byte offset of the end of the last statement.
    end: usize,
    /// Column and end of each comment after the last statement.
    comments: Vec<(usize, usize)>,
}

/// Finds the bodies of the largest functions that the outline does not open, in order. Returns
/// `None` if brackets or quotes do not match.
pub(super) fn find_bodies(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut functions = FunctionBodies::default();
    let mut at = 0;
    while at < bytes.len() {
        let LogicalLine { column, start, kind, end } = read_logical_line(bytes, &mut at)?;
        match kind {
            LogicalLineKind::Blank => {}
            LogicalLineKind::Comment => functions.comments.push((column, end)),
            LogicalLineKind::Function(_) | LogicalLineKind::Other => {
                functions.close_functions(column, bytes);
                if let Some(function) = functions.open.last_mut() {
                    function.inside.get_or_insert(column);
                }
                if let LogicalLineKind::Function(body) = kind {
                    functions.open.push(OpenFunction { column, start, body, inside: None });
                }
                functions.end = end;
                functions.comments.clear();
            }
        }
    }
    functions.close_functions(0, bytes);
    Some(functions.bodies)
}

impl FunctionBodies {
    /// Closes the functions that do not contain a statement in this column.
    fn close_functions(&mut self, column: usize, bytes: &[u8]) {
        while let Some(function) = self.open.pop_if(|function| column <= function.column) {
            // The last lines of a function may be comments.
            let is_inside = |column| function.inside.is_some_and(|inside| inside <= column);
            let inside = self.comments.iter().take_while(|(column, _)| is_inside(*column));
            let end = inside.last().map_or(self.end, |(_, end)| *end);
            if bytes.get(function.start..end).is_some_and(is_small_definition) {
                insert_body(&mut self.bodies, function.body..end);
            }
        }
    }
}

/// Reads a logical line and moves `at` behind it; `None` if brackets or quotes do not match.
fn read_logical_line(bytes: &[u8], at: &mut usize) -> Option<LogicalLine> {
    let mut column = 0;
    while let Some(byte) = bytes.get(*at).filter(|byte| matches!(byte, b' ' | b'\t' | 0x0c)) {
        column = match byte {
            b'\t' => (column / TAB + 1) * TAB,
            b' ' => column + 1,
            _ => 0,
        };
        *at += 1;
    }
    let start = *at;
    let mut code_end = start;
    let mut depth = 0_usize;
    let end = loop {
        let rest = bytes.get(*at..)?;
        let length = match rest {
            [] | [b'\n', ..] if depth == 0 => break *at,
            [] => return None,
            [b'\\', b'\r', b'\n', ..] => 3,
            [b'\\', _, ..] => 2,
            [b'#', ..] => line_length(rest),
            [b'"' | b'\'', ..] => python_string_length(rest)?,
            _ => 1,
        };
        match rest {
            [b'(' | b'[' | b'{', ..] => depth += 1,
            [b')' | b']' | b'}', ..] => depth = depth.checked_sub(1)?,
            _ => {}
        }
        *at += length;
        if !matches!(rest, [b' ' | b'\t' | b'\r' | b'\n' | b'#', ..]) {
            code_end = *at;
        }
    };
    *at = end + 1;
    let code = bytes.get(start..code_end)?;
    let kind = match code {
        [] if bytes.get(start) == Some(&b'#') => LogicalLineKind::Comment,
        [] => LogicalLineKind::Blank,
        [.., b':'] if is_function(code) => LogicalLineKind::Function(start + code.len()),
        _ => LogicalLineKind::Other,
    };
    Some(LogicalLine { column, start, kind, end })
}

fn is_function(statement: &[u8]) -> bool {
    let definition = statement.strip_prefix(b"async ").unwrap_or(statement).trim_ascii_start();
    definition.strip_prefix(b"def").is_some_and(|rest| rest.starts_with(b" "))
}

/// Returns the length in bytes of a string of one or several lines.
fn python_string_length(rest: &[u8]) -> Option<usize> {
    let [first, second, third, ..] = rest else { return quoted_length(rest, false) };
    if first != second || first != third {
        return quoted_length(rest, false);
    }
    let mut at = 3;
    loop {
        at += match rest.get(at..)? {
            [b'\\', _, ..] => 2,
            [a, b, c, ..] if [a, b, c] == [first, first, first] => return Some(at + 3),
            [] => return None,
            _ => 1,
        };
    }
}
