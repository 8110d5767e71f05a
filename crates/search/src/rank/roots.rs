//! Scores repositories: those that the query names, and those whose folder is gone.

use codeinfo_core::RootId;

use super::super::intent::QueryIntent;

/// Returns the factor of a chunk's score: 1 for a repository that the query names, less for others
/// if it names any. Chunks of one repository keep their order. `weight` is the bonus of a named
/// repository as a share of the score.
pub(super) fn compute_root_name_factor(root: RootId, intent: &QueryIntent, weight: f32) -> f32 {
    if intent.roots.is_empty() {
        return 1.0;
    }
    let named = intent.roots.get(&root).copied().unwrap_or_default();
    (1.0 + weight * named) / (1.0 + weight)
}

/// Factor of a chunk whose root has lost its folder while other roots exist: lower than any chunk
/// about as good.
const OUTLIVED: f32 = 0.5;

/// Returns the factor of all scores of a chunk, which is below 1 if the folder of its root is gone.
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
