//! Reads from a query what kind of thing it looks for.

use std::collections::HashSet;

use crate::embed::words::{identifiers, parts, singular};

/// Words that questions are made of, in singular. They say nothing about names in code.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "code",
    "could", "did", "do", "doe", "for", "from", "get", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "should", "show", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "used", "uses",
    "using", "via", "was", "we", "what", "when", "where", "which", "while", "who", "why", "with",
    "would", "you",
];

/// What a query is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Names only, such as `RootId::of` or `parse_config`.
    Symbol,
    /// A path or file name, such as `store/embedded.rs`.
    Path,
    /// Words of a language, perhaps with names among them.
    Prose,
}

/// A query, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Intent {
    pub(super) kind: Kind,
    /// Names in the query, folded; the last name of a path of names only.
    pub(super) names: HashSet<String>,
    /// The query's words, folded, without stop words.
    pub(super) words: HashSet<String>,
    /// Words of the query that name the repository searched.
    pub(super) own_name: String,
    /// What is asked for letter by letter.
    pub(super) literals: Vec<Literal>,
}

/// A string to be found as it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    pub(super) text: String,
    /// How sure it is that it is meant literally, 0…1.
    pub(super) weight: f32,
}

impl Intent {
    pub(super) fn of(query: &str) -> Self {
        let tokens: Vec<&str> = query.split_whitespace().map(trimmed).collect();
        let names: HashSet<String> = tokens
            .iter()
            .filter(|token| tokens.len() == 1 || is_name(token))
            .filter_map(|token| identifiers(token).last().map(folded))
            .collect();
        let kind = if tokens.iter().any(|token| is_path(token)) {
            Kind::Path
        } else if tokens.iter().all(|token| is_name(token)) || tokens.len() == 1 {
            Kind::Symbol
        } else {
            Kind::Prose
        };
        let words = words(query).filter(|word| !STOP_WORDS.contains(&word.as_str())).collect();
        Self { kind, names, words, own_name: String::new(), literals: literals(query) }
    }

    /// Narrows to a search of the repository of this name. Words that name it tell no file of it
    /// from another, unless the query has nothing else.
    pub(super) fn within(mut self, repository: Option<&str>) -> Self {
        let named: HashSet<String> = words(repository.unwrap_or_default()).collect();
        let (own, others): (HashSet<String>, HashSet<String>) =
            self.words.iter().cloned().partition(|word| named.contains(word));
        if !others.is_empty() {
            self.own_name = own.into_iter().collect::<Vec<String>>().join(" ");
            self.words = others;
        }
        self
    }

    /// Returns whether the query has one of these words.
    pub(super) fn asks_for(&self, any_of: &[&str]) -> bool {
        any_of.iter().any(|word| self.words.contains(*word))
    }
}

/// The fewest bytes of a string that can be told from chance.
const MIN_LITERAL: usize = 3;
/// The fewest words of prose that hardly stand together by chance, and how much they count.
const PHRASE: (usize, f32) = (3, 0.3);

/// Returns what a query quotes, and the query itself if it reads like code or is a phrase.
fn literals(query: &str) -> Vec<Literal> {
    let query = query.trim();
    let mut literals: Vec<Literal> = ['"', '`', '\'']
        .into_iter()
        .flat_map(|quote| quoted(query, quote))
        .filter(|text| MIN_LITERAL <= text.len())
        .map(|text| Literal { text: text.to_owned(), weight: 1.0 })
        .collect();
    let is_code =
        |c: char| c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '?' | '!' | '-' | '\'');
    let inner = query.trim_end_matches(['.', '?', '!']);
    // A name alone is in every chunk that uses it.
    let is_name = inner.chars().all(|c| c.is_alphanumeric() || c == '_');
    let words = inner.split_whitespace().count();
    let weight = match inner.contains(is_code) {
        true => 1.0,
        false if PHRASE.0 <= words => PHRASE.1,
        false => 0.0,
    };
    if !is_name && MIN_LITERAL <= query.len() && 0.0 < weight {
        literals.push(Literal { text: query.to_owned(), weight });
    }
    literals
}

/// Returns what stands between a `quote` before a word and the next one behind a word.
fn quoted(query: &str, quote: char) -> impl Iterator<Item = &str> {
    let mut rest = query;
    std::iter::from_fn(move || {
        loop {
            let (before, from) = rest.split_once(quote)?;
            rest = from;
            if before.chars().next_back().is_some_and(char::is_alphanumeric) {
                // An apostrophe.
                continue;
            }
            let (inside, behind) = from.split_once(quote)?;
            rest = behind;
            return Some(inside);
        }
    })
}

