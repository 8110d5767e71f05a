//! Re-ranks fused candidates by what a reader of code would look at.
//!
//! Each rule is pure, and each is there because leaving it out loses on queries with known
//! answers: `benches/README.md` has the figures. The weights are in units of the fused score, which
//! is at most 1. They were tuned by steps on a set of questions, and such tuning was judged on
//! languages left out of it.

mod coherence;
mod coverage;
mod definition;
mod literal;
mod names;
mod paths;
mod roots;
mod versions;

use std::collections::{HashMap, HashSet};

use super::{
    candidate::Candidate,
    fuse::Weights,
    intent::{Intent, Kind},
    rules::{Rule, Rules},
};
use crate::domain::RootId;

/// For a string of the query that the chunk holds letter by letter.
const LITERAL: f32 = 2.5;
/// For the definition of a name that the query has.
const DEFINITION: f32 = 0.5;
/// For a symbol made of the query's words.
const SYMBOL: f32 = 0.2;
/// For a chunk that holds all of the query's words.
const COVERAGE: f32 = 0.65;
/// For a file named with the query's words.
const FILE: f32 = 0.7;
/// For a file named exactly as the query says.
const EXACT_FILE: f32 = 0.2;
/// For a folder named with the query's words.
const FOLDER: f32 = 0.25;
/// For a file of which many good chunks were found.
const COHERENCE: f32 = 1.2;
/// What a query of names only changes: it looks for definitions, and a definition may be the only
/// chunk of its file that is found.
const DEFINITION_BY_NAME: f32 = 2.0;
const COHERENCE_BY_NAME: f32 = 0.5;
/// Of more words than these, some are in names by chance, and names count less.
const TELLING_WORDS: f32 = 5.0;
/// What remains of the score in the folder of an older version.
const OLDER_VERSION: f32 = 0.7;
/// What remains, for each further chunk, of what the file adds: its name and its other chunks say
/// once that the file is right, and not which of its chunks is. Few words ask for a file.
const FURTHER_FILE: f32 = 0.2;
/// How much more remains where a query has more than the telling words: such a one asks for a place,
/// and the second-best chunk of the right file may be it.
const FURTHER_PLACE: f32 = 1.5;

/// Weights that depend on the query.
#[derive(Debug, Clone, Copy)]
struct Measure {
    definition: f32,
    coherence: f32,
    /// For a symbol made of the query's words.
    symbol: f32,
    /// How much the names of files and folders count, 0…1.
    names: f32,
    /// What remains, for each further chunk, of what its file adds.
    further: f32,
    /// The most that a candidate can attain.
    attainable: f32,
}

impl Measure {
    fn of(intent: &Intent) -> Self {
        let (definition, coherence) = match intent.kind {
            Kind::Symbol | Kind::Path => {
                (DEFINITION * DEFINITION_BY_NAME, COHERENCE * COHERENCE_BY_NAME)
            }
            Kind::Prose => (DEFINITION, COHERENCE),
        };
        let named = if intent.names.is_empty() { 0.0 } else { definition + EXACT_FILE };
        #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
        let words = intent.words.len().max(1) as f32;
        let share = (TELLING_WORDS / words).min(1.0);
        let file = coherence + share * (FILE + FOLDER);
        let (symbol, further) = match intent.kind {
            Kind::Symbol | Kind::Path => (SYMBOL, FURTHER_FILE),
            Kind::Prose => {
                (share * SYMBOL, (FURTHER_FILE + FURTHER_PLACE * (1.0 - share)).min(1.0))
            }
        };
        let attainable = 1.0 + named + symbol + COVERAGE + file + LITERAL * intent.literals.most();
        Self { definition, coherence, symbol, names: share, further, attainable }
    }
}

/// Returns how much each list counts. Names are found by their letters, descriptions rather by their
/// meaning.
pub(super) fn weights(kind: Kind, rules: Rules) -> Weights {
    let (dense, lexical) = match kind {
        Kind::Symbol | Kind::Path => (0.35, 0.65),
        Kind::Prose => (0.6, 0.4),
    };
    match (rules.has(Rule::Dense), rules.has(Rule::Lexical)) {
        (true, false) => Weights { dense: 1.0, lexical: 0.0 },
        (false, true) => Weights { dense: 0.0, lexical: 1.0 },
        _ => Weights { dense, lexical },
    }
}

/// Applies the rules, orders candidates best first, and keeps `limit`.
pub(super) fn rank(
    candidates: Vec<Candidate>,
    intent: &Intent,
    rules: Rules,
    limit: usize,
) -> Vec<Candidate> {
    let coherent = coherence::of_files(&candidates);
    let covered = if rules.has(Rule::Coverage) {
        coverage::shares(&candidates, intent)
    } else {
        HashMap::new()
    };
    let older = if rules.has(Rule::Versions) {
        versions::superseded(&candidates, intent)
    } else {
        HashSet::new()
    };
    let measure = Measure::of(intent);
    let rate = |candidate: Candidate| {
        let file = candidate.file();
        let surroundings = Surroundings {
            coherence: coherent.get(&file).copied().unwrap_or_default(),
            is_older: older.contains(&file),
            coverage: covered.get(&candidate.id).copied().unwrap_or_default(),
        };
        Rated::new(candidate, surroundings, intent, measure, rules)
    };
    let mut rated: Vec<Rated> = candidates.into_iter().map(rate).collect();
    if rules.has(Rule::Spread) {
        rated.sort_by(|a, b| a.candidate.best_first(&b.candidate));
        spread(&mut rated);
    }
    let mut ranked: Vec<Candidate> = rated.into_iter().map(|rated| rated.candidate).collect();
    ranked.sort_by(Candidate::best_first);
    ranked.truncate(limit);
    ranked
}

