//! Judges by the words of a question whether it looks for tests, and whether documents answer it.
//!
//! Both are judged by the form of a question, because its subject reveals little: code also tests
//! things, and has functions that install and configure.
//!
//! The words for tests come from one half of `benches/questions/spots-dev.jsonl`;
//! `benches/README.md` tells how they were judged.

use super::reader;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct QuestionPurpose {
    /// True if the question looks for tests instead of code that deals with testing.
    pub(super) is_for_tests: bool,
    /// Log-odds by its words that documents answer.
    pub(super) for_documents: f32,
}

const TESTS: &[&str] =
    &["test", "tests", "spec", "specs", "fixture", "fixtures", "testcase", "testcases"];
/// Words after the word for tests, near the beginning, that introduce the subject of the tests.
const THEY_CHECK: &[&str] = &[
    "that", "which", "for", "of", "about", "where", "covering", "showing", "proving", "ensuring",
    "checking", "verifying", "covers", "shows", "proves", "ensures", "checks", "verifies", "makes",
    "guards", "used",
];
/// Maximum position of such a word for tests, counted from 0.
const BEGINNING: usize = 3;
/// Words after the word for tests that name parts of tests.
const PARTS: &[&str] = &[
    "case", "cases", "data", "double", "doubles", "file", "files", "helper", "helpers", "suite",
    "suites",
];
/// Words before the word for tests.
const WHICH: &[&str] = &["which", "what", "any"];

/// Maximum words that are read; longer questions contain pasted text.
const MAX_WORDS: usize = 64;

impl QuestionPurpose {
    /// Parses a question without words of the repository's name, for which `is_name` returns true.
    pub(super) fn parse(question: &str, is_name: impl Fn(&str) -> bool) -> Self {
        let lower = question.to_lowercase();
        let words: Vec<&str> = lower
            .split_whitespace()
            // Keeps names in code whole: `us-east-1`, `my_items` and I/O contain no pronouns.
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty() && !is_name(word))
            .take(MAX_WORDS)
            .collect();
        Self {
            is_for_tests: asks_for_tests(&words),
            for_documents: reader::score_documents(question),
        }
    }
}

fn asks_for_tests(words: &[&str]) -> bool {
    let is = |at: Option<usize>, any_of: &[&str]| {
        at.and_then(|at| words.get(at)).is_some_and(|word| any_of.contains(word))
    };
    let means_tests = |at: usize| {
        let before = at.checked_sub(1);
        let after = at + 1;
        after == words.len()
            || at <= BEGINNING && is(Some(after), THEY_CHECK)
            || is(Some(after), PARTS)
            || is(before, WHICH)
            || is(before, &["a"]) && is(at.checked_sub(2), &["there"])
    };
    words.iter().zip(0..).any(|(word, at)| TESTS.contains(word) && means_tests(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_tests_are_recognised() {
        for question in [
            "test that the body limit counts bytes",
            "which test covers a broker that dies",
            "fixture that fails when threads are left running",
            "regression test for two identical rows",
            "expired sessions: is there a test?",
            "is there a test with two proxies",
            "what test runs when the server shuts down",
            "helper functions of the test suite",
            "concurrent registration test",
        ] {
            assert!(QuestionPurpose::parse(question, |_| false).is_for_tests, "{question}");
        }
        for question in [
            "test whether a path matches the ignore rules",
            "how does the test client simulate requests",
            "where is a connection tested before it is handed out",
            "contest that of latest",
            "how does the cache of parsed files decide that a spec which changed is read again",
            "parse the header",
        ] {
            assert!(!QuestionPurpose::parse(question, |_| false).is_for_tests, "{question}");
        }
    }
}
