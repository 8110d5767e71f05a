//! Splits Markdown into prose, code spans and fenced lines, and into blocks. Does no I/O and takes linear time.

use std::{collections::HashMap, ops::Range};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkdownPieceKind {
    Prose,
    /// Text between backticks.
    Code,
    /// A line of a fenced block.
    Fenced,
}

/// A run of text within one line, without backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkdownPiece {
    pub(super) range: Range<usize>,
    pub(super) kind: MarkdownPieceKind,
    /// Number of backticks on either side.
    pub(super) ticks: usize,
}

#[derive(Debug, Default)]
pub(super) struct MarkdownPieces {
    /// Non-empty pieces in order.
    pub(super) pieces: Vec<MarkdownPiece>,
    /// Start offsets of paragraphs, list items, headings and table rows, in order.
    pub(super) blocks: Vec<usize>,
}

impl MarkdownPieces {
    pub(super) fn parse(text: &str) -> Self {
        let mut whole = Self::default();
        let mut at = 0;
        let mut fence = None;
        let mut was_blank = true;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\n', '\r']);
            let mark = fence_mark(content);
            let starts = was_blank || starts_block(content) || mark.is_some();
            if starts {
                whole.blocks.push(at);
            }
            was_blank = content.trim().is_empty() || mark.is_some() || content.starts_with('#');
            match (fence, mark) {
                (None, Some(opening)) => fence = Some(opening),
                (Some(opening), Some(closing)) if closes_fence(content, opening, closing) => {
                    fence = None;
                }
                (Some(_), _) => whole.push(at..at + content.len(), MarkdownPieceKind::Fenced, 0),
                (None, None) => whole.push_line(content, at),
            }
            at += line.len();
        }
        whole
    }

    /// Returns the pieces of prose and code that overlap a range.
    pub(super) fn pieces_within(
        &self,
        range: &Range<usize>,
    ) -> impl Iterator<Item = &MarkdownPiece> {
        let first = self.pieces.partition_point(|piece| piece.range.end <= range.start);
        let end = range.end;
        let meeting =
            self.pieces.iter().skip(first).take_while(move |piece| piece.range.start < end);
        meeting.filter(|piece| piece.kind != MarkdownPieceKind::Fenced)
    }

    fn push(&mut self, range: Range<usize>, kind: MarkdownPieceKind, ticks: usize) {
        if !range.is_empty() {
            self.pieces.push(MarkdownPiece { range, kind, ticks });
        }
    }

    fn push_line(&mut self, line: &str, start: usize) {
        let runs = tick_runs(line);
        let closing = closing_runs(&runs);
        let (mut done, mut next) = (0, 0);
        while let (Some(run), Some(close)) = (runs.get(next), closing.get(next)) {
            let Some((close_at, close_run)) = close.and_then(|at| Some((at, runs.get(at)?))) else {
                next += 1;
                continue;
            };
            self.push(start + done..start + run.start, MarkdownPieceKind::Prose, 0);
            self.push(start + run.end..start + close_run.start, MarkdownPieceKind::Code, run.len());
            done = close_run.end;
            next = close_at + 1;
        }
        self.push(start + done..start + line.len(), MarkdownPieceKind::Prose, 0);
    }
}

fn tick_runs(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Returns for each run the index of the next one of the same length.
fn closing_runs(runs: &[Range<usize>]) -> Vec<Option<usize>> {
    let mut later = HashMap::new();
    let mut closing: Vec<Option<usize>> =
        runs.iter().enumerate().rev().map(|(at, run)| later.insert(run.len(), at)).collect();
    closing.reverse();
    closing
}

/// Returns the character and the length of the fence that a line opens or closes.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let content = line.trim_start();
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = content.chars().take_while(|c| *c == mark).count();
    let info = content.get(length..)?;
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

fn closes_fence(line: &str, opening: (char, usize), closing: (char, usize)) -> bool {
    opening.0 == closing.0 && closing.1 >= opening.1 && line.trim().len() == closing.1
}

/// Returns whether a line starts a block without a blank line before it.
fn starts_block(line: &str) -> bool {
    let content = line.trim_start();
    let after_number = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_number.len() < content.len()
        && (after_number.starts_with(". ") || after_number.starts_with(") "));
    let is_item = ["- ", "* ", "+ "].iter().any(|mark| content.starts_with(mark)) || is_numbered;
    is_item || content.starts_with(['#', '|', '>']) || content.trim().is_empty()
}
