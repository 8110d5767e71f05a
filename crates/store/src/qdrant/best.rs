//! The best hits in a fixed order: a server returns tied points in no fixed order.

use uuid::Uuid;

use crate::MAX_PAGE;

/// Maximum number of repetitions of a search whose results were deleted before they were read.
pub(super) const MAX_TRIES: usize = 3;
/// Number of hits beyond the limit that are requested at first, to see whether the last one is tied.
const TIE_MARGIN: usize = 16;
/// Maximum number of hits that are read to order a tie; a larger tie is ordered within these.
const MAX_TIED: usize = 2 * MAX_PAGE;

/// Id and score of a point.
pub(super) type PointScore = (Uuid, f32);

/// Returns the number of hits to request at first for the best `limit`.
pub(super) fn first_request(limit: usize) -> usize {
    limit + TIE_MARGIN
}

/// Returns the number of hits to request instead, if `found`, best first, of `requested` ones may lack hits
/// that are tied with the last of the best `limit`.
pub(super) fn next_request<T>(
    found: &[T],
    score: impl Fn(&T) -> f32,
    requested: usize,
    limit: usize,
) -> Option<usize> {
    let score = |at: usize| found.get(at).map(&score);
    let is_complete = found.len() < requested || score(limit - 1) != score(found.len() - 1);
    (!is_complete && requested < MAX_TIED).then(|| (requested * 4).min(MAX_TIED))
}

/// Sorts hits, tied ones by id, drops those without a score, and keeps the best `limit`.
pub(super) fn sort_best(
    found: impl IntoIterator<Item = PointScore>,
    limit: usize,
) -> Vec<PointScore> {
    let mut hits: Vec<PointScore> =
        found.into_iter().filter(|(_, score)| !score.is_nan()).collect();
    hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(limit);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(scores: &[f32], requested: usize, limit: usize) -> Option<usize> {
        next_request(scores, |score| *score, requested, limit)
    }

    #[test]
    fn more_hits_are_asked_for_while_the_last_may_be_tied() {
        assert_eq!(ask(&[3.0, 2.0, 2.0], 3, 2), Some(12));
        assert_eq!(ask(&[3.0, 2.0, 1.0], 3, 2), None);
        assert_eq!(ask(&[3.0, 2.0, 2.0], 4, 2), None);
        assert_eq!(ask(&[2.0; 9], 9, 2), Some(36));
        assert_eq!(ask(&vec![2.0; MAX_TIED], MAX_TIED, 2), None);
    }

    #[test]
    fn tied_hits_come_by_id_and_hits_without_score_not_at_all() {
        let hit = |id, score| (Uuid::from_u128(id), score);
        let found = [hit(3, 1.0), hit(9, f32::NAN), hit(1, 1.0), hit(2, 2.0)];
        assert_eq!(sort_best(found, 2), [hit(2, 2.0), hit(1, 1.0)]);
    }
}
