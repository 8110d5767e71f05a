//! Re-ranks fused candidates by what a reader of code would look at.
//!
//! Each rule is pure, and each is there because leaving it out loses on queries with known
//! answers. The weights are in units of the fused score, which is at most 1.

mod names;
mod paths;

use std::collections::HashMap;

use super::{
    candidate::Candidate,
    fuse::Weights,
    intent::{Intent, Kind},
};
use crate::domain::RootId;

/// For the definition of a name that the query has.
const DEFINITION: f32 = 0.6;
/// For a symbol made of the query's words.
const SYMBOL: f32 = 0.25;
/// For a file named with the query's words.
const FILE: f32 = 0.35;
/// For a folder named with the query's words.
const FOLDER: f32 = 0.1;
/// The most that a candidate can attain.
const ATTAINABLE: f32 = 1.0 + DEFINITION + SYMBOL + FILE + FOLDER;
/// What remains of the score of the next chunk of a file that has a better one, so that the first
/// results are not all of one file.
const NEXT_OF_FILE: f32 = 0.75;
/// The least that remains: a file's tenth chunk is no worse than its fourth.
const LEAST_OF_FILE: f32 = 0.4;

/// Returns how much each list counts. Names are found by their letters, descriptions by meaning and
/// by letters alike.
pub(super) fn weights(kind: Kind) -> Weights {
    match kind {
        Kind::Symbol | Kind::Path => Weights { dense: 0.2, lexical: 0.8 },
        Kind::Prose => Weights { dense: 0.45, lexical: 0.55 },
    }
}

/// Applies the rules, orders candidates best first, and keeps `limit`.
pub(super) fn rank(
    mut candidates: Vec<Candidate>,
    intent: &Intent,
    limit: usize,
) -> Vec<Candidate> {
    for candidate in &mut candidates {
        candidate.score = score(candidate, intent);
    }
    candidates.sort_by(Candidate::best_first);
    spread(&mut candidates);
    candidates.sort_by(Candidate::best_first);
    candidates.truncate(limit);
    candidates
}

/// Returns the share of the attainable score, 0…1.
fn score(candidate: &Candidate, intent: &Intent) -> f32 {
    let record = &candidate.record;
    let symbol = record.symbol.as_deref().unwrap_or_default();
    let sum = candidate.score
        + DEFINITION * names::definition(symbol, intent)
        + SYMBOL * names::share(symbol, intent)
        + FILE * names::file(&record.path, intent)
        + FOLDER * names::folder(&record.path, intent);
    sum / ATTAINABLE * paths::factor(&record.path, intent)
}

/// Lowers the scores of all but the best chunk of each file. Candidates come best first.
fn spread(candidates: &mut [Candidate]) {
    let mut factors: HashMap<(RootId, String), f32> = HashMap::new();
    for candidate in candidates {
        let file = (candidate.record.root, candidate.record.path.clone());
        let factor = factors.entry(file).or_insert(1.0);
        candidate.score *= *factor;
        *factor = (*factor * NEXT_OF_FILE).max(LEAST_OF_FILE);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{super::fixture::record, *};

    /// Ranks chunks of equal fused score, given as path and symbol, and returns their paths.
    fn ranked(query: &str, chunks: &[(&str, &str)]) -> Vec<String> {
        let candidates = chunks
            .iter()
            .zip(0_u128..)
            .map(|((path, symbol), id)| Candidate {
                id: Uuid::from_u128(id),
                record: record(path, Some(symbol), "text"),
                score: 0.5,
            })
            .collect();
        let ranked = rank(candidates, &Intent::of(query), 10);
        assert!(ranked.is_sorted_by(|a, b| b.score <= a.score));
        assert!(ranked.iter().all(|candidate| (0.0..=1.0).contains(&candidate.score)));
        ranked.into_iter().map(|candidate| candidate.record.path).collect()
    }

    #[test]
    fn the_definition_of_a_name_comes_before_its_uses() {
        let chunks = [("a.rs", "main"), ("b.rs", "Store"), ("c.rs", "Store::open")];
        assert_eq!(ranked("Store::open", &chunks), ["c.rs", "b.rs", "a.rs"]);
        assert_eq!(ranked("Store", &chunks), ["b.rs", "c.rs", "a.rs"]);
        assert_eq!(
            ranked("where does openStore fail", &[("a", "x"), ("b", "open_store")]),
            ["b", "a"]
        );
    }

    #[test]
    fn a_file_or_folder_named_like_the_query_comes_first() {
        let chunks = [("src/a.rs", "f"), ("routing/b.rs", "f"), ("src/url_router.rs", "f")];
        let wanted = ["src/url_router.rs", "routing/b.rs", "src/a.rs"];
        assert_eq!(ranked("how are URLs routed", &chunks), wanted);
    }

    #[test]
    fn tests_come_last_unless_asked_for() {
        let chunks = [("src/a_test.go", "f"), ("src/b.go", "f")];
        assert_eq!(ranked("parse the header", &chunks), ["src/b.go", "src/a_test.go"]);
        assert_eq!(ranked("tests of the header", &chunks), ["src/a_test.go", "src/b.go"]);
    }

    #[test]
    fn one_file_does_not_fill_the_first_places() {
        let chunks = [("a.rs", "f"), ("a.rs", "g"), ("a.rs", "h"), ("b.rs", "f")];
        assert_eq!(ranked("parse", &chunks), ["a.rs", "b.rs", "a.rs", "a.rs"]);
    }
}
