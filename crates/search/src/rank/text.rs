//! Scores the words, literals and named file of a query that a chunk contains.

use std::{cmp::Reverse, collections::HashSet};

use aho_corasick::AhoCorasick;
use codeinfo_core::{ChunkRecord, RootId, inverse_document_frequency};
use codeinfo_lang::words::stem_word;

use super::super::{
    candidate::SearchCandidate,
    intent::{QueryIntent, QueryLiteral, QueryPath},
};

/// Minimum bytes of a stem; shorter ones occur in other words by chance.
const MIN_STEM_BYTES: usize = 3;
/// Minimum bytes of the stem of a word with a similar meaning.
const MIN_SIMILAR_STEM_BYTES: usize = 4;
/// Maximum words that are searched: the longest ones of a longer query, which has pasted text.
const MAX_WORDS: usize = 64;
/// Maximum words of a long text outside of its title, the longest ones.
const MAX_BODY_WORDS: usize = 16;
/// Weight of a word of a long text outside of its title.
const BODY_WORD: f32 = 0.5;

/// Returns for each candidate the share, 0…1, of the query's words in its path, symbol or text.
/// Rare words count more, and words of similar meaning by their similarity.
pub(super) fn score_coverage(candidates: &[SearchCandidate], intent: &QueryIntent) -> Vec<f32> {
    let words = QueryStems::from_intent(intent);
    let none = vec![0.0; candidates.len()];
    if words.weights.is_empty() {
        return none;
    }
    let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&words.stems);
    let Ok(finder) = finder else { return none };
    let held: Vec<Vec<f32>> =
        candidates.iter().map(|candidate| words.score_words(candidate, &finder)).collect();
    let is_held = |held: &&Vec<f32>, place| held.get(place).is_some_and(|share| 1.0 <= *share);
    let holders = |place| held.iter().filter(|held| is_held(held, place)).count();
    let rarity = |(place, weight): (usize, &f32)| {
        weight * inverse_document_frequency(holders(place), held.len())
    };
    let idfs: Vec<f32> = words.weights.iter().enumerate().map(rarity).collect();
    let all: f32 = idfs.iter().sum();
    let share = |held: &Vec<f32>| {
        let known: f32 = held.iter().zip(&idfs).map(|(share, idf)| share * idf).sum();
        known / all
    };
    held.iter().map(share).collect()
}

struct QueryStems<'a> {
    /// Weight of each word of the query.
    weights: Vec<f32>,
    /// Stems of these words, and of words with a similar meaning.
    stems: Vec<&'a str>,
    /// For each stem, the index of its word in the query and its weight.
    stand_for: Vec<(usize, f32)>,
}

impl<'a> QueryStems<'a> {
    fn from_intent(intent: &'a QueryIntent) -> Self {
        let mut asked: Vec<(&str, &str)> = intent
            .words
            .iter()
            .filter_map(|word| Some((find_stem(word)?, word.as_str())))
            .filter(|(stem, _)| stem.len() >= MIN_STEM_BYTES)
            .collect();
        // Sorted, so that sums are always the same.
        let is_in_body = |word: &str| intent.long.is_some() && !intent.title_words.contains(word);
        asked.sort_unstable_by_key(|(stem, word)| {
            (is_in_body(word), Reverse(stem.len()), *stem, *word)
        });
        let mut seen = HashSet::new();
        asked.retain(|(stem, _)| seen.insert(*stem));
        let title_words = asked.partition_point(|(_, word)| !is_in_body(word));
        asked.truncate(MAX_WORDS.min(title_words + MAX_BODY_WORDS));
        let mut stems = Vec::new();
        let mut stand_for = Vec::new();
        for (place, (stem, word)) in asked.iter().enumerate() {
            stems.push(*stem);
            stand_for.push((place, 1.0));
            for near in intent.near.get(*word).into_iter().flatten() {
                let Some(other) = find_stem(near.word) else { continue };
                if MIN_SIMILAR_STEM_BYTES <= other.len() && !other.contains(stem) {
                    stems.push(other);
                    stand_for.push((place, near.share));
                }
            }
        }
        let weigh = |(_, word): &(&str, &str)| if is_in_body(word) { BODY_WORD } else { 1.0 };
        Self { weights: asked.iter().map(weigh).collect(), stems, stand_for }
    }

    /// Returns the weight with which a candidate contains each word, regardless of case and ending.
    fn score_words(&self, candidate: &SearchCandidate, finder: &AhoCorasick) -> Vec<f32> {
        let record = &candidate.record;
        let symbol = record.symbol.as_deref().unwrap_or_default();
        let mut held = vec![0.0_f32; self.weights.len()];
        for text in [record.path.as_str(), symbol, &record.text] {
            for found in finder.find_overlapping_iter(text) {
                let stands_for = self.stand_for.get(found.pattern().as_usize());
                if let Some((place, share)) = stands_for
                    && let Some(held) = held.get_mut(*place)
                {
                    *held = held.max(*share);
                }
            }
        }
        held
    }
}

