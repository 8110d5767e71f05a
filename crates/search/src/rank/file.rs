//! Scores a file by its name, the name of its folder, and the number of its high-scoring chunks.

use codeinfo_lang::words::split_words;

use super::super::{candidate::SearchCandidate, intent::QueryIntent};

/// Returns the share of the file's name that the query contains, 0…1.
pub(super) fn score_file_name(path: &str, intent: &QueryIntent) -> f32 {
    if 0.0 < score_exact_name(path, intent) {
        1.0
    } else {
        score_name_words(file_stem(path), intent)
    }
}

pub(super) fn score_exact_name(path: &str, intent: &QueryIntent) -> f32 {
    if intent.is_name(file_stem(path)) { 1.0 } else { 0.0 }
}

/// Returns the name of a file up to its first dot.
fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split('.').find(|part| !part.is_empty()).unwrap_or_default()
}

pub(super) fn score_folder_name(path: &str, intent: &QueryIntent) -> f32 {
    score_name_words(path.rsplit('/').nth(1).unwrap_or_default(), intent)
}

/// Returns the share of the words of `name` that the query contains, 0…1.
fn score_name_words(name: &str, intent: &QueryIntent) -> f32 {
    let mut words: Vec<String> = split_words(name).collect();
    words.sort_unstable();
    words.dedup();
    if words.is_empty() {
        return 0.0;
    }
    let known =
        words.iter().filter(|word| intent.words.iter().any(|asked| are_word_forms(asked, word)));
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    let share = known.count() as f32 / words.len() as f32;
    share
}

/// Returns true if two words are forms of one, such as `route` and `routing`: they have four or
/// more letters in common at the start, and these are at least three quarters of the shorter word.
fn are_word_forms(a: &str, b: &str) -> bool {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let shorter = a.len().min(b.len());
    a == b || (4 <= common && shorter * 3 <= common * 4)
}

/// Number of chunks after the best one of a file whose scores count.
const COUNTED_SCORES: usize = 3;
/// Number of chunks from which on more of them add nothing.
const MAX_COUNTED: f32 = 20.0;
/// Weight of the number of chunks against their scores, 0…1.
const NUMBER_WEIGHT: f32 = 0.45;

/// Returns the agreement of each file's chunks, 0…1, from the scores of the best ones after the
/// first and their number. `files` contains the number of each candidate's file.
pub(super) fn score_agreements(candidates: &[SearchCandidate], files: &[usize]) -> Vec<f32> {
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
    use super::{
        super::super::fixture::{candidate, record},
        *,
    };

    #[test]
    fn a_file_named_by_the_query_has_the_score_one() {
        let intent = QueryIntent::parse("where is HeaderMap");
        for (path, whole, exact) in
            [("src/header_map.rs", 1.0, 1.0), ("src/map.rs", 1.0, 0.0), ("a/.b", 0.0, 0.0)]
        {
            assert!((score_file_name(path, &intent) - whole).abs() < 1e-6, "{path}");
            assert!((score_exact_name(path, &intent) - exact).abs() < 1e-6, "{path}");
        }
    }

    #[test]
    fn forms_of_one_word_are_the_same() {
        for (a, b) in [("route", "routing"), ("valid", "validate"), ("parser", "parse")] {
            assert!(are_word_forms(a, b), "{a} {b}");
        }
        for (a, b) in [("interface", "interceptor"), ("map", "mapper"), ("test", "text")] {
            assert!(!are_word_forms(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_share_counts_the_words_of_the_name() {
        let intent = QueryIntent::parse("how are HTTP headers parsed");
        for (name, wanted) in [("HeaderParser", 1.0), ("header_map", 0.5), ("x", 0.0), ("", 0.0)] {
            assert!((score_name_words(name, &intent) - wanted).abs() < 1e-6, "{name}");
        }
    }

    #[test]
    fn more_and_better_chunks_raise_agreement() {
        let chunks = [("one", 1.0), ("two", 1.0), ("two", 0.9), ("weak", 1.0), ("weak", 0.1)];
        let candidates: Vec<SearchCandidate> = chunks
            .iter()
            .zip(0_u128..)
            .map(|((path, score), id)| candidate(id, record(path, None, ""), *score))
            .collect();
        let [one, two, weak] = score_agreements(&candidates, &[0, 1, 1, 2, 2])[..] else {
            panic!()
        };
        assert!(one < weak && weak < two);
        assert!((score_agreement(&[1.0; 100]) - 1.0).abs() < 1e-6);
    }
}
