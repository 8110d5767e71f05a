//! Computes the depth of each line and the lines that belong to it.

use codeinfo_lang::{
    comment::{CommentSyntax, may_open_string},
    layout::{DefinitionStyle, LayoutRules},
};

use crate::lines::{LineIndex, MAX_QUOTED, quoted_length};

/// Maximum bytes of a line that are searched for the start of a comment or string.
const MAX_BYTES: usize = 2000;
const TAB: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayoutLineKind {
    Plain,
    /// Starts with the end of a block.
    Closing,
    Lead,
    /// Inside a comment or string that started on a line above.
    Inner,
    Blank,
}

#[derive(Debug, Clone, Copy)]
struct LineShape {
    kind: LayoutLineKind,
    /// Twice the columns of indentation, plus one for a line that continues a block at the block's
    /// own depth: `} else {`, or an item below its key.
    depth: usize,
    /// The last line that belongs to this one.
    last: usize,
}

#[derive(Debug)]
pub(super) struct TextShape {
    rows: Vec<LineShape>,
}

impl TextShape {
    pub(super) fn new(
        layout: &LayoutRules,
        comments: &CommentSyntax,
        lines: &LineIndex<'_>,
    ) -> Self {
        let mut rows = build_rows(layout, comments, lines);
        settle_leads(&mut rows);
        find_ends(&mut rows);
        Self { rows }
    }

    pub(super) fn kind(&self, line: usize) -> LayoutLineKind {
        self.rows.get(line).map_or(LayoutLineKind::Blank, |row| row.kind)
    }

    pub(super) fn depth(&self, line: usize) -> usize {
        self.rows.get(line).map_or(0, |row| row.depth)
    }

    pub(super) fn last_line(&self, line: usize) -> usize {
        self.rows.get(line).map_or(line, |row| row.last.max(line))
    }

    /// Returns the last line of the comment or string that starts on a line.
    pub(super) fn inner_last(&self, line: usize) -> usize {
        let after = self.rows.get(line + 1..).unwrap_or_default();
        line + after.iter().take_while(|row| row.kind == LayoutLineKind::Inner).count()
    }
}

fn build_rows(
    layout: &LayoutRules,
    comments: &CommentSyntax,
    lines: &LineIndex<'_>,
) -> Vec<LineShape> {
    let mut rows = Vec::with_capacity(lines.count());
    let known = comments.block.iter().chain(layout.spans).copied().collect();
    let line_comments = comments.line;
    let mut spans = SpanTracker { known, line_comments, lines, unclosed: 0, last: None };
    // Last byte, without blanks, of the last content line above.
    let mut before = b'\n';
    for line in 0..lines.count() {
        let text = lines.text(line..line + 1);
        if spans.last.is_some_and(|last| line <= last) {
            rows.push(LineShape { kind: LayoutLineKind::Inner, depth: 0, last: line });
            continue;
        }
        let trimmed = text.trim();
        if trimmed.is_empty() {
            rows.push(LineShape { kind: LayoutLineKind::Blank, depth: 0, last: line });
            continue;
        }
        let (kind, goes_on) = classify_line(layout, comments, trimmed, before);
        rows.push(LineShape {
            kind,
            depth: 2 * count_indent_columns(text) + usize::from(goes_on),
            last: line,
        });
        spans.start_span(line, text);
        before = trimmed.bytes().last().unwrap_or(b'\n');
    }
    rows
}

fn count_indent_columns(text: &str) -> usize {
    let mut columns = 0;
    for byte in text.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += TAB,
            _ => break,
        }
    }
    columns
}

/// Returns the kind of a line, and true if it continues a block at the block's own depth.
fn classify_line(
    layout: &LayoutRules,
    comments: &CommentSyntax,
    text: &str,
    before: u8,
) -> (LayoutLineKind, bool) {
    let goes_on = match layout.shows {
        DefinitionStyle::Keys => text.starts_with("- ") || text == "-",
        // A list of selectors may span lines.
        DefinitionStyle::Selectors => before == b',',
        _ => false,
    };
    if text.starts_with(['}', ')', ']']) || text.starts_with("</") {
        return (LayoutLineKind::Closing, true);
    }
    let word = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    if !word.is_empty() && layout.continues.contains(&word) {
        let is_end = text.len() <= word.len() + 2;
        return (if is_end { LayoutLineKind::Closing } else { LayoutLineKind::Plain }, true);
    }
    if text == "{" && layout.shows != DefinitionStyle::Keys {
        let is_body = !matches!(before, b',' | b'{' | b'[' | b'(' | b'}' | b';' | b'\n');
        return (LayoutLineKind::Plain, is_body);
    }
    let is_lead = comments.starts_with_delimiter(text)
        || layout.attributes.iter().any(|lead| text.starts_with(lead));
    (if is_lead { LayoutLineKind::Lead } else { LayoutLineKind::Plain }, goes_on)
}

