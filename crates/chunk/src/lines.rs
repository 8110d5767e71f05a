//! Indexes a text by its lines, and limits the size of runs of lines.

use std::ops::Range;

#[derive(Debug, Clone, Copy)]
pub(super) struct SizeLimit {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Maximum size of a node that is not opened, larger than a run of statements: half a function is worth less.
pub(super) const WHOLE: SizeLimit = SizeLimit { lines: 80, bytes: 3000 };
/// Maximum size of a type or section that is not opened. It is smaller because the parts have their own names.
pub(super) const CONTAINER: SizeLimit = SizeLimit { lines: 40, bytes: 1200 };
/// Minimum lines of a value that is a definition; shorter ones are glue.
pub(super) const NAMED_VALUE_LINES: usize = 3;

/// Maximum bytes of a string in single quotes. In some languages a single quote may occur alone.
pub(super) const MAX_QUOTED: usize = 200;

/// Lines of a text, counted from 0. Only `\n` ends a line, as in the parser.
pub(super) struct LineIndex<'a> {
    text: &'a str,
    /// Byte offset of each line, then the length of the text.
    starts: Vec<usize>,
}

pub(super) fn blank_out(text: &str) -> impl Iterator<Item = char> + '_ {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })
}

impl<'a> LineIndex<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            starts.push(end);
        }
        Self { text, starts }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the bytes of the lines in `range`, line ends included.
    pub(super) fn byte_len(&self, range: Range<usize>) -> usize {
        self.line_start(range.end).saturating_sub(self.line_start(range.start))
    }

    pub(super) fn fits_within(&self, range: &Range<usize>, limit: SizeLimit) -> bool {
        range.len() <= limit.lines && self.byte_len(range.clone()) <= limit.bytes
    }

    /// Returns the lines in `range`, without the last line end.
    pub(super) fn text(&self, range: Range<usize>) -> &'a str {
        // Lines start after `\n` or at an end of the text, so the bounds are character boundaries.
        let bytes = self.line_start(range.start)..self.line_start(range.end);
        let text = self.text.get(bytes).unwrap_or_default();
        text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
    }

    pub(super) fn is_blank(&self, line: usize) -> bool {
        self.text(line..line + 1).trim().is_empty()
    }

    pub(super) fn indent_bytes(&self, line: usize) -> usize {
        let text = self.text(line..line + 1);
        text.len() - text.trim_start().len()
    }

    /// Narrows `range` until neither its first nor its last line is blank; empty if all lines are blank.
    pub(super) fn trim_blank_lines(&self, mut range: Range<usize>) -> Range<usize> {
        while !range.is_empty() && self.is_blank(range.start) {
            range.start += 1;
        }
        while !range.is_empty() && self.is_blank(range.end - 1) {
            range.end -= 1;
        }
        range
    }

    pub(super) fn line_start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }
}

/// Returns the byte length of the one-line string at a text's start, with `\` as escape; `None` if not closed.
pub(super) fn quoted_length(text: &[u8]) -> Option<usize> {
    let quote = text.first()?;
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'\n' => return None,
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}
