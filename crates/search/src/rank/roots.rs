//! Repositories that the query names, where several are searched at once.

use codeinfo_core::RootId;

use super::super::intent::QueryIntent;

/// Returns what to multiply the score of a chunk with: 1 for one of a repository that the query
/// names, less for others if it names any. Chunks of one repository keep their order. `weight` is what
/// the name of its repository adds to a chunk, as a share of its score.
pub(super) fn compute_root_name_factor(root: RootId, intent: &QueryIntent, weight: f32) -> f32 {
    if intent.roots.is_empty() {
        return 1.0;
    }
    let named = intent.roots.get(&root).copied().unwrap_or_default();
    (1.0 + weight * named) / (1.0 + weight)
}

/// What remains of the score of a chunk whose root has lost its folder, where other roots exist: less than of any
/// about as good.
const OUTLIVED: f32 = 0.5;

/// Returns what to multiply all that a chunk earns with, by whether its root exists.
pub(super) fn compute_missing_root_factor(root: RootId, intent: &QueryIntent) -> f32 {
    if intent.outlived.contains(&root) { OUTLIVED } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn chunks_of_the_named_repository_keep_their_score() {
        let [named, half, other] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let share = |root, intent: &QueryIntent| compute_root_name_factor(root, intent, 0.3);
        let mut intent = QueryIntent::parse("how does the plug parse headers");
        assert!((share(other, &intent) - 1.0).abs() < 1e-6);
        intent.roots = [(named, 1.0), (half, 0.5)].into();
        assert!((share(named, &intent) - 1.0).abs() < 1e-6);
        assert!(share(other, &intent) < share(half, &intent));
        assert!(share(half, &intent) < 1.0 && 0.5 < share(other, &intent));
    }
}
