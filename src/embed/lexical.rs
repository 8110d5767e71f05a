//! Code-aware terms and their BM25 weights.
//!
//! A document's weights are the part of BM25 that depends on the document alone; the engine
//! multiplies each by the term's inverse document frequency, which also damps very common words.
//! The weighting is BM25 with fields, where counts are summed over fields before they saturate:
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
//! sections 3.4 and 3.6. As weights are stored, the average length must be known beforehand: it is
//! a constant.
//!
//! Stored weights and query weights must agree, so that a change of anything here asks for a new
//! embedding of every repository.

mod terms;

use self::terms::Terms;
use crate::domain::Sparse;

/// How soon repeated occurrences stop counting.
const K1: f32 = 1.2;
/// How much longer documents are held back.
const B: f32 = 0.75;
/// Terms in the text of an average chunk.
const AVERAGE_LENGTH: f32 = 160.0;
/// What one occurrence in the name of the enclosing definition counts, in occurrences in the text.
const SYMBOL_WEIGHT: f32 = 3.0;
/// What one occurrence in the file's name counts.
const FILE_WEIGHT: f32 = 3.0;
/// What one occurrence in the folders above the file counts.
const FOLDER_WEIGHT: f32 = 1.0;

/// What a chunk is found by.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// Path below the root, with `/` between parts.
    pub path: &'a str,
    /// The enclosing definition, or a heading.
    pub symbol: Option<&'a str>,
    /// The chunk's lines.
    pub text: &'a str,
}

/// Returns the BM25 weight of each term of a chunk.
pub fn document(fields: &Fields<'_>) -> Sparse {
    let mut terms = Terms::default();
    terms.add(fields.text, 1.0);
    let length = terms.len();
    terms.add(fields.symbol.unwrap_or_default(), SYMBOL_WEIGHT);
    let (folders, file) = fields.path.rsplit_once('/').unwrap_or(("", fields.path));
    terms.add(folders, FOLDER_WEIGHT);
    terms.add(file, FILE_WEIGHT);

    #[expect(clippy::cast_precision_loss, reason = "a length only needs to be about right")]
    let relative_length = length as f32 / AVERAGE_LENGTH;
    let saturation = K1 * (1.0 - B + B * relative_length);
    terms.into_sparse(|count| count * (K1 + 1.0) / (count + saturation))
}

/// Returns the terms to search with: each distinct term once, with weight 1. Words that questions
/// are made of, such as `how` or `where`, are left out unless there is nothing else.
pub fn query(text: &str) -> Sparse {
    let mut terms = Terms::default();
    terms.add(text, 1.0);
    terms.into_sparse(|_| 1.0)
}
