//! Raises files with many high-scoring chunks, because the query is about the file itself.

use super::super::candidate::SearchCandidate;

/// Number of chunks after the best one of a file whose scores count.
const COUNTED_SCORES: usize = 3;
/// Number of chunks from which on more of them add nothing.
const MAX_COUNTED: f32 = 20.0;
/// Weight of the number of chunks against their scores, 0…1.
const NUMBER_WEIGHT: f32 = 0.45;

/// Returns the agreement of each file's chunks, 0…1, from the scores of the best ones after the
/// first and their number. `files` contains the number of each candidate's file.
pub(super) fn score_files(candidates: &[SearchCandidate], files: &[usize]) -> Vec<f32> {
    let mut scores: Vec<Vec<f32>> = Vec::new();
    for (candidate, file) in candidates.iter().zip(files) {
        if scores.len() <= *file {
            scores.resize_with(file + 1, Vec::new);
        }
        if let Some(scores) = scores.get_mut(*file) {
            scores.push(candidate.score);
        }
    }
    let agreement = scores.into_iter().map(|mut scores| {
        scores.sort_by(|a, b| b.total_cmp(a));
        score_agreement(&scores)
    });
    agreement.collect()
}

#[expect(clippy::cast_precision_loss, reason = "a file has few chunks among the candidates")]
fn score_agreement(best_first: &[f32]) -> f32 {
    let further: f32 = best_first.iter().skip(1).take(COUNTED_SCORES).sum();
    let number = ((1.0 + best_first.len() as f32).ln() / MAX_COUNTED.ln()).min(1.0);
    (1.0 - NUMBER_WEIGHT) * further / COUNTED_SCORES as f32 + NUMBER_WEIGHT * number
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{super::super::fixture::record, *};
    use codeinfo_core::ScoreParts;

    #[test]
    fn more_and_better_chunks_raise_the_agreement_of_a_file() {
        let chunks = [("one", 1.0), ("two", 1.0), ("two", 0.9), ("weak", 1.0), ("weak", 0.1)];
        let candidates: Vec<SearchCandidate> = chunks
            .iter()
            .zip(0_u128..)
            .map(|((path, score), id)| SearchCandidate {
                id: Uuid::from_u128(id),
                record: record(path, None, ""),
                score: *score,
                parts: ScoreParts::default(),
                also: Vec::new(),
                copies: Vec::new(),
            })
            .collect();
        let [one, two, weak] = score_files(&candidates, &[0, 1, 1, 2, 2])[..] else { panic!() };
        assert!(one < weak && weak < two);
        assert!((score_agreement(&[1.0; 100]) - 1.0).abs() < 1e-6);
    }
}
