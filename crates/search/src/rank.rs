//! Re-ranks fused candidates by features that matter to a reader of code.
//!
//! Each feature is pure, and each is needed: `benches/README.md` has the figures.
//!
//! A learned ranker (gradient-boosted trees over the same features) did worse on languages it had not seen. The
//! score of a file counts fully for its best chunk, and more for the others the more words a query has: a few words
//! look for a file, a whole question for a place in one.

mod definition;
mod factors;
mod file;
mod text;

pub(super) use self::definition::find_named_symbol;
use self::factors::PurposeWeight;

use std::{cmp::Reverse, collections::HashMap};

use codeinfo_core::{ChunkRecord, ScoreParts};
use codeinfo_lang::role::{self, FileRole};

use super::{
    candidate::{ListWeights, SearchCandidate, fold_copies, fold_translations},
    intent::{QueryIntent, QueryKind},
    weights::SearchWeights,
};

/// Words of a query above which some occur in names by chance, so that names count less.
const TELLING_WORDS: f32 = 5.0;

/// Slope with which a query counts as long; from 7 words on it does so fully.
const LONG_SLOPE: f32 = 3.75;

/// Discount of a file's agreement in long queries, some of whose words occur everywhere.
const AGREEMENT_IN_LONG: f32 = 0.8;

/// Share of the role discount that a chunk recovers by defining the name of the query.
const DEFINING: f32 = 0.85;

#[derive(Debug, Clone)]
struct QueryWeights {
    shipped: SearchWeights,
    definition: f32,
    coverage: f32,
    file_agreement: f32,
    /// Weight of the names of files and folders, 0…1.
    names: f32,
    /// Factor of the file's score for every chunk after the file's best one.
    further: f32,
    purpose: PurposeWeight,
    /// Factor of each path of the query.
    path_shares: Vec<f32>,
    /// Maximum score that a candidate can attain.
    attainable: f32,
}

impl QueryWeights {
    fn for_intent(intent: &QueryIntent, weights: &SearchWeights) -> Self {
        let by_name = intent.kind != QueryKind::Prose;
        let (definition, file_agreement) = if by_name {
            (weights.definition_by_name, weights.file_agreement_by_name)
        } else {
            (weights.definition, weights.file_agreement)
        };
        let named = if intent.names.is_empty() { 0.0 } else { definition + weights.exact_file };
        #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
        let words = intent.words.len().max(1) as f32;
        let share = (TELLING_WORDS / words).min(1.0);
        let others = if by_name { 0.0 } else { 1.0 - share };
        let file_agreement = file_agreement * (1.0 - AGREEMENT_IN_LONG * others);
        let coverage = weights.coverage + weights.coverage_of_long * others;
        let file = file_agreement + share * (weights.file + weights.folder);
        let kept = 1.0 - weights.per_file_discount;
        let back = weights.per_file_discount_of_long * (LONG_SLOPE * others).min(1.0);
        let meaning = if intent.has_name_meaning() { weights.name_meaning } else { 0.0 };
        let path = if intent.paths.is_empty() { 0.0 } else { weights.path };
        let literal = weights.literal * intent.literals.max_weight() + path;
        Self {
            shipped: *weights,
            definition,
            coverage,
            file_agreement,
            names: share,
            further: (kept + back).min(1.0),
            purpose: PurposeWeight { documents: 0.0, weight: weights.purpose },
            path_shares: vec![1.0; intent.paths.len()],
            attainable: 1.0 + named + coverage + meaning + file + literal,
        }
    }

    /// Sets the likelihood that documents answer, and whether a candidate has the query as heading or
    /// describes the package that it asks for.
    fn for_documents(mut self, documents: f32, has_heading: bool, is_described: bool) -> Self {
        if has_heading {
            self.attainable += self.definition;
        }
        if is_described {
            self.attainable += self.shipped.package;
        }
        self.purpose.documents = documents;
        self.attainable *= factors::compute_best_factor(self.purpose);
        self
    }

