//! Splits a page into markup, scripts and styles.

use std::ops::Range;

use codeinfo_lang::{
    Language,
    languages::{data::JSON, javascript, styles::CSS},
};

use super::lines::LineIndex;

/// A run of lines with the same kind of content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PagePiece {
    pub(super) lines: Range<usize>,
    pub(super) content: PagePieceContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagePieceContent {
    Markup,
    /// The line of the tag before a script or style.
    OpeningTag,
    ClosingTag,
    Inner(&'static Language),
}

/// Returns the pieces, in order. Every line is in exactly one.
pub(super) fn split_page(lines: &LineIndex<'_>) -> Vec<PagePiece> {
    let mut pieces = Vec::new();
    let mut markup = 0;
    let mut at = 0;
    // Per tag: true once no closing tag follows a line, because none follows later lines either.
    let mut unclosed: [bool; 2] = [false; 2];
    while at < lines.count() {
        let text = lines.text(at..at + 1).trim();
        let Some((tag, language)) = parse_opening_tag(text) else {
            at += 1;
            continue;
        };
        let closing = if tag == 0 { "</script" } else { "</style" };
        let is_known_unclosed = unclosed.get(tag).copied().unwrap_or(true);
        let end = (!is_known_unclosed && !text.contains(closing))
            .then(|| (at + 1..lines.count()).find(|line| is_tag(lines, *line, closing)))
            .flatten();
        match (end, language) {
            (Some(end), Some(language)) if at + 1 < end => {
                let piece = |lines, content| PagePiece { lines, content };
                pieces.push(piece(markup..at, PagePieceContent::Markup));
                pieces.push(piece(at..at + 1, PagePieceContent::OpeningTag));
                pieces.push(piece(at + 1..end, PagePieceContent::Inner(language)));
                pieces.push(piece(end..end + 1, PagePieceContent::ClosingTag));
                markup = end + 1;
                at = end + 1;
            }
            (Some(end), _) => at = end + 1,
            (None, _) => {
                if let Some(unclosed) = unclosed.get_mut(tag)
                    && !text.contains(closing)
                {
                    *unclosed = true;
                }
                at += 1;
            }
        }
    }
    pieces.push(PagePiece { lines: markup..lines.count(), content: PagePieceContent::Markup });
    pieces.retain(|piece| !piece.lines.is_empty());
    pieces
}

fn is_tag(lines: &LineIndex<'_>, line: usize, tag: &str) -> bool {
    lines.text(line..line + 1).trim_start().starts_with(tag)
}

/// Parses an opening tag: 0 for a script or 1 for a style, and the language of its content.
fn parse_opening_tag(text: &str) -> Option<(usize, Option<&'static Language>)> {
    let has = |what: &str| text.contains(what);
    if text.starts_with("<style") && text.ends_with('>') {
        return Some((1, Some(&CSS)));
    }
    if !text.starts_with("<script") || !text.ends_with('>') {
        return None;
    }
    let language = if has("json") {
        Some(&JSON)
    } else if has("lang=\"tsx\"") {
        Some(&javascript::TSX)
    } else if has("lang=\"ts\"") || has("lang='ts'") {
        Some(&javascript::TYPESCRIPT)
    } else if has("type=") && !has("javascript") && !has("module") {
        None
    } else {
        Some(&javascript::JAVASCRIPT)
    };
    Some((0, language))
}
