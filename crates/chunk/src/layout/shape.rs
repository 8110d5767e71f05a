//! Computes the depth of each line and the lines that belong to it.

use codeinfo_lang::{
    comment::CommentSyntax,
    layout::{DefinitionStyle, LayoutRules},
};

use crate::lines::LineIndex;

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
    let mut spans = SpanTracker { known, lines, unclosed: 0, last: None };
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

/// Gives each comment, attribute and compiler directive, which may have any indentation, the depth
/// of the next line, unless its own is deeper.
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

/// Finds the last line of each block: the last content line before the next line that is not
/// deeper.
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
    lines: &'a LineIndex<'a>,
    /// One bit per pair whose closing mark is missing, so that it is searched once only.
    unclosed: u32,
    last: Option<usize>,
}

impl SpanTracker<'_> {
    /// Finds a comment or string that starts on a line and does not end there.
    fn start_span(&mut self, line: usize, text: &str) {
        let head = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
        let mut from = 0;
        while let Some((place, opening, closing)) = self.find_first_opening(head, from) {
            let after = place + opening.len();
            let rest = head.get(after..).unwrap_or_default();
            if is_quoted(head.get(from..place).unwrap_or_default()) {
                from = after;
                continue;
            }
            if let Some(end) = rest.find(closing) {
                from = after + end + closing.len();
                continue;
            }
            let found = (line + 1..self.lines.count())
                .find(|line| self.lines.text(*line..line + 1).contains(closing));
            match found {
                Some(last) => self.last = Some(last),
                None => self.give_up(opening),
            }
            return;
        }
    }

    fn find_first_opening(
        &self,
        text: &str,
        from: usize,
    ) -> Option<(usize, &'static str, &'static str)> {
        let rest = text.get(from..)?;
        let known = self.known.iter().enumerate();
        known
            .filter(|(bit, _)| self.unclosed & (1 << bit) == 0)
            .filter_map(|(_, (opening, closing))| {
                rest.find(opening).map(|at| (from + at, *opening, *closing))
            })
            .min_by_key(|(at, _, _)| *at)
    }

    fn give_up(&mut self, opening: &str) {
        let bit = self.known.iter().position(|(known, _)| *known == opening);
        self.unclosed |= bit.map_or(0, |bit| 1 << bit);
    }
}

/// Returns true if the text after `before` is inside a string or a line comment.
fn is_quoted(before: &str) -> bool {
    let mut quoted = false;
    let mut bytes = before.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => quoted = !quoted,
            b'/' if !quoted && bytes.peek() == Some(&b'/') => return true,
            _ => {}
        }
    }
    quoted
}