    /// Returns a file's score by its name, its folder's name and the agreement of its chunks.
    fn score_file(&self, path: &str, agreement: f32, intent: &QueryIntent) -> f32 {
        let SearchWeights { file, folder, exact_file, .. } = self.shipped;
        let names = file * file::score_file_name(path, intent)
            + folder * file::score_folder_name(path, intent);
        self.names * names
            + exact_file * file::score_exact_name(path, intent)
            + self.file_agreement * agreement
    }
}

/// Returns the weights of the lists: names are found by letters, descriptions mainly by meaning.
pub(super) fn choose_list_weights(kind: QueryKind, weights: &SearchWeights) -> ListWeights {
    match kind {
        QueryKind::Symbol | QueryKind::Path => {
            ListWeights { dense: weights.dense_by_name, lexical: weights.lexical_by_name }
        }
        QueryKind::Prose => ListWeights { dense: weights.dense, lexical: weights.lexical },
    }
}

/// Scores candidates by all features, orders them best first and keeps `limit`. If a chunk has
/// several definitions, it takes the symbol of the one that the query names.
pub(super) fn rank_candidates(
    candidates: Vec<SearchCandidate>,
    intent: &QueryIntent,
    weights: &SearchWeights,
    limit: usize,
) -> Vec<SearchCandidate> {
    let files = number_files(&candidates);
    let agreement = file::score_agreements(&candidates, &files);
    let covered = text::score_coverage(&candidates, intent);
    let path_shares = text::share_named_paths(&candidates, intent);
    let documents = factors::judge_documents(&candidates, &covered, intent);
    let is_heading = |found: &SearchCandidate| definition::has_heading(&found.record, intent);
    let describes = |found: &SearchCandidate| 0.0 < score_description(&found.record, intent);
    let [has_heading, is_described] =
        [candidates.iter().any(is_heading), candidates.iter().any(describes)];
    let weights = QueryWeights { path_shares, ..QueryWeights::for_intent(intent, weights) }
        .for_documents(documents, has_heading, is_described);
    let mut file_scores = HashMap::new();
    let rate = |(candidate, (file, coverage)): (SearchCandidate, (usize, f32))| {
        let file_agreement = agreement.get(file).copied().unwrap_or_default();
        let score = || weights.score_file(&candidate.record.path, file_agreement, intent);
        let file_score = *file_scores.entry(file).or_insert_with(score);
        let context = CandidateContext { file, file_score, coverage };
        RatedCandidate::new(candidate, context, intent, &weights)
    };
    let files_and_coverage = files.iter().copied().zip(covered);
    let mut rated: Vec<RatedCandidate> =
        candidates.into_iter().zip(files_and_coverage).map(rate).collect();
    rated.sort_by(|a, b| a.candidate.best_first(&b.candidate));
    discount_further(&mut rated, &weights);
    rated.sort_by(|a, b| a.candidate.best_first(&b.candidate));
    let rated = match intent.kind {
        QueryKind::Symbol => definition::put_bases_first(rated, intent),
        QueryKind::Path | QueryKind::Prose => rated,
    };
    let rated = put_exact_first(rated, intent);
    let explained =
        rated.into_iter().map(|rated| rated.into_explained_candidate(&weights)).collect();
    let mut ranked = fold_translations(fold_copies(explained, &intent.missing_roots));
    ranked.truncate(limit);
    for SearchCandidate { record, .. } in &mut ranked {
        if let Some(symbol) = find_named_symbol(record, intent) {
            record.symbol = Some(symbol.to_owned());
        }
    }
    ranked
}

/// Moves the candidates with the most exact names to the front and raises their scores.
fn put_exact_first(mut rated: Vec<RatedCandidate>, intent: &QueryIntent) -> Vec<RatedCandidate> {
    if intent.exact.is_empty() {
        return rated;
    }
    let count = |rated: &RatedCandidate| {
        let names = intent.exact.iter();
        Reverse(names.filter(|name| name.matches_chunk(&rated.candidate.record)).count())
    };
    rated.sort_by_cached_key(count);
    lift_scores(&mut rated);
    rated
}

