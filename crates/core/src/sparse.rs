//! Sparse vectors of weighted terms.

/// Sparse vector of weighted terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermVector {
    /// Term ids, strictly ascending.
    pub indices: Vec<u32>,
    /// Weights, one per term id.
    pub values: Vec<f32>,
}

/// Returns the inverse document frequency that BM25 multiplies the weight of a term with. The term
/// occurs in `matching_documents` of `total_documents`; rare terms get high values.
#[expect(clippy::cast_precision_loss, reason = "it only needs to be about right")]
pub fn inverse_document_frequency(matching_documents: usize, total_documents: usize) -> f32 {
    let matching = matching_documents as f32;
    let total = total_documents as f32;
    (1.0 + (total - matching + 0.5) / (matching + 0.5)).ln()
}
