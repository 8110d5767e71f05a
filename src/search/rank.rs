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
/// What remains of the score of each further chunk of a file, so that the first results are not all
/// of one file. It is mild: the second-best chunk of the right file is often wanted, too.
const FURTHER_CHUNK: f32 = 0.9;
/// What remains, for each further chunk, of what the names of file and folder add: they say
/// something about the file once, not about each of its chunks.
const FURTHER_NAME: f32 = 0.5;

/// Returns how much each list counts. Names are found by their letters, descriptions by meaning and
/// by letters alike.
pub(super) fn weights(kind: Kind) -> Weights {
    match kind {
        Kind::Symbol | Kind::Path => Weights { dense: 0.2, lexical: 0.8 },
        Kind::Prose => Weights { dense: 0.55, lexical: 0.45 },
    }
}

/// Applies the rules, orders candidates best first, and keeps `limit`.
pub(super) fn rank(candidates: Vec<Candidate>, intent: &Intent, limit: usize) -> Vec<Candidate> {
    let rate = |candidate: Candidate| Rated::new(candidate, intent);
    let mut rated: Vec<Rated> = candidates.into_iter().map(rate).collect();
    rated.sort_by(|a, b| a.candidate.best_first(&b.candidate));
    spread(&mut rated);
    let mut ranked: Vec<Candidate> = rated.into_iter().map(|rated| rated.candidate).collect();
    ranked.sort_by(Candidate::best_first);
    ranked.truncate(limit);
    ranked
}

/// A candidate and what its score is made of. Its own score is the share of [`ATTAINABLE`].
struct Rated {
    candidate: Candidate,
    /// What the chunk itself earns.
    chunk: f32,
    /// What the names of its file and folder add.
    names: f32,
    /// What the role of its file leaves of both.
    factor: f32,
}

impl Rated {
    fn new(candidate: Candidate, intent: &Intent) -> Self {
        let path = candidate.record.path.as_str();
        let symbol = candidate.record.symbol.as_deref().unwrap_or_default();
        let mut rated = Self {
            chunk: candidate.score
                + DEFINITION * names::definition(&candidate.record, intent)
                + SYMBOL * names::share(symbol, intent),
            names: FILE * names::file(path, intent) + FOLDER * names::folder(path, intent),
            factor: paths::factor(path, intent),
            candidate,
        };
        rated.score_as_further(0);
        rated
    }

    /// Sets the score of the chunk, given how many better ones its file has.
    fn score_as_further(&mut self, better: i32) {
        let sum = self.chunk + self.names * FURTHER_NAME.powi(better);
        self.candidate.score = sum / ATTAINABLE * self.factor * FURTHER_CHUNK.powi(better);
    }
}

/// Lowers the scores of all but the best chunk of each file. Candidates come best first.
fn spread(rated: &mut [Rated]) {
    let mut seen: HashMap<(RootId, String), i32> = HashMap::new();
    for rated in rated {
        let file = (rated.candidate.record.root, rated.candidate.record.path.clone());
        let better = seen.entry(file).or_insert(0);
        rated.score_as_further(*better);
        *better += 1;
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
