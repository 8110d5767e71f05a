//! Which hits are the best, the same for every engine: those return tied points in no fixed order.

use uuid::Uuid;

use super::MAX_PAGE;

/// How often a search is repeated because points it found were deleted before they were read.
pub(super) const MAX_TRIES: usize = 3;
/// How many hits beyond the limit are asked for at first, to see whether the last one is tied.
const TIE_MARGIN: usize = 16;
/// The most hits that are read to order a tie; a larger tie is ordered within these.
const MAX_TIED: usize = 2 * MAX_PAGE;

/// A hit: the point and its score.
pub(super) type Hit = (Uuid, f32);

/// Returns how many hits to ask for at first, to have the best `limit`.
pub(super) fn first_ask(limit: usize) -> usize {
    limit + TIE_MARGIN
}

/// Returns how many hits to ask for instead, if among `found`, best first, of `asked` ones hits may be
/// missing that are tied with the last of the best `limit`.
pub(super) fn next_ask<T>(
    found: &[T],
    score: impl Fn(&T) -> f32,
    asked: usize,
    limit: usize,
) -> Option<usize> {
    let score = |at: usize| found.get(at).map(&score);
    let is_complete = found.len() < asked || score(limit - 1) != score(found.len() - 1);
    (!is_complete && asked < MAX_TIED).then(|| (asked * 4).min(MAX_TIED))
}

/// Returns the best `limit` hits in order, tied ones by id, without those that have no score.
pub(super) fn ordered(found: impl IntoIterator<Item = Hit>, limit: usize) -> Vec<Hit> {
    let mut hits: Vec<Hit> = found.into_iter().filter(|(_, score)| !score.is_nan()).collect();
    hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(limit);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(scores: &[f32], asked: usize, limit: usize) -> Option<usize> {
        next_ask(scores, |score| *score, asked, limit)
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
        assert_eq!(ordered(found, 2), [hit(2, 2.0), hit(1, 1.0)]);
    }
}