/// Raises scores so that they fall from first to last.
fn lift_scores(rated: &mut [RatedCandidate]) {
    let mut best = 0.0;
    for RatedCandidate { candidate, .. } in rated.iter_mut().rev() {
        best = candidate.score.max(best);
        candidate.score = best;
    }
}

fn number_files(candidates: &[SearchCandidate]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let files = candidates.iter().map(|SearchCandidate { record, .. }| (record.root, &record.path));
    let number = |file| {
        let next = numbers.len();
        *numbers.entry(file).or_insert(next)
    };
    files.map(number).collect()
}

#[derive(Debug, Clone, Copy)]
struct CandidateContext {
    file: usize,
    file_score: f32,
    /// Share of the query that it contains, weighted by the rarity of words among all candidates.
    coverage: f32,
}

/// A candidate with the components of its score. The score is the share of the attainable maximum.
struct RatedCandidate {
    candidate: SearchCandidate,
    file: usize,
    /// Score for a verbatim string of the query, or a named file; independent of the file's role.
    literal: f32,
    /// Score of the chunk itself otherwise.
    chunk: f32,
    /// Score of its file: its name, its folder's name and its other chunks.
    file_score: f32,
    /// Factor of the roles of the file and of the name of the root, applied to both.
    factor: f32,
    /// Factor of everything if the folder of its root is gone.
    missing_root_factor: f32,
    /// Parts of `chunk` for defining a name of the query and for containing its words.
    definition: f32,
    coverage: f32,
    /// Part of `chunk` for the meaning of its names.
    name_meaning: f32,
    /// Factor of the file's score.
    further: f32,
}

impl RatedCandidate {
    fn new(
        candidate: SearchCandidate,
        context: CandidateContext,
        intent: &QueryIntent,
        weights: &QueryWeights,
    ) -> Self {
        let record = &candidate.record;
        let CandidateContext { file, file_score, coverage } = context;
        let literal = weights.shipped.literal;
        let has_heading = definition::has_heading(record, intent);
        let described = score_description(record, intent);
        let defined = if has_heading { 1.0 } else { definition::score_definition(record, intent) };
        let definition = weights.definition * defined + weights.shipped.package * described;
        let coverage = weights.coverage * coverage;
        let name_meaning = weights.shipped.name_meaning * candidate.name_meaning;
        let chunk = candidate.score + definition + coverage + name_meaning;
        let roles = factors::compute_role_factor(&record.roles, intent, weights.purpose);
        let roles = if has_heading || 0.0 < described {
            roles.max(1.0)
        } else {
            role_factor(roles, &record.roles, defined, intent)
        };
        let factor = roles.powf(weights.shipped.roles)
            * factors::compute_root_name_factor(record.root, intent, weights.shipped.root_name);
        let literal = literal * text::score_literals(record, intent)
            + weights.shipped.path * text::score_named_path(record, intent, &weights.path_shares);
        let missing_root_factor = factors::compute_missing_root_factor(record.root, intent);
        let further = 1.0;
        let mut rated = Self {
            candidate,
            file,
            literal,
            chunk,
            file_score,
            factor,
            missing_root_factor,
            definition,
            coverage,
            name_meaning,
            further,
        };
        rated.score_as_further(0, weights);
        rated
    }

    /// Computes the score of the chunk. `better` is the number of better chunks of its file.
    fn score_as_further(&mut self, better: i32, weights: &QueryWeights) {
        self.further = weights.further.powi(better);
        let sum = self.chunk + self.file_score * self.further;
        let earned = (sum * self.factor + self.literal) * self.missing_root_factor;
        self.candidate.score = earned / weights.attainable;
    }

    fn into_explained_candidate(mut self, weights: &QueryWeights) -> SearchCandidate {
        let share = |part: f32| part / weights.attainable;
        let file_score = self.file_score * self.further;
        let candidate = &mut self.candidate;
        let found = candidate.parts;
        candidate.parts = ScoreParts {
            meaning: share(found.meaning + self.name_meaning),
            words: share(found.words),
            definition: share(self.definition),
            coverage: share(self.coverage),
            file: share(file_score),
            verbatim: share(self.literal),
            role: share((self.chunk + file_score) * (self.factor - 1.0)),
            others: 0.0,
        };
        candidate.parts.others = candidate.score - candidate.parts.sum();
        self.candidate
    }
}