fn find_stem(word: &str) -> Option<&str> {
    str::from_utf8(stem_word(word.as_bytes())).ok()
}

/// Returns the score of the literals in the chunk, 0…1: the whole query, or its quoted parts.
pub(super) fn score_literals(record: &ChunkRecord, intent: &QueryIntent) -> f32 {
    let held = |literal: &QueryLiteral| {
        if record.text.contains(&literal.text) { literal.weight } else { 0.0 }
    };
    let whole = intent.literals.whole.as_ref().map_or(0.0, held);
    let quoted = &intent.literals.quoted;
    #[expect(clippy::cast_precision_loss, reason = "a query quotes few parts")]
    let number = quoted.len().max(1) as f32;
    whole.max(quoted.iter().map(held).sum::<f32>() / number)
}

/// Score of a chunk in the named file without the named line; the chunk with it has 1.
const OTHER_LINES: f32 = 0.5;

/// Returns 1 if the query names the file of the chunk and, if it has a line, that line. `shares`
/// has the factor of each path of the query.
pub(super) fn score_named_path(record: &ChunkRecord, intent: &QueryIntent, shares: &[f32]) -> f32 {
    let named = intent.paths.iter().zip(shares);
    let matching = named.filter(|(named, _)| named.matches_path(&record.path));
    let scores = matching.map(|(named, share)| match named.line {
        Some(line) if !(record.start_line..=record.end_line).contains(&line) => OTHER_LINES * share,
        _ => *share,
    });
    scores.fold(0.0, f32::max)
}