/// Gives comments, attributes and directives the depth of the next line, unless theirs is deeper.
fn settle_leads(rows: &mut [LineShape]) {
    let mut next = 0;
    for row in rows.iter_mut().rev() {
        match row.kind {
            LayoutLineKind::Blank | LayoutLineKind::Inner => continue,
            LayoutLineKind::Lead => row.depth = row.depth.max(next),
            LayoutLineKind::Plain | LayoutLineKind::Closing => {}
        }
        next = row.depth;
    }
}

/// Finds the last line of each block: the last content line before one that is not deeper.
fn find_ends(rows: &mut [LineShape]) {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut content = 0;
    for line in 0..rows.len() {
        let Some(row) = rows.get(line).copied() else { break };
        match row.kind {
            LayoutLineKind::Blank => continue,
            LayoutLineKind::Inner => {}
            LayoutLineKind::Plain | LayoutLineKind::Closing | LayoutLineKind::Lead => {
                while let Some((_, first)) = open.pop_if(|(depth, _)| row.depth <= *depth) {
                    close_block(rows, first, content);
                }
                open.push((row.depth, line));
            }
        }
        content = line;
    }
    for (_, first) in open {
        close_block(rows, first, content);
    }
}

fn close_block(rows: &mut [LineShape], first: usize, last: usize) {
    if let Some(row) = rows.get_mut(first) {
        row.last = last;
    }
}

struct SpanTracker<'a> {
    /// Pairs of opening and closing marks.
    known: Vec<(&'static str, &'static str)>,
    line_comments: &'static [&'static str],
    lines: &'a LineIndex<'a>,
    /// One bit per pair whose closing mark is missing, so that it is searched once only.
    unclosed: u32,
    last: Option<usize>,
}

impl SpanTracker<'_> {
    /// Finds a comment or string that starts on a line, outside of others, and does not end there.
    fn start_span(&mut self, line: usize, text: &str) {
        let head = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
        if !self.known.iter().any(|(opening, _)| head.contains(opening)) {
            return;
        }
        let mut at = 0;
        while let Some(rest) = head.get(at..).filter(|rest| !rest.is_empty()) {
            if let Some((bit, opening, closing)) = self.find_opening(rest) {
                let inner = at + opening.len();
                if let Some(length) = text.get(inner..).and_then(|inner| inner.find(closing)) {
                    at = inner + length + closing.len();
                    continue;
                }
                self.last = (line + 1..self.lines.count())
                    .find(|line| self.lines.text(*line..line + 1).contains(closing));
                if self.last.is_some() {
                    return;
                }
                self.unclosed |= 1 << bit;
            }
            if self.line_comments.iter().any(|mark| rest.starts_with(mark)) {
                return;
            }
            let Some(length) = token_length(head, at) else { return };
            at += length;
        }
    }

    /// Returns the pair whose opening mark starts a text, with its bit.
    fn find_opening(&self, text: &str) -> Option<(usize, &'static str, &'static str)> {
        // An operator of F#, as a function.
        if text.starts_with("(*)") {
            return None;
        }
        let known = self.known.iter().enumerate();
        known
            .filter(|(bit, (opening, _))| {
                self.unclosed & (1 << bit) == 0 && text.starts_with(opening)
            })
            .map(|(bit, (opening, closing))| (bit, *opening, *closing))
            .max_by_key(|(_, opening, _)| opening.len())
    }
}

/// Returns the length in bytes of the string, escape or character at `at`; `None` for a string in
/// double quotes that does not end on the line.
fn token_length(line: &str, at: usize) -> Option<usize> {
    let (before, rest) = line.split_at_checked(at)?;
    let bytes = rest.as_bytes();
    match bytes.first()? {
        b'\\' => Some(1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
        b'"' => quoted_length(bytes),
        b'\'' if may_open_string(before) => {
            Some(quoted_length(bytes.get(..MAX_QUOTED).unwrap_or(bytes)).unwrap_or(1))
        }
        _ => rest.chars().next().map(char::len_utf8),
    }
}
