//! How much of the query a chunk holds, word by word: what a comment or message says in other order,
//! with some words more or less.

use std::cmp::Reverse;

use super::super::{candidate::Candidate, intent::Intent};
use crate::domain::inverse_document_frequency;
use codeinfo_lang::words::stem;
use memchr::memmem::Finder;

/// Shorter words are in other words by chance.
const SHORTEST: usize = 3;
/// How much less a share of the words is worth than all of them.
const CHANCE: f32 = 1.5;
/// How many words are looked for: what is longer was pasted, and its longest words stand for it.
const MOST: usize = 64;

/// Returns for each candidate how much of the query's words it holds in path, symbol or text,
/// 0…1. A word that few candidates hold counts more, and the share is raised to [`CHANCE`]: half of the words
/// is chance, nearly all of them is what was meant.
pub(super) fn shares(candidates: &[Candidate], intent: &Intent) -> Vec<f32> {
    let mut stems: Vec<&str> = intent
        .words
        .iter()
        .filter_map(|word| str::from_utf8(stem(word.as_bytes())).ok())
        .filter(|stem| stem.len() >= SHORTEST)
        .collect();
    // In a fixed order, so that sums are always the same.
    stems.sort_unstable_by_key(|stem| (Reverse(stem.len()), *stem));
    stems.dedup();
    stems.truncate(MOST);
    if stems.is_empty() {
        return vec![0.0; candidates.len()];
    }
    let finders: Vec<Finder<'_>> = stems.iter().map(|stem| Finder::new(stem.as_bytes())).collect();
    let held: Vec<Vec<bool>> =
        candidates.iter().map(|candidate| held(candidate, &finders)).collect();
    let holders = |place| held.iter().filter(|held| held.get(place) == Some(&true)).count();
    let idfs: Vec<f32> = (0..stems.len())
        .map(|place| inverse_document_frequency(holders(place), held.len()))
        .collect();
    let all: f32 = idfs.iter().sum();
    let share = |held: &Vec<bool>| {
        let known = held.iter().zip(&idfs).filter(|(is_held, _)| **is_held);
        let known: f32 = known.map(|(_, idf)| idf).sum();
        (known / all).powf(CHANCE)
    };
    held.iter().map(share).collect()
}

/// Returns which words a candidate holds, whatever their case and ending.
fn held(candidate: &Candidate, stems: &[Finder<'_>]) -> Vec<bool> {
    let record = &candidate.record;
    let symbol = record.symbol.as_deref().unwrap_or_default();
    let mut text = [record.path.as_str(), symbol, &record.text].join("\n");
    text.make_ascii_lowercase();
    stems.iter().map(|stem| stem.find(text.as_bytes()).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{super::super::fixture::record, *};
    use crate::domain::Parts;

    fn shares_of(query: &str, texts: &[&str]) -> Vec<f32> {
        let candidates: Vec<Candidate> = texts
            .iter()
            .zip(0_u128..)
            .map(|(text, id)| Candidate {
                id: Uuid::from_u128(id),
                record: record("src/net.rs", Some("Client::open"), text),
                score: 0.5,
                parts: Parts::default(),
            })
            .collect();
        shares(&candidates, &Intent::of(query))
    }

    #[test]
    fn all_words_in_any_form_and_place_are_the_whole_query() {
        let shares = shares_of("retrying when the CLIENT closes", &["// Closed: tries a Retry."]);
        assert_eq!(shares, [1.0]);
    }

    #[test]
    fn rare_words_count_more_and_half_of_the_words_little() {
        let half = 0.353_553_4;
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
