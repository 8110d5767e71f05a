//! The form that chunks must have, whichever engine keeps them.

use super::{Chunk, StoreError, Vectors};

/// Fails unless each chunk has vectors as the engine needs them. Checked before anything is written, so
/// that a write is applied as a whole.
pub(super) fn chunks(chunks: &[Chunk], dimensions: usize) -> Result<(), StoreError> {
    let fault = |chunk: &Chunk| Some((chunk.id, misfit(&chunk.vectors, dimensions)?));
    match chunks.iter().find_map(fault) {
        Some((id, reason)) => Err(StoreError::InvalidChunk { id, reason }),
        None => Ok(()),
    }
}

/// Says what does not fit.
fn misfit(Vectors { dense, sparse }: &Vectors, dimensions: usize) -> Option<&'static str> {
    let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
    if dense.len() != dimensions {
        Some("its dense vector has another length than the model's")
    } else if !finite(dense) || !finite(&sparse.values) {
        Some("its vectors hold a value that is not finite")
    } else if sparse.indices.len() != sparse.values.len() {
        Some("its sparse vector has more terms than weights, or fewer")
    } else if !sparse.indices.is_sorted_by(|a, b| a < b) {
        Some("its sparse vector's terms are not strictly ascending")
    } else {
        None
    }
}
