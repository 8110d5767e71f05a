//! Detects the names of repositories in questions.

/// Minimum characters of a name; shorter ones occur by chance.
const MIN_NAME: usize = 3;
/// Repository names that are also common words of questions; they count only in quotes.
const WORDS: [&str; 36] = [
    "api",
    "app",
    "application",
    "backend",
    "client",
    "code",
    "common",
    "config",
    "core",
    "data",
    "database",
    "docs",
    "engine",
    "example",
    "examples",
    "express",
    "framework",
    "frontend",
    "library",
    "main",
    "model",
    "parser",
    "project",
    "repo",
    "repository",
    "request",
    "requests",
    "server",
    "service",
    "source",
    "store",
    "test",
    "tests",
    "tool",
    "tools",
    "web",
];

/// Returns true if a lower-case question contains `name` as a separate word.
pub(super) fn has_name(question: &str, name: &str) -> bool {
    let lower = name.to_lowercase();
    if lower.chars().count() < MIN_NAME {
        return false;
    }
    let is_common = WORDS.contains(&lower.as_str());
    question.match_indices(&lower).any(|(at, found)| {
        let before = question.get(..at).and_then(|text| text.chars().next_back());
        let after = question.get(at + found.len()..).and_then(|text| text.chars().next());
        let quotes = |c: Option<char>| matches!(c, Some('`' | '"' | '\''));
        let is_free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"-_".contains(c));
        if is_common { quotes(before) && quotes(after) } else { is_free(before) && is_free(after) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_word_and_a_common_one_in_quotes_only() {
        for (question, name) in [
            ("how does flask handle sessions?", "Flask"),
            ("what is new in spring-boot, and why?", "spring-boot"),
            ("where does `requests` follow redirects?", "requests"),
            ("what of tokio's timers?", "tokio"),
        ] {
            assert!(has_name(question, name), "{question}");
        }
        for (question, name) in [
            ("how are requests sent?", "requests"),
            ("where is the flaskette?", "flask"),
            ("what is spring-boot-starter?", "spring-boot"),
            ("how does it go?", "go"),
        ] {
            assert!(!has_name(question, name), "{question}");
        }
    }
}
