//! A sparse vector of weighted terms.

/// A sparse vector: strictly ascending term ids, each with its weight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermVector {
    /// Term ids, ascending, each once.
    pub indices: Vec<u32>,
    /// One weight per term id.
    pub values: Vec<f32>,
}

/// Returns the inverse document frequency that BM25 multiplies a term's weight with: how rare it is,
/// being in `with` of so many documents.
#[expect(clippy::cast_precision_loss, reason = "it only needs to be about right")]
pub fn inverse_document_frequency(with: usize, of: usize) -> f32 {
    let (with, of) = (with as f32, of as f32);
    (1.0 + (of - with + 0.5) / (with + 0.5)).ln()
}
