//! Emits runs of lines as chunks and cuts runs that are too large at blank lines and low
//! indentation.

use std::{cmp::Reverse, ops::Range, rc::Rc};

use super::{lines::LineIndex, size::SizeLimit};

/// Approximate size, in lines and bytes, of chunks of glue and of cut definitions.
pub(super) const TARGET: SizeLimit = SizeLimit { lines: 60, bytes: 2000 };
/// Maximum lines and bytes of a chunk.
pub(super) const MAX: SizeLimit = SizeLimit { lines: 120, bytes: 6000 };
/// Maximum bytes of a piece of a line that is too long for a chunk.
const PIECE: usize = 2000;

/// Lines of one chunk, or a piece of one very long line.
#[derive(Debug)]
pub(super) struct PackedLines<'a> {
    pub(super) lines: Range<usize>,
    pub(super) text: &'a str,
    pub(super) symbol: Option<Rc<str>>,
    /// First line of the definition that the symbol names, if it lies above.
    pub(super) head: Option<usize>,
}

/// Packs a file without structure.
pub(super) fn pack_plain_text<'a>(lines: &LineIndex<'a>) -> Vec<PackedLines<'a>> {
    let mut packed = Vec::new();
    let whole = lines.trim_blank_lines(0..lines.count());
    if lines.fits_within(&whole, TARGET) {
        pack_range(lines, whole, None, &mut packed);
    } else {
        pack_windows(lines, whole, None, &mut packed);
    }
    packed
}

/// Emits a run of lines whole if it is within [`MAX`], otherwise in windows.
pub(super) fn pack_range<'a>(
    lines: &LineIndex<'a>,
    range: Range<usize>,
    symbol: Option<&Rc<str>>,
    into: &mut Vec<PackedLines<'a>>,
) {
    let range = lines.trim_blank_lines(range);
    if range.is_empty() {
    } else if lines.fits_within(&range, MAX) {
        into.push(PackedLines {
            text: lines.text(range.clone()),
            lines: range,
            symbol: symbol.cloned(),
            head: None,
        });
    } else if range.len() == 1 {
        for text in split_long_line(lines.text(range.clone())) {
            into.push(PackedLines {
                lines: range.clone(),
                text,
                symbol: symbol.cloned(),
                head: None,
            });
        }
    } else {
        pack_windows(lines, range, symbol, into);
    }
}

/// Emits a run of lines in windows of the target size.
fn pack_windows<'a>(
    lines: &LineIndex<'a>,
    range: Range<usize>,
    symbol: Option<&Rc<str>>,
    into: &mut Vec<PackedLines<'a>>,
) {
    let mut rest = range;
    while !rest.is_empty() {
        let end = find_window_end(lines, &rest);
        pack_range(lines, rest.start..end, symbol, into);
        rest.start = end;
    }
}

/// Returns the end of the first window of `rest`: the best break in its second half.
fn find_window_end(lines: &LineIndex<'_>, rest: &Range<usize>) -> usize {
    let mut end = rest.start + 1;
    while end < rest.end && lines.fits_within(&(rest.start..end + 1), TARGET) {
        end += 1;
    }
    if end == rest.end {
        return end;
    }
    let half = rest.start + (end - rest.start).div_ceil(2);
    (half..=end).max_by_key(|at| rate_break(lines, *at)).unwrap_or(end)
}

/// Rates a cut before a line. Best is after a blank line, then the lowest indentation.
fn rate_break(lines: &LineIndex<'_>, at: usize) -> (bool, Reverse<usize>) {
    let is_behind_blank = 0 < at && lines.is_blank(at - 1);
    (is_behind_blank, Reverse(lines.indent_bytes(at)))
}

/// Cuts a very long line into pieces, after white space or punctuation where possible.
fn split_long_line(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(piece_end(rest));
            rest = after;
            if !piece.trim().is_empty() {
                return Some(piece);
            }
        }
        None
    })
}

fn piece_end(rest: &str) -> usize {
    if rest.len() <= PIECE {
        return rest.len();
    }
    let mut end = PIECE;
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    let window = rest.get(..end).unwrap_or(rest);
    let breaks = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '}' | ')' | '>');
    match window.rmatch_indices(breaks).next() {
        Some((at, found)) if PIECE / 2 < at => at + found.len(),
        _ => end,
    }
}
