//! The form that points must have, whichever engine keeps them.

use super::{Collection, Point, StoreError, Vectors};

/// Fails unless the point has the form that its collection asks for. Checked before
/// anything is written, so that a write is applied as a whole.
pub(super) fn point(point: &Point, into: Collection, dimensions: usize) -> Result<(), StoreError> {
    let reason = match (into, &point.vectors) {
        (Collection::Chunks, None) => "a chunk needs its vectors",
        (Collection::Files | Collection::Roots, Some(_)) => "only chunks have vectors",
        (Collection::Files | Collection::Roots, None) => return Ok(()),
        (Collection::Chunks, Some(Vectors { dense, sparse })) => {
            let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
            if dense.len() != dimensions {
                "its dense vector has another length than the model's"
            } else if !finite(dense) || !finite(&sparse.values) {
                "its vectors hold a value that is not finite"
            } else if sparse.indices.len() != sparse.values.len() {
                "its sparse vector has more terms than weights, or fewer"
            } else if !sparse.indices.is_sorted_by(|a, b| a < b) {
                "its sparse vector's terms are not strictly ascending"
            } else {
                return Ok(());
            }
        }
    };
    Err(StoreError::InvalidPoint { id: point.id, reason })
}
