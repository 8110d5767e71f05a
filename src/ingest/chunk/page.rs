//! Takes a page apart into markup, scripts and styles.

use std::ops::Range;

use super::lines::Lines;

/// A run of lines in one language.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) lines: Range<usize>,
    pub(super) language: Language,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Markup,
    /// The line of a tag before a script or style.
    OpeningTag,
    ClosingTag,
    Inner(&'static str),
}

/// Whether text of a language may hold scripts and styles between tags.
pub(super) fn is_page(language: &str) -> bool {
    matches!(language, "html" | "vue" | "svelte" | "astro")
}

/// Returns the pieces, in order; every line is in one.
pub(super) fn pieces(lines: &Lines<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut markup = 0;
    let mut at = 0;
    // Without a closing tag behind a line there is none behind later ones.
    let mut unclosed: [bool; 2] = [false; 2];
    while at < lines.count() {
        let text = lines.text(at..at + 1).trim();
        let Some((tag, language)) = opening(text) else {
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
                let piece = |lines, language| Piece { lines, language };
                pieces.push(piece(markup..at, Language::Markup));
                pieces.push(piece(at..at + 1, Language::OpeningTag));
                pieces.push(piece(at + 1..end, Language::Inner(language)));
                pieces.push(piece(end..end + 1, Language::ClosingTag));
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
    pieces.push(Piece { lines: markup..lines.count(), language: Language::Markup });
    pieces.retain(|piece| !piece.lines.is_empty());
    pieces
}

fn is_tag(lines: &Lines<'_>, line: usize, tag: &str) -> bool {
    lines.text(line..line + 1).trim_start().starts_with(tag)
}

/// The tag that a line opens, 0 for scripts and 1 for styles, and the language between the tags.
fn opening(text: &str) -> Option<(usize, Option<&'static str>)> {
    let has = |what: &str| text.contains(what);
    if text.starts_with("<style") && text.ends_with('>') {
        return Some((1, Some("css")));
    }
    if !text.starts_with("<script") || !text.ends_with('>') {
        return None;
    }
    let language = if has("json") {
        Some("json")
    } else if has("lang=\"tsx\"") {
        Some("tsx")
    } else if has("lang=\"ts\"") || has("lang='ts'") {
        Some("typescript")
    } else if has("type=") && !has("javascript") && !has("module") {
        None
    } else {
        Some("javascript")
    };
    Some((0, language))
}