/// Returns the factor of each path of the query: 1, and in a long text one part for each file among
/// the candidates that the path may mean. A trace names files of its author that many folders have.
pub(super) fn share_named_paths(candidates: &[SearchCandidate], intent: &QueryIntent) -> Vec<f32> {
    let files: HashSet<(RootId, &str)> = match intent.long {
        Some(_) => candidates.iter().map(|it| (it.record.root, it.record.path.as_str())).collect(),
        None => HashSet::new(),
    };
    let share = |named: &QueryPath| {
        let count = files.iter().filter(|(_, path)| named.matches_path(path)).count();
        #[expect(clippy::cast_precision_loss, reason = "there are few candidates")]
        let files = count.max(1) as f32;
        1.0 / files
    };
    intent.paths.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::fixture::{candidate, record},
        *,
    };
    use codeinfo_embed::SimilarWord;

    fn shares_of(query: &str, texts: &[&str]) -> Vec<f32> {
        shares_with(&QueryIntent::parse(query), texts)
    }

    fn shares_with(intent: &QueryIntent, texts: &[&str]) -> Vec<f32> {
        let candidates: Vec<SearchCandidate> = texts
            .iter()
            .zip(0_u128..)
            .map(|(text, id)| candidate(id, record("src/net.rs", Some("Client::open"), text), 0.5))
            .collect();
        score_coverage(&candidates, intent)
    }

    #[test]
    fn words_match_in_any_form_and_order() {
        let shares = shares_of("retrying when the CLIENT closes", &["// Closed: tries a Retry."]);
        assert_eq!(shares, [1.0]);
    }

    #[test]
    fn rare_words_count_more() {
        let half = 0.5;
        let [common, rare, none] = shares_of("cache eviction", &["cache", "eviction", ""])[..]
        else {
            panic!()
        };
        assert!(none <= 0.0 && (common - half).abs() < 1e-6 && (rare - common).abs() < 1e-6);
        let [common, _, rare] = shares_of("cache eviction", &["cache", "cache", "eviction"])[..]
        else {
            panic!()
        };
        assert!(0.0 < common && common < half && half < rare && rare < 2.0 * half);
    }

    #[test]
    fn a_similar_word_counts_by_its_similarity() {
        let near = |word: &str| match word {
            "password" => vec![
                SimilarWord { word: "credentials", share: 0.5 },
                SimilarWord { word: "passwordless", share: 0.9 },
                SimilarWord { word: "key", share: 0.8 },
            ],
            _ => Vec::new(),
        };
        let texts = ["check the password", "check a Credential", "checks a key", "check"];
        let intent = QueryIntent::parse("checking passwords");
        let plain = shares_with(&intent, &texts);
        let shares = shares_with(&intent.with_near(near), &texts);
        let [word, other, short, none] = shares[..] else { panic!() };
        assert!((word - 1.0).abs() < 1e-6 && none < other && other < word, "{shares:?}");
        assert!((short - none).abs() < 1e-6, "short words are in others by chance: {shares:?}");
        assert!((plain[1] - plain[3]).abs() < 1e-6, "{plain:?}");
    }

    #[test]
    fn names_have_no_similar_words() {
        let near = |_: &str| vec![SimilarWord { word: "credentials", share: 0.5 }];
        let intent = QueryIntent::parse("check_password").with_near(near);
        assert!(intent.near.is_empty());
    }

    #[test]
    fn only_the_longest_words_of_pasted_text_count() {
        let words = ('a'..='h').flat_map(|a| ('a'..='h').map(move |b| format!("longword{a}{b}")));
        let long: String = words.collect::<Vec<String>>().join(" ");
        assert_eq!(shares_of(&format!("{long} tiny word"), &[&long, "tiny word"])[..], [1.0, 0.0]);
    }

    #[test]
    fn of_a_long_text_the_words_of_the_title_and_the_longest_others_count() {
        let words = ('a'..='z').map(|letter| format!("longword{letter}k"));
        let long = words.collect::<Vec<String>>().join(" ");
        let report = format!("Zebra lost\n{long} and a tiny word");
        let shares = shares_of(&report, &["zebra", "longwordpk", "longwordqk", "tiny"]);
        assert!(shares[1] < shares[0] && 0.0 < shares[1], "{shares:?}");
        assert_eq!(shares[2..], [0.0, 0.0]);
    }

    #[test]
    fn stop_words_and_short_words_do_not_count() {
        assert_eq!(shares_of("how is it", &["how is it"]), [0.0]);
        assert_eq!(shares_of("io db", &["io db"]), [0.0]);
    }

    #[test]
    fn the_whole_query_scores_higher_than_its_quotes() {
        let chunk = record("a", None, "if (retries != 0) { log(\"gave up after %d\"); }");
        let share = |query: &str| score_literals(&chunk, &QueryIntent::parse(query));
        for (query, wanted) in [("retries != 0", 1.0), ("gave up after", 0.3)] {
            assert!((share(query) - wanted).abs() < 1e-6, "{query}");
        }
        for query in ["gave up", "retries", "retries == 0"] {
            assert!(share(query) <= 0.0, "{query}");
        }
        let whole = share("log(\"gave up after %d\");");
        let in_sentence = share("where is \"gave up after\" logged");
        let in_code = share("log(\"gave up after %d\", now);");
        let half = share("log(\"gave up after %d\", \"of it\");");
        assert!(whole > in_sentence && in_sentence > in_code && in_code > half && half > 0.0);
    }

    #[test]
    fn words_of_a_title_count_more_than_those_of_its_text() {
        let body = "the okapi stops with many errors ".repeat(9);
        let report = format!("Wombat stops\n{body}");
        let [title, text] = shares_of(&report, &["wombat", "okapi"])[..] else { panic!() };
        assert!(0.0 < text && text < title, "{text} {title}");
    }

    #[test]
    fn a_path_of_a_long_text_counts_less_if_many_files_have_it() {
        let found = ["docs/conf.py", "tests/conf.py", "app/conf.py", "app/main.py"];
        let candidates: Vec<SearchCandidate> =
            (0..).zip(found).map(|(id, path)| candidate(id, record(path, None, ""), 0.5)).collect();
        let shares = |query: &str| share_named_paths(&candidates, &QueryIntent::parse(query));
        assert_eq!(shares("what is in conf.py and main.py"), [1.0, 1.0]);
        let words = "it stops with an error ".repeat(9);
        let report = format!("Build stops\n{words}in conf.py and app/main.py");
        let [many, one] = shares(&report)[..] else { panic!() };
        assert!((many - 1.0 / 3.0).abs() < 1e-6 && (one - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_file_matches_by_the_end_of_its_path_and_a_chunk_by_its_line() {
        let chunk =
            ChunkRecord { start_line: 90, end_line: 99, ..record("src/net/upload.py", None, "") };
        for (query, wanted) in [
            ("upload.py", 1.0),
            ("what does net/Upload.py do?", 1.0),
            ("./src/net/upload.py", 1.0),
            ("/repos/demo/src/net/upload.py:96", 1.0),
            ("see upload.py:96:3.", 1.0),
            ("src/net/upload.py#L96", 1.0),
            ("upload.py:9", OTHER_LINES),
            ("load.py", 0.0),
            ("lib/net/upload.py", 0.0),
            ("upload", 0.0),
            ("upload::py", 0.0),
        ] {
            let found = score_named_path(&chunk, &QueryIntent::parse(query), &[1.0]);
            assert!((found - wanted).abs() < 1e-6, "{query}: {found}");
        }
    }
}
