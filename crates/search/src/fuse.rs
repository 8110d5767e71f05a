//! Fuses two ranked lists into one: a convex combination of their scores.
//!
//! The scores of each list are first scaled to 0…1 (min-max). Bruch, Gai and Ingber, "An Analysis
//! of Fusion Functions for Hybrid Retrieval", 2023, find this better than reciprocal rank fusion.
//! Queries with known answers confirmed it here: ranks lose the distance of the best chunk to the
//! others.

use std::collections::HashMap;

use codeinfo_core::ScoreParts;
use codeinfo_store::ScoredChunk;
use uuid::Uuid;

use super::candidate::SearchCandidate;

/// Weights of the two lists; only their ratio matters.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListWeights {
    pub(super) dense: f32,
    pub(super) lexical: f32,
}

/// Merges two lists, each best first. The score of a candidate is 1 if it leads both lists, and 0
/// if it is last in one and not in the other.
pub(super) fn fuse_lists(
    dense: Vec<ScoredChunk>,
    lexical: Vec<ScoredChunk>,
    lists: ListWeights,
) -> Vec<SearchCandidate> {
    let total = lists.dense + lists.lexical;
    let mut candidates: Vec<SearchCandidate> = Vec::with_capacity(dense.len() + lexical.len());
    let mut places: HashMap<Uuid, usize> = HashMap::new();
    let by_meaning = |parts: &mut ScoreParts, score| parts.meaning = score;
    let by_words = |parts: &mut ScoreParts, score| parts.words = score;
    let of_dense = (dense, lists.dense, by_meaning as fn(&mut ScoreParts, f32));
    for (list, weight, set) in [of_dense, (lexical, lists.lexical, by_words)] {
        let scale = MinMax::from_scores(&list);
        for ScoredChunk { id, score, record, also } in list {
            let share = weight / total * scale.scale_score(score);
            let place = *places.entry(id).or_insert(candidates.len());
            if place == candidates.len() {
                candidates.push(SearchCandidate {
                    id,
                    record,
                    score: 0.0,
                    parts: ScoreParts::default(),
                    also,
                    copies: Vec::new(),
                });
            }
            if let Some(known) = candidates.get_mut(place) {
                known.score += share;
                set(&mut known.parts, share);
            }
        }
    }
    candidates
}

/// Maps the scores of a list to 0…1: the last to 0, the first to 1.
struct MinMax {
    min: f32,
    span: f32,
}

impl MinMax {
    fn from_scores(list: &[ScoredChunk]) -> Self {
        let min = list.last().map_or(0.0, |scored| scored.score);
        let max = list.first().map_or(0.0, |scored| scored.score);
        Self { min, span: max - min }
    }

    /// If all scores are equal, each counts as the best.
    fn scale_score(&self, score: f32) -> f32 {
        if self.span > 0.0 { ((score - self.min) / self.span).clamp(0.0, 1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::record, *};

    fn list(points: &[(u128, f32)]) -> Vec<ScoredChunk> {
        let scored = |(id, score): &(u128, f32)| ScoredChunk {
            id: Uuid::from_u128(*id),
            score: *score,
            record: record("a.rs", None, "text"),
            also: Vec::new(),
        };
        points.iter().map(scored).collect()
    }

    fn fused(dense: &[(u128, f32)], lexical: &[(u128, f32)]) -> Vec<(u128, f32)> {
        let weights = ListWeights { dense: 1.0, lexical: 3.0 };
        let fused = fuse_lists(list(dense), list(lexical), weights);
        fused.iter().map(|candidate| (candidate.id.as_u128(), candidate.score)).collect()
    }

    #[test]
    fn each_list_counts_its_weight_and_scores_count_by_their_distance() {
        let dense = [(1, 0.9), (2, 0.7), (3, 0.5)];
        let lexical = [(1, 30.0), (4, 25.0), (2, 10.0)];
        assert_eq!(fused(&dense, &lexical), [(1, 1.0), (2, 0.125), (3, 0.0), (4, 0.5625)]);
    }

    #[test]
    fn a_single_or_equal_result_is_the_best_of_its_list() {
        assert_eq!(fused(&[], &[(1, 4.0)]), [(1, 0.75)]);
        assert_eq!(fused(&[(1, 0.3), (2, 0.3)], &[]), [(1, 0.25), (2, 0.25)]);
        assert_eq!(fused(&[], &[]), []);
    }
}
