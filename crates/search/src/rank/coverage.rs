//! Scores the share of the query's words that a chunk contains.
//!
//! Comments and messages may have these words in another order, with some more or fewer, or with
//! similar words.

use std::cmp::Reverse;

use aho_corasick::AhoCorasick;
use codeinfo_core::inverse_document_frequency;
use codeinfo_lang::words::stem_word;

use super::super::{candidate::SearchCandidate, intent::QueryIntent};

/// Minimum bytes of a stem; shorter ones occur in other words by chance.
const MIN_STEM_BYTES: usize = 3;
/// Minimum bytes of the stem of a word with a similar meaning.
const MIN_SIMILAR_STEM_BYTES: usize = 4;
/// Maximum words that are searched. A longer query contains pasted text, of which the longest words
/// are searched.
const MAX_WORDS: usize = 64;

/// Returns for each candidate the share of the query's words in its path, symbol or text, 0…1.
/// Words that few candidates contain count more. A word of similar meaning counts by its
/// similarity.
pub(super) fn score_coverage(candidates: &[SearchCandidate], intent: &QueryIntent) -> Vec<f32> {
    let words = QueryStems::from_intent(intent);
    let none = vec![0.0; candidates.len()];
    if words.count == 0 {
        return none;
    }
    let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&words.stems);
    let Ok(finder) = finder else { return none };
    let held: Vec<Vec<f32>> =
        candidates.iter().map(|candidate| words.score_words(candidate, &finder)).collect();
    let is_held = |held: &&Vec<f32>, place| held.get(place).is_some_and(|share| 1.0 <= *share);
    let holders = |place| held.iter().filter(|held| is_held(held, place)).count();
    let idfs: Vec<f32> = (0..words.count)
        .map(|place| inverse_document_frequency(holders(place), held.len()))
        .collect();
    let all: f32 = idfs.iter().sum();
    let share = |held: &Vec<f32>| {
        let known: f32 = held.iter().zip(&idfs).map(|(share, idf)| share * idf).sum();
        known / all
    };
    held.iter().map(share).collect()
}

/// Word stems to search.
struct QueryStems<'a> {
    /// Number of words of the query.
    count: usize,
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
        asked.sort_unstable_by_key(|(stem, word)| (Reverse(stem.len()), *stem, *word));
        asked.dedup_by_key(|(stem, _)| *stem);
        asked.truncate(MAX_WORDS);
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
        Self { count: asked.len(), stems, stand_for }
    }

    /// Returns the weight with which a candidate contains each word, regardless of case and ending.
    fn score_words(&self, candidate: &SearchCandidate, finder: &AhoCorasick) -> Vec<f32> {
        let record = &candidate.record;
        let symbol = record.symbol.as_deref().unwrap_or_default();
        let mut held = vec![0.0_f32; self.count];
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{super::super::fixture::record, *};
    use codeinfo_core::ScoreParts;
    use codeinfo_embed::SimilarWord;

    fn shares_of(query: &str, texts: &[&str]) -> Vec<f32> {
        shares_with(&QueryIntent::parse(query), texts)
    }

    fn shares_with(intent: &QueryIntent, texts: &[&str]) -> Vec<f32> {
        let candidates: Vec<SearchCandidate> = texts
            .iter()
            .zip(0_u128..)
            .map(|(text, id)| SearchCandidate {
                id: Uuid::from_u128(id),
                record: record("src/net.rs", Some("Client::open"), text),
                score: 0.5,
                parts: ScoreParts::default(),
                also: Vec::new(),
                copies: Vec::new(),
            })
            .collect();
        score_coverage(&candidates, intent)
    }

    #[test]
    fn all_words_in_any_form_and_place_are_the_whole_query() {
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
    fn a_word_of_near_meaning_counts_as_far_as_it_is_near() {
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
    fn names_mean_themselves() {
        let near = |_: &str| vec![SimilarWord { word: "credentials", share: 0.5 }];
        let intent = QueryIntent::parse("check_password").with_near(near);
        assert!(intent.near.is_empty());
    }

    #[test]
    fn of_a_pasted_text_the_longest_words_are_looked_for() {
        let words = ('a'..='h').flat_map(|a| ('a'..='h').map(move |b| format!("longword{a}{b}")));
        let long: String = words.collect::<Vec<String>>().join(" ");
        assert_eq!(shares_of(&format!("{long} tiny word"), &[&long, "tiny word"])[..], [1.0, 0.0]);
    }

    #[test]
    fn without_telling_words_nothing_is_held() {
        assert_eq!(shares_of("how is it", &["how is it"]), [0.0]);
        assert_eq!(shares_of("io db", &["io db"]), [0.0]);
    }
}
