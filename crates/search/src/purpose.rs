//! Determines from the words of a question whether it looks for tests, and whether it is about
//! using a program instead of about its code.
//!
//! Both are judged by the form of a question, because its subject reveals little: code also tests
//! things, and has functions that install and configure.
//!
//! The words were chosen on one half of `benches/questions/spots-dev.jsonl` and judged on the
//! repositories of `spots-look.jsonl`, which were not unseen then, as `benches/README.md` notes
//! beside the figures.

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct QuestionPurpose {
    /// True if the question looks for tests instead of code that deals with testing.
    pub(super) is_for_tests: bool,
    /// Likelihood that documents answer, 0…1.
    pub(super) is_about_using: f32,
}

const TESTS: &[&str] =
    &["test", "tests", "spec", "specs", "fixture", "fixtures", "testcase", "testcases"];
/// Words after the word for tests near the beginning of the question; what they introduce is what
/// the tests check.
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

/// Pronouns of users.
const PERSONS: &[&str] = &["i", "i'm", "i've", "my", "our", "we", "us", "me"];
/// Beginnings of questions by users.
const BEGINNINGS: &[&str] = &[
    "how to", "how do i", "how do we", "how can i", "how can we", "how should i", "how do you",
    "how can you", "can i", "can we", "may i", "am i", "should i", "should we", "do i",
    "is it possible", "is there", "are there", "does it", "where do i", "where can i",
    "where should i", "where do we", "where can we", "what do i", "what should i", "what is",
    "what are", "what's",
];
/// Words about installing, platforms and the project itself.
const OF_USERS: &[&str] = &[
    "install", "installing", "installation", "installed", "uninstall", "upgrade", "upgrading",
    "updating", "changelog", "release notes", "supported", "prerequisites", "docker", "dockerfile",
    "kubernetes", "homebrew", "brew", "apt", "pip", "npm", "snap", "winget", "powershell",
    "laptop", "license", "licence", "licensed", "contribute", "contributing", "contribution",
    "contributions", "contributor", "contributors", "maintainer", "maintainers", "vulnerability",
    "vulnerabilities", "bounty", "faq", "tutorial", "quickstart", "getting started", "recommended",
    "best practice", "best practices", "deploy", "deploying", "deployment", "environment variable",
    "environment variables", "env var", "env vars", "api key", "api keys", "troubleshoot",
    "troubleshooting", "commercial", "macos", "linux", "ubuntu", "debian", "pull request",
    "pull requests", "from source", "difference between",
];
/// Words that users and code have in common.
const OF_BOTH: &[&str] = &[
    "version", "versions", "release", "releases", "support", "supports", "compatible",
    "compatibility", "requirement", "requirements", "require", "requires", "windows", "mac",
    "shell", "terminal", "security", "guide", "production", "configuration", "configure",
    "configuring", "configured", "config", "setting", "settings", "flag", "flags", "option",
    "options", "command line", "cli", "plugin", "plugins", "ci", "company", "compile", "build",
    "static", "statically", "executable", "project", "website", "download", "server", "machine",
    "locally", "script", "setup", "set up", "user", "users", "people", "someone",
];
/// Words of questions about code.
const OF_CODE: &[&str] = &[
    "why does", "why do", "why is", "why are", "why did", "where is", "where are", "where does",
    "how does", "how is", "how are", "what happens", "when is", "when are", "which file",
    "which code", "which part", "which module", "implement", "implements", "implemented",
    "implementation", "implementations", "function", "functions", "method", "methods", "class",
    "classes", "struct", "trait", "interface", "internally", "decide", "decides", "decided",
    "parse", "parsed", "parses", "parsing", "parser", "handle", "handled", "handles", "handling",
    "compute", "computed", "store", "stored", "called", "logic", "algorithm",
];

/// Maximum words that are read; longer questions contain pasted text.
const MAX_WORDS: usize = 64;

impl QuestionPurpose {
    /// Parses a question. Words for which `is_name` returns true are part of the repository's name
    /// and do not count.
    pub(super) fn parse(question: &str, is_name: impl Fn(&str) -> bool) -> Self {
        let lower = question.to_lowercase();
        let words: Vec<&str> = lower
            .split_whitespace()
            // Keeps names in code whole: `us-east-1`, `my_items` and I/O contain no pronouns.
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty() && !is_name(word))
            .take(MAX_WORDS)
            .collect();
        let speaks = !lower.contains(['=', ';', '{', '}', '[', ']', '<', '>', '$']);
        Self {
            is_for_tests: asks_for_tests(&words),
            is_about_using: is_about_using(&words, speaks),
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

/// Adds up points for and against: one point gives a likelihood of a third, two give certainty.
/// `speaks` is false for code, in which `i` and `my` are not pronouns.
fn is_about_using(words: &[&str], speaks: bool) -> f32 {
    let text = format!(" {} ", words.join(" "));
    let points_of = |phrases: &[&str], points: i16| {
        let found = phrases.iter().filter(|phrase| text.contains(&format!(" {phrase} ")));
        found.map(|_| points).sum::<i16>()
    };
    let has_person = speaks && words.iter().any(|word| PERSONS.contains(word));
    let begins = BEGINNINGS.iter().any(|start| text.starts_with(&format!(" {start} ")));
    let points = 2 * i16::from(has_person)
        + i16::from(begins)
        + points_of(OF_USERS, 2)
        + points_of(OF_BOTH, 1)
        + points_of(OF_CODE, -2);
    ((2.0 * f32::from(points) - 1.0) / 3.0).clamp(0.0, 1.0)
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

    #[test]
    fn the_name_of_the_repository_does_not_count_as_use() {
        let of = |is_name: fn(&str) -> bool| {
            QuestionPurpose::parse("pip wheel cache", is_name).is_about_using
        };
        assert!(of(|_| false) > 0.9 && of(|word| word == "pip") < 0.1);
    }

    #[test]
    fn questions_about_using_are_recognised() {
        for (question, likely) in [
            ("how to install", 1.0),
            ("Which API keys are needed?", 1.0),
            ("can I run it behind a proxy", 1.0),
            ("supported versions of Python", 1.0),
            ("what is a workspace", 1.0 / 3.0),
            ("options of the linter", 1.0 / 3.0),
            ("how does the installer pick an archive", 0.0),
            ("where is the license checked", 0.0),
            ("why does my upload fail", 0.0),
            ("async I/O of files", 0.0),
            ("for (int i = 0; i < n; i++) sum += my_items[i];", 0.0),
            ("fallback to en_US of us-east-1 in deploy_hook", 0.0),
            ("retry policy", 0.0),
            ("", 0.0),
        ] {
            let found = QuestionPurpose::parse(question, |_| false).is_about_using;
            assert!((found - likely).abs() < 1e-6, "{question}: {found}");
        }
    }
}
