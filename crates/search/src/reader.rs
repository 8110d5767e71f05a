//! Judges by the words of a question whether documents or code answer it.
//!
//! A logistic regression over words, first word and length, which `training/reader.py` learned from
//! questions with known answers. It orders 0.89 of the pairs of a question for documents and one for
//! code rightly, in repositories that it has not seen.

use std::{collections::HashMap, sync::LazyLock};

use super::exact_name::looks_like_name;

/// Maximum words that are read.
const MAX_WORDS: usize = 64;
/// Maximum letters of a word that has a weight.
const MAX_LETTERS: usize = 15;

/// Maximum log-odds for what happens in a case or what decides it. Code answers all such questions
/// with known answers, also those of users, whose "I" and "my" are frequent in questions for documents.
const MAX_FOR_BEHAVIOUR: f32 = -2.5;

/// Weight of each feature, and under the empty name that of none.
static WEIGHTS: LazyLock<HashMap<&str, f32>> = LazyLock::new(|| {
    let lines = include_str!("reader.tsv").lines();
    lines.filter_map(parse_weight).collect()
});

fn parse_weight(line: &str) -> Option<(&str, f32)> {
    let (name, weight) = line.split_once('\t')?;
    Some((name, weight.parse().ok()?))
}

/// Returns the log-odds that documents answer the question in the first line of `text`.
pub(super) fn score_documents(text: &str) -> f32 {
    let line = text.trim().lines().next().unwrap_or_default();
    let lower = line.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .collect();
    let mut features: Vec<String> =
        words.iter().filter(|word| is_plain(word)).map(|word| format!("w={word}")).collect();
    features.sort_unstable();
    features.dedup();
    features.extend(words.first().map(|word| format!("f={word}")));
    features.push(format!("n={}", group_length(words.len())));
    let shapes = [
        ("asks", line.ends_with('?')),
        ("name", line.split_whitespace().any(looks_like_name)),
        ("capital", line.starts_with(char::is_uppercase)),
    ];
    features.extend(shapes.iter().filter(|(_, has)| *has).map(|(name, _)| (*name).to_owned()));
    let weight = |name: &str| WEIGHTS.get(name).copied().unwrap_or_default();
    let sum = weight("") + features.iter().map(|name| weight(name)).sum::<f32>();
    let is_about_behaviour = matches!(words.as_slice(), ["what", "happens" | "decides", ..]);
    if is_about_behaviour { sum.min(MAX_FOR_BEHAVIOUR) } else { sum }
}

fn is_plain(word: &str) -> bool {
    word.len() <= MAX_LETTERS
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '\'' | '-'))
}

/// Returns the number of words up to 8, and above that the number of the group of five.
fn group_length(words: usize) -> usize {
    words.checked_sub(8).map_or(words, |more| (8 + more / 5).min(12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_do_is_answered_by_documents_and_how_code_works_by_code() {
        let documents = [
            "how do I run it behind a proxy?",
            "limit the size of uploads",
            "Migrating from version 2",
            "which environment variables should I set in production",
            "can I use my own certificate?",
            "run the server as a systemd service",
        ];
        let code = [
            "what happens when the connection closes before the answer came",
            "what happens when I change my environment variable after the start?",
            "fix crash when the header is empty",
            "how does the scheduler decide which task runs next",
            "where is the header of a request parsed",
            "error handling middleware implementation",
            "fix: don't leak the file handle of a parser that failed",
        ];
        for question in documents {
            assert!(0.0 < score_documents(question), "{question}: {}", score_documents(question));
        }
        for question in code {
            assert!(score_documents(question) < 0.0, "{question}: {}", score_documents(question));
        }
    }

    #[test]
    fn only_the_first_line_counts_and_any_text_is_read() {
        let title = "how do I run it behind a proxy?";
        let long = format!("{title}\nfix crash when the header is empty");
        assert!((score_documents(title) - score_documents(&long)).abs() < 1e-6);
        for text in ["", "?", "’'-", "\u{1f980}\u{1f980}", &"x ".repeat(9_000)] {
            assert!(score_documents(text).is_finite(), "{text}");
        }
        assert!(WEIGHTS.len() > 1_000);
    }
}
