//! Builds the statement that a text makes about a citation. Does no I/O.

use codeinfo_embed::StaticModel;

use super::{
    fit::{StatementTerms, WeightedText},
    pieces::{MarkdownPieceKind, MarkdownPieces},
    said::{AttributedText, OWN_WEIGHT},
};

/// Minimum bytes of a code span that can tie a sentence to lines.
const MIN_SPAN_BYTES: usize = 3;
/// Words that mark a sentence about a whole file.
const WHOLE_WORDS: [&str; 5] = ["whole", "entire", "entirely", "throughout", "overall"];

/// Statement about a citation: its own clause with its surroundings, and alone.
#[derive(Debug, Clone, Default)]
pub(super) struct CitedStatement {
    pub(super) whole: StatementTerms,
    pub(super) clause: StatementTerms,
    /// Its own clause without code spans.
    pub(super) prose: StatementTerms,
    /// Set if the statement is about a whole file.
    pub(super) speaks_of_whole: bool,
}

impl CitedStatement {
    /// Builds the statement about a citation from its texts. `text` is cut into `pieces`.
    pub(super) fn from_attributed_text(
        text: &str,
        pieces: &MarkdownPieces,
        attributed: &AttributedText,
        model: &StaticModel,
    ) -> Self {
        let mut spans = Vec::new();
        let mut whole = Vec::new();
        for (range, weight) in &attributed.texts {
            for piece in pieces.pieces_within(range) {
                let start = piece.range.start.max(range.start);
                let end = piece.range.end.min(range.end);
                let Some(part) = text.get(start..end) else { continue };
                let is_code = piece.kind == MarkdownPieceKind::Code;
                if is_code && *weight >= OWN_WEIGHT {
                    spans.extend(normalize_code_span(part));
                }
                whole.push(WeightedText { text: part, weight: *weight, is_code });
            }
        }
        let speaks_of_whole =
            whole.iter().any(|part| part.weight >= OWN_WEIGHT && speaks_of_whole(part.text));
        let clause = whole.iter().filter(|part| part.weight >= OWN_WEIGHT).cloned();
        let prose = clause.clone().filter(|part| !part.is_code);
        Self {
            prose: StatementTerms::new(prose, Vec::new(), model),
            clause: StatementTerms::new(clause, spans.clone(), model),
            whole: StatementTerms::new(whole, spans, model),
            speaks_of_whole,
        }
    }
}

/// Returns a code span without white space and arguments, for a search in lines.
fn normalize_code_span(code: &str) -> Option<String> {
    let head = code.split('(').next().unwrap_or(code).trim_matches('.');
    let span: String = head.chars().filter(|c| !c.is_whitespace()).collect();
    (span.len() >= MIN_SPAN_BYTES).then_some(span)
}

fn speaks_of_whole(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic());
    words.any(|word| WHOLE_WORDS.contains(&word.to_lowercase().as_str()))
}
