//! Fuses ranked lists into one: weighted reciprocal rank fusion.
//!
//! Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
//! Learning Methods", 2009: the score of a document is the sum of 1 / (60 + rank) over the lists.

use std::collections::HashMap;

use uuid::Uuid;

use super::candidate::Candidate;
use crate::store::Scored;

/// Damps the difference between the first ranks; the constant of the paper.
const K: f32 = 60.0;

/// How much each list counts; the sum does not matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    pub(super) dense: f32,
    pub(super) lexical: f32,
}

/// Merges two lists, each best first. A candidate's score is 1 where it leads both, and less the
/// further down it stands; 0 would be in neither.
pub(super) fn fuse(
    dense: Vec<Scored>,
    lexical: Vec<Scored>,
    weights: Weights,
) -> Result<Vec<Candidate>, serde_json::Error> {
    let best = (weights.dense + weights.lexical) / (K + 1.0);
    let mut candidates: Vec<Candidate> = Vec::with_capacity(dense.len() + lexical.len());
    let mut places: HashMap<Uuid, usize> = HashMap::new();
    for (list, weight) in [(dense, weights.dense), (lexical, weights.lexical)] {
        for (rank, scored) in (1_u16..).zip(list) {
            let share = weight / (K + f32::from(rank)) / best;
            let place = *places.entry(scored.id).or_insert(candidates.len());
            match candidates.get_mut(place) {
                Some(known) => known.score += share,
                None => candidates.push(Candidate::new(scored, share)?),
            }
        }
    }
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::record, *};

    fn list(ids: &[u128]) -> Vec<Scored> {
        let payload = serde_json::to_value(record("a.rs", None, "text")).unwrap();
        let payload = payload.as_object().unwrap();
        let point =
            |id: &u128| Scored { id: Uuid::from_u128(*id), score: 1.0, payload: payload.clone() };
        ids.iter().map(point).collect()
    }

    #[test]
    fn leading_both_lists_scores_one_and_each_list_counts_its_weight() {
        let weights = Weights { dense: 1.0, lexical: 3.0 };
        let fused = fuse(list(&[1, 2]), list(&[1, 3]), weights).unwrap();
        let scores: Vec<(u128, f32)> = fused.iter().map(|c| (c.id.as_u128(), c.score)).collect();
        let second = 61.0 / 62.0;
        assert_eq!(scores, [(1, 1.0), (2, 0.25 * second), (3, 0.75 * second)]);
        assert!(fuse(vec![], vec![], weights).unwrap().is_empty());
    }

    #[test]
    fn a_malformed_record_is_an_error() {
        let bad = Scored { id: Uuid::nil(), score: 1.0, payload: serde_json::Map::new() };
        assert!(fuse(vec![bad], vec![], Weights { dense: 1.0, lexical: 1.0 }).is_err());
    }
}
