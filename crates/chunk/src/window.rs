//! Cuts runs of lines into chunks at blank lines and low indentation, and merges short ones.

use std::{cmp::Reverse, ops::Range, rc::Rc};

use super::lines::{LineIndex, SizeLimit};

/// Approximate size, in lines and bytes, of chunks of glue and of cut definitions.
pub(super) const TARGET: SizeLimit = SizeLimit { lines: 60, bytes: 2000 };
/// Maximum lines and bytes of a chunk.
pub(super) const MAX: SizeLimit = SizeLimit { lines: 120, bytes: 6000 };
/// Maximum bytes of a piece of a line that is too long for a chunk.
const MAX_PIECE_BYTES: usize = 2000;

/// Lines of one chunk, or a piece of one very long line.
#[derive(Debug)]
pub(super) struct PackedLines<'a> {
    pub(super) lines: Range<usize>,
    pub(super) text: &'a str,
    pub(super) symbol: Option<Rc<str>>,
    /// First line of the definition that the symbol names, if it lies above.
    pub(super) head: Option<usize>,
}

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
    let text = lines.text(range.clone());
    let pack =
        |text| PackedLines { lines: range.clone(), text, symbol: symbol.cloned(), head: None };
    if range.is_empty() {
    } else if lines.fits_within(&range, MAX) {
        into.push(pack(text));
    } else if range.len() == 1 {
        into.extend(split_long_line(text).map(pack));
    } else {
        pack_windows(lines, range, symbol, into);
    }
}

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
    if rest.len() <= MAX_PIECE_BYTES {
        return rest.len();
    }
    let end = rest.floor_char_boundary(MAX_PIECE_BYTES);
    let window = rest.get(..end).unwrap_or(rest);
    let breaks = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '}' | ')' | '>');
    match window.rmatch_indices(breaks).next() {
        Some((at, found)) if MAX_PIECE_BYTES / 2 < at => at + found.len(),
        _ => end,
    }
}

const MIN_MERGED_CHUNKS: usize = 2000;
/// Average bytes of a chunk below which chunks are merged.
const SMALL_CHUNK_BYTES: usize = 600;

/// Merges neighbours up to the target size in bytes, if a file has many small chunks.
pub(super) fn merge_small_pieces<'a>(
    lines: &LineIndex<'a>,
    packed: Vec<PackedLines<'a>>,
) -> Vec<PackedLines<'a>> {
    let bytes: usize = packed.iter().map(|piece| piece.text.len()).sum();
    if packed.len() < MIN_MERGED_CHUNKS || bytes / packed.len() >= SMALL_CHUNK_BYTES {
        return packed;
    }
    let mut merged: Vec<PackedLines<'a>> = Vec::new();
    for piece in packed {
        match merged.last_mut() {
            Some(before) if may_merge(lines, before, &piece) => {
                before.lines.end = piece.lines.end;
                before.text = lines.text(before.lines.clone());
                if before.symbol != piece.symbol {
                    before.symbol = None;
                }
            }
            _ => merged.push(piece),
        }
    }
    merged
}

/// Returns true if two pieces are whole lines and together within the target size in bytes.
fn may_merge(lines: &LineIndex<'_>, before: &PackedLines<'_>, piece: &PackedLines<'_>) -> bool {
    let is_whole =
        |piece: &PackedLines<'_>| lines.text(piece.lines.clone()).len() == piece.text.len();
    lines.byte_len(before.lines.start..piece.lines.end) <= TARGET.bytes
        && is_whole(before)
        && is_whole(piece)
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::detect;

    use crate::chunk_text;

    fn sizes(language: Option<&str>, text: &str) -> (usize, usize) {
        let known = language.map(|name| detect::find_language(name).unwrap());
        let chunks = chunk_text(known, text).chunks;
        let lines = chunks.iter().map(|chunk| chunk.end_line - chunk.start_line + 1).sum::<u32>();
        (chunks.len(), usize::try_from(lines).unwrap())
    }

    #[test]
    fn a_file_of_very_short_lines_makes_chunks_by_its_bytes() {
        let text = "a\n".repeat(200_000);
        for language in [None, Some("yaml"), Some("markdown"), Some("text"), Some("c")] {
            let (count, lines) = sizes(language, &text);
            assert!((200..=400).contains(&count), "{count} of {language:?}");
            assert_eq!(lines, 200_000, "{language:?}");
        }
    }

    #[test]
    fn a_file_of_ordinary_chunks_stays_as_it_is() {
        let text = "a line of prose that is about as long as lines are\n".repeat(100_000);
        let (count, _) = sizes(Some("text"), &text);
        assert!(count > 2000, "{count}");
        let short = "a\n".repeat(60 * 1999);
        assert_eq!(sizes(None, &short).0, 1999);
    }
}