/// What the other candidates say of one.
#[derive(Debug, Clone, Copy)]
struct Surroundings {
    /// How well the chunks of its file agree.
    coherence: f32,
    /// Whether something was found in a newer version of its folder.
    is_older: bool,
    /// How much of the query it holds, rare words among all candidates counting more.
    coverage: f32,
}

/// A candidate and what its score is made of. Its own score is the share of what is attainable.
struct Rated {
    candidate: Candidate,
    /// What the chunk earns by holding what is asked for letter by letter, whatever its file.
    literal: f32,
    /// What the chunk itself earns otherwise.
    chunk: f32,
    /// What its file adds: its name, its folder's, and its other chunks.
    file: f32,
    /// What the roles of file and chunk leave of both.
    factor: f32,
    measure: Measure,
}

impl Rated {
    fn new(
        candidate: Candidate,
        surroundings: Surroundings,
        intent: &Intent,
        measure: Measure,
        rules: Rules,
    ) -> Self {
        let record = &candidate.record;
        let path = record.path.as_str();
        let symbol = record.symbol.as_deref().unwrap_or_default();
        let literal = rules.weigh(Rule::Literal, LITERAL * literal::share(record, intent));
        let definition = definition::share(record, intent);
        let chunk = candidate.score
            + rules.weigh(Rule::Definition, measure.definition * definition)
            + COVERAGE * surroundings.coverage
            + rules.weigh(Rule::Symbol, measure.symbol * names::share(symbol, intent));
        let names = FILE * names::file(path, intent) + FOLDER * names::folder(path, intent);
        let names = measure.names * names + EXACT_FILE * names::exact_file(path, intent);
        let file = rules.weigh(Rule::Names, names)
            + rules.weigh(Rule::Coherence, measure.coherence * surroundings.coherence);
        let mut factor = if surroundings.is_older { OLDER_VERSION } else { 1.0 };
        if rules.has(Rule::Roles) {
            factor *= role(path, definition, intent);
        }
        if rules.has(Rule::RootNames) {
            factor *= roots::factor(record.root, intent);
        }
        let mut rated = Self { candidate, literal, chunk, file, factor, measure };
        rated.score_as_further(0);
        rated
    }

    /// Sets the score of the chunk, given how many better ones its file has.
    fn score_as_further(&mut self, better: i32) {
        let sum = self.chunk + self.file * self.measure.further.powi(better);
        self.candidate.score = (sum * self.factor + self.literal) / self.measure.attainable;
    }
}

/// Returns what the role of its file leaves of a chunk. Where a name alone is asked for, a test that
/// defines it is no lesser answer.
fn role(path: &str, definition: f32, intent: &Intent) -> f32 {
    let factor = paths::factor(path, intent);
    match intent.kind {
        Kind::Symbol if paths::may_define(path) => factor.powf(1.0 - definition),
        Kind::Symbol | Kind::Path | Kind::Prose => factor,
    }
}

/// Lowers the scores of all but the best chunk of each file, unless the query is long. Candidates come
/// best first.
fn spread(rated: &mut [Rated]) {
    let mut seen: HashMap<(RootId, String), i32> = HashMap::new();
    for rated in rated {
        let better = seen.entry(rated.candidate.file()).or_insert(0);
        rated.score_as_further(*better);
        *better += 1;
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{super::fixture::record, *};

    /// Returns the files of the ranked chunks: the best file has three of them, the other one.
    fn files(query: &str) -> Vec<String> {
        let candidate = |(path, score, id): (&str, f32, u128)| Candidate {
            id: Uuid::from_u128(id),
            record: record(path, None, ""),
            score,
        };
        let found = [("good", 1.0, 1), ("good", 0.9, 2), ("good", 0.9, 3), ("other", 0.95, 4)];
        let candidates = found.map(candidate).into();
        let ranked = rank(candidates, &Intent::of(query), Rules::ALL, 3);
        ranked.into_iter().map(|candidate| candidate.record.path).collect()
    }

    #[test]
    fn few_words_and_names_ask_for_files_and_many_words_for_places() {
        let few = "retry a failed request";
        let name = "RetryPolicyOfFailedRequestsToRemoteServers";
        assert_eq!([files(few), files(name)], [["good", "other", "good"]; 2]);
        let many =
            "what happens to a queued request when its connection closes before the answer came";
        assert_eq!(files(many), ["good", "good", "good"]);
    }

    #[test]
    fn a_chunk_that_every_rule_favours_attains_one() {
        for (query, path) in [
            ("net retry_policy says \"gave up after\"", "net/retry_policy.rs"),
            ("retry_policy", "retry/retry_policy.rs"),
        ] {
            let text = format!("fn retry_policy() {{}} // {query}");
            // So many of a file that it is as coherent as can be.
            let candidates = (0..25).map(|id| Candidate {
                id: Uuid::from_u128(id),
                record: record(path, Some("retry_policy"), &text),
                score: 1.0,
            });
            let ranked = rank(candidates.collect(), &Intent::of(query), Rules::ALL, 1);
            let score = ranked.first().map(|best| best.score);
            assert!(score.is_some_and(|score| (score - 1.0).abs() < 1e-5), "{query} {score:?}");
        }
    }
}