/// Returns a name without its case and underscores.
pub(super) fn folded(name: &[u8]) -> String {
    name.iter().filter(|b| **b != b'_').map(|b| char::from(b.to_ascii_lowercase())).collect()
}

/// Returns the words of a text in lower case and singular.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    identifiers(text)
        .flat_map(parts)
        .filter(|part| 1 < part.len())
        .map(|part| folded(singular(part)))
}

fn trimmed(token: &str) -> &str {
    token
        .trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '/' && c != '.')
        .trim_end_matches('.')
}

/// Returns whether a token looks like a name in code rather than a word: it has an underscore, a
/// capital behind its first letter, a digit, or joins names.
fn is_name(token: &str) -> bool {
    let joins = token.contains("::") || token.contains("()") || token.contains('_');
    let inner_capital = token.chars().skip(1).any(|c| c.is_ascii_uppercase())
        && token.chars().any(|c| c.is_ascii_lowercase());
    let dotted = token.split('.').filter(|part| 1 < part.len()).count() > 1;
    joins || inner_capital || dotted
}

/// Returns whether a token looks like a path or a file's name.
fn is_path(token: &str) -> bool {
    let has_folder =
        token.matches('/').count() >= 2 || (token.contains('/') && token.contains('.'));
    let Some((stem, extension)) = token.rsplit_once('.') else { return has_folder };
    let known = matches!(
        extension,
        "bash"
            | "c"
            | "cc"
            | "cpp"
            | "cs"
            | "css"
            | "ex"
            | "exs"
            | "go"
            | "h"
            | "hpp"
            | "hs"
            | "html"
            | "java"
            | "js"
            | "json"
            | "jsx"
            | "kt"
            | "lua"
            | "md"
            | "mjs"
            | "php"
            | "py"
            | "rb"
            | "rs"
            | "scala"
            | "sh"
            | "sql"
            | "swift"
            | "toml"
            | "ts"
            | "tsx"
            | "yaml"
            | "yml"
            | "zig"
    );
    has_folder || (known && !stem.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_names_a_path_or_prose() {
        for (query, kind) in [
            ("RootId", Kind::Symbol),
            ("backoff", Kind::Symbol),
            ("RootId::of parse_config", Kind::Symbol),
            ("http.Client", Kind::Symbol),
            ("src/store/embedded.rs", Kind::Path),
            ("what is in embedded.rs?", Kind::Path),
            ("how does RootId::of work", Kind::Prose),
            ("open and/or close the store.", Kind::Prose),
            ("???", Kind::Symbol),
        ] {
            assert_eq!(Intent::of(query).kind, kind, "{query}");
        }
    }

    #[test]
    fn the_name_of_the_repository_says_nothing_about_its_files() {
        let intent = Intent::of("how does plug-board parse headers").within(Some("plug.board"));
        assert_eq!(intent.words, HashSet::from(["parse", "header"].map(str::to_owned)));
        let mut own: Vec<&str> = intent.own_name.split(' ').collect();
        own.sort_unstable();
        assert_eq!(own, ["board", "plug"]);
        let alone = Intent::of("plug").within(Some("plug"));
        assert_eq!((alone.words.len(), alone.own_name.as_str()), (1, ""));
    }

    #[test]
    fn quotes_and_code_are_meant_literally() {
        let texts = |query: &str| -> Vec<String> {
            Intent::of(query).literals.into_iter().map(|literal| literal.text).collect()
        };
        assert_eq!(
            texts("where is `foo::bar(` called"),
            ["foo::bar(", "where is `foo::bar(` called"]
        );
        assert_eq!(texts("don't 'retry'"), ["retry"]);
        assert_eq!(texts("foo::bar("), ["foo::bar("]);
        assert_eq!(texts("a <=> b"), ["a <=> b"]);
        for plain in ["RootId", "read_config", "retry policy", "how?", "", "\"", "it's"] {
            assert_eq!(texts(plain), [""; 0], "{plain}");
        }
    }

    #[test]
    fn names_and_words_are_folded_and_stop_words_left_out() {
        let intent = Intent::of("How does RootId::of_path() get the HTTP headers?");
        let mut names: Vec<&str> = intent.names.iter().map(String::as_str).collect();
        names.sort_unstable();
        let mut words: Vec<&str> = intent.words.iter().map(String::as_str).collect();
        words.sort_unstable();
        assert_eq!(names, ["ofpath"]);
        assert_eq!(words, ["header", "http", "id", "path", "root"]);
    }
}