/// Returns how well a chunk describes the package that the query asks for, 0…1.
fn score_description(record: &ChunkRecord, intent: &QueryIntent) -> f32 {
    intent.package.as_ref().map_or(0.0, |package| package.score_description(record))
}

/// Applies the role factor of a file, but less to a chunk that defines the name of the query: for a
/// name alone, a test that defines it is also a good answer, after source that defines it.
fn role_factor(factor: f32, roles: &[FileRole], definition: f32, intent: &QueryIntent) -> f32 {
    match intent.kind {
        QueryKind::Symbol if role::may_define(roles) => factor.powf(1.0 - DEFINING * definition),
        QueryKind::Symbol | QueryKind::Path | QueryKind::Prose => factor,
    }
}

/// Lowers the scores of all but the first, best chunk of each file, less so for long queries.
fn discount_further(rated: &mut [RatedCandidate], weights: &QueryWeights) {
    let mut seen = HashMap::new();
    for rated in rated {
        let better = seen.entry(rated.file).or_insert(0);
        rated.score_as_further(*better, weights);
        *better += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixture::{candidate, record},
        *,
    };

    /// Returns the files of the ranked chunks. The best file has three of them, the other one has
    /// one.
    fn files(query: &str) -> Vec<String> {
        let candidate =
            |(path, score, id): (&str, f32, u128)| candidate(id, record(path, None, ""), score);
        let found = [("good", 1.0, 1), ("good", 0.9, 2), ("good", 0.9, 3), ("other", 0.95, 4)];
        let candidates = found.map(candidate).into();
        let ranked =
            rank_candidates(candidates, &QueryIntent::parse(query), &SearchWeights::SHIPPED, 3);
        ranked.into_iter().map(|candidate| candidate.record.path).collect()
    }

    #[test]
    fn short_queries_find_files_and_long_questions_find_places() {
        let few = "retry a failed request";
        let name = "RetryPolicyOfFailedRequestsToRemoteServers";
        assert_eq!([files(few), files(name)], [["good", "other", "good"]; 2]);
        let many =
            "what happens to a queued request when its connection closes before the answer came";
        assert_eq!(files(many), ["good", "good", "good"]);
    }

    #[test]
    fn agreement_of_a_file_counts_less_in_long_questions() {
        let agreement = |question| {
            let weights =
                QueryWeights::for_intent(&QueryIntent::parse(question), &SearchWeights::SHIPPED);
            weights.file_agreement / SearchWeights::SHIPPED.file_agreement
        };
        let few = agreement("retry a failed request");
        let many = agreement(
            "what happens with queued request bodies after closing their connection while uploading \
             large files",
        );
        assert!((few - 1.0).abs() < 1e-6 && 0.3 < many && many < 0.7, "{few} {many}");
    }

    #[test]
    fn coverage_counts_more_in_long_questions_and_scores_stay_within_one() {
        let long = "what happens with queued request bodies after closing their connection";
        let weights =
            |query| QueryWeights::for_intent(&QueryIntent::parse(query), &SearchWeights::SHIPPED);
        let few = weights("retry a failed request");
        let many = weights(long);
        assert!((few.coverage - SearchWeights::SHIPPED.coverage).abs() < 1e-6);
        assert!((weights("RetryPolicy").coverage - few.coverage).abs() < 1e-6);
        assert!(few.coverage < many.coverage);
        let candidates =
            (0..25).map(|id| candidate(id, record("request/queued.rs", None, long), 1.0));
        let best = rank_candidates(
            candidates.collect(),
            &QueryIntent::parse(long),
            &SearchWeights::SHIPPED,
            1,
        );
        assert!(best.first().is_some_and(|best| best.score <= 1.0 + 1e-5), "{best:?}");
    }

    #[test]
    fn names_that_mean_the_question_count_in_questions_of_several_words() {
        let best = |query: &str| {
            let found = [("pool.rs", 1.0, 0.1, 1), ("evict.rs", 0.95, 0.5, 2)];
            let intent = QueryIntent::parse(query);
            let candidates = found.map(|(path, score, name_meaning, id)| SearchCandidate {
                name_meaning: if intent.has_name_meaning() { name_meaning } else { 0.0 },
                ..candidate(id, record(path, None, ""), score)
            });
            let ranked = rank_candidates(candidates.into(), &intent, &SearchWeights::SHIPPED, 1);
            ranked.into_iter().next().map(|best| best.record.path)
        };
        let question = "when are idle server connections dropped";
        assert_eq!(best(question).as_deref(), Some("evict.rs"));
        let report = format!("{question}\n{}", "it stops with many errors ".repeat(9));
        for other in ["drop idle connections", "IdleServerConnectionsDropped", &report] {
            assert_eq!(best(other).as_deref(), Some("pool.rs"), "{other}");
        }
    }

    #[test]
    fn further_chunks_of_a_file_are_discounted_in_long_questions() {
        let candidate =
            |(path, score, id): (&str, f32, u128)| candidate(id, record(path, None, ""), score);
        let mut found = vec![("other", 0.9, 9)];
        found.extend((0..6_u8).map(|id| ("large", 1.0 - 0.02 * f32::from(id), id.into())));
        let question = "what happens to a queued request when its connection closes too early";
        let candidates: Vec<SearchCandidate> = found.into_iter().map(candidate).collect();
        let place = |weights: SearchWeights| {
            let ranked =
                rank_candidates(candidates.clone(), &QueryIntent::parse(question), &weights, 7);
            ranked.iter().position(|candidate| candidate.record.path == "other")
        };
        let with_high_share =
            SearchWeights { per_file_discount_of_long: 0.8, ..SearchWeights::SHIPPED };
        assert_eq!((place(SearchWeights::SHIPPED), place(with_high_share)), (Some(5), Some(6)));
    }

    #[test]
    fn definitions_come_before_tests_that_define_the_name_and_tests_before_uses() {
        let candidate = |(path, defines, score, id): (&str, &[&str], f32, u128)| {
            let defines = defines.iter().map(|symbol| (*symbol).to_owned()).collect();
            let record = ChunkRecord { defines, ..record(path, None, path) };
            candidate(id, record, score)
        };
        let found: [(&str, &[&str], f32, u128); 3] = [
            ("tests/net.rs", &["retry_policy"], 1.0, 1),
            ("src/net.rs", &["Net", "Net::retry_policy"], 0.9, 2),
            ("src/use.rs", &["main"], 1.0, 3),
        ];
        let candidates = found.map(candidate).into();
        let ranked = rank_candidates(
            candidates,
            &QueryIntent::parse("retry_policy"),
            &SearchWeights::SHIPPED,
            3,
        );
        let shown = ranked
            .iter()
            .map(|candidate| (candidate.record.path.as_str(), candidate.record.symbol.as_deref()));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("src/net.rs", Some("Net::retry_policy")),
                ("tests/net.rs", Some("retry_policy")),
                ("src/use.rs", None)
            ]
        );
    }

    #[test]
    fn a_chunk_with_all_features_has_the_score_one() {
        for (query, path) in [
            ("net retry_policy says \"gave up after\"", "net/retry_policy.rs"),
            ("retry_policy", "retry/retry_policy.rs"),
        ] {
            let text = format!("fn retry_policy() {{}} // {query}");
            // Enough chunks of a file for the maximum agreement.
            let defines = vec!["retry_policy".to_owned()];
            let record = ChunkRecord { defines, ..record(path, Some("retry_policy"), &text) };
            let candidates = (0..25).map(|id| SearchCandidate {
                name_meaning: f32::from(u8::from(QueryIntent::parse(query).has_name_meaning())),
                ..candidate(id, record.clone(), 1.0)
            });
            let ranked = rank_candidates(
                candidates.collect(),
                &QueryIntent::parse(query),
                &SearchWeights::SHIPPED,
                1,
            );
            let score = ranked.first().map(|best| best.score);
            assert!(score.is_some_and(|score| (score - 1.0).abs() < 1e-5), "{query} {score:?}");
        }
    }
}
