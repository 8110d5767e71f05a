//! Parses the intent of a query: its kind, names, paths and words.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use codeinfo_core::{Root, RootId};
use codeinfo_embed::SimilarWord;
use codeinfo_lang::{
    detect,
    words::{STOP_WORDS, fold_name, split_words},
};

use super::{
    exact_name::{self, ExactName},
    long_text::LongText,
    package::PackageQuestion,
    purpose::QuestionPurpose,
};

/// Maximum names, paths and quoted parts of a long text.
const MAX_MENTIONS: usize = 32;

/// Minimum words of a question whose meaning is compared with names; a shorter one has their words.
const MIN_WORDS_OF_MEANING: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryKind {
    /// Names only, such as `RootId::of` or `parse_config`.
    Symbol,
    /// A path or file name, such as `store/embedded.rs`.
    Path,
    /// Words of a natural language, possibly with names among them.
    Prose,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryIntent {
    pub(super) text: String,
    pub(super) kind: QueryKind,
    pub(super) names: Vec<QueryName>,
    pub(super) paths: Vec<QueryPath>,
    /// Words of the query, folded, without stop words.
    pub(super) words: HashSet<String>,
    /// Words of similar meaning for each of `words`, in prose only.
    pub(super) near: HashMap<String, Vec<SimilarWord>>,
    /// Share of each root's name that the query contains, if several roots are searched.
    pub(super) roots: HashMap<RootId, f32>,
    /// Roots whose folder is gone, while other roots exist.
    pub(super) missing_roots: HashSet<RootId>,
    pub(super) literals: QueryLiterals,
    /// Names in the spelling of the query whose locations come first.
    pub(super) exact: Vec<ExactName>,
    /// Purpose of the question, if the query is prose.
    pub(super) purpose: QuestionPurpose,
    pub(super) package: Option<PackageQuestion>,
    pub(super) long: Option<LongText>,
    /// Words of the title of a long text, folded.
    pub(super) title_words: HashSet<String>,
}

/// A name in a query: the last one of a path of names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct QueryName {
    pub(super) spelled: String,
    /// Name without case and underscores.
    pub(super) folded: String,
    /// Name before it in the path, folded: `store` in `Store::open`.
    pub(super) qualifier: Option<String>,
}

/// A file that a query names: `store/embedded.rs`, or `upload.py:96`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct QueryPath {
    pub(super) path: String,
    pub(super) line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryLiteral {
    pub(super) text: String,
    /// Certainty that the string is a literal, 0…1.
    pub(super) weight: f32,
}

/// Strings of a query to match verbatim.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QueryLiterals {
    pub(super) whole: Option<QueryLiteral>,
    pub(super) quoted: Vec<QueryLiteral>,
}

impl QueryIntent {
    pub(super) fn parse(query: &str) -> Self {
        let long = LongText::parse(query);
        let read = long.as_ref().map(LongText::body);
        let tokens: Vec<&str> =
            read.as_deref().unwrap_or(query).split_whitespace().map(trim_token).collect();
        let mut paths: Vec<QueryPath> =
            tokens.iter().filter_map(|token| QueryPath::parse(token)).collect();
        let mut names: Vec<QueryName> = tokens
            .iter()
            .filter(|token| tokens.len() == 1 || exact_name::looks_like_name(token))
            .filter(|token| QueryPath::parse(token).is_none())
            .filter_map(|token| QueryName::parse(token))
            .collect();
        if long.is_some() {
            keep_distinct(&mut paths);
            keep_distinct(&mut names);
        }
        let kind = if long.is_some() {
            QueryKind::Prose
        } else if !paths.is_empty() {
            QueryKind::Path
        } else if tokens.iter().all(|token| exact_name::looks_like_name(token)) || tokens.len() == 1
        {
            QueryKind::Symbol
        } else {
            QueryKind::Prose
        };
        let purpose = if kind == QueryKind::Prose {
            QuestionPurpose::parse(query, |_| false)
        } else {
            QuestionPurpose::default()
        };
        let subject = long.as_ref().map_or(query, |parts| &parts.prose);
        let title = long.as_ref().map_or("", |parts| &parts.title);
        let telling = |text| split_words(text).filter(|word| !STOP_WORDS.contains(&word.as_str()));
        let words = telling(subject).collect();
        let title_words = telling(title).collect();
        let literals = QueryLiterals::parse(subject.trim());
        Self {
            text: query.to_owned(),
            kind,
            names,
            paths,
            words,
            near: HashMap::new(),
            roots: HashMap::new(),
            missing_roots: HashSet::new(),
            literals: QueryLiterals {
                whole: literals.whole.filter(|_| long.is_none()),
                ..literals
            },
            exact: Vec::new(),
            purpose,
            package: PackageQuestion::parse(query),
            long,
            title_words,
        }
    }

    /// Narrows the intent to one repository. The words of its name do not distinguish its files and
    /// are removed, unless the query has no others.
    pub(super) fn narrow_to_repository(mut self, repository: &str) -> Self {
        let named: HashSet<String> = split_words(repository).collect();
        let others: HashSet<String> = self.words.difference(&named).cloned().collect();
        if !others.is_empty() {
            self.words = others;
        }
        if let Some(package) = &mut self.package {
            package.narrow_to_repository(repository);
        }
        if self.kind == QueryKind::Prose {
            let is_name = |word: &str| split_words(word).any(|word| named.contains(&word));
            self.purpose = QuestionPurpose::parse(&self.text, is_name);
        }
        self
    }

    /// Widens the intent to all of `roots`, some of which the query may name.
    pub(super) fn widen_to_roots(mut self, roots: &[Root]) -> Self {
        for root in roots {
            let name: HashSet<String> = split_words(&root.name).collect();
            let known = name.iter().filter(|word| self.words.contains(*word)).count();
            if known > 0 {
                #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
                let share = known as f32 / name.len() as f32;
                self.roots.insert(root.id, share);
            }
        }
        self
    }

    /// Adds words of similar meaning from `near` if the query is prose. A name has no other words.
    pub(super) fn with_near(mut self, near: impl Fn(&str) -> Vec<SimilarWord>) -> Self {
        if self.kind == QueryKind::Prose {
            self.near = self.words.iter().map(|word| (word.clone(), near(word))).collect();
        }
        self
    }

    /// Returns true if the meaning of names counts: in a question of several words.
    pub(super) fn has_name_meaning(&self) -> bool {
        self.kind == QueryKind::Prose
            && self.long.is_none()
            && MIN_WORDS_OF_MEANING <= self.words.len()
    }

    /// Returns true if the query contains this name, regardless of case and underscores.
    pub(super) fn is_name(&self, name: &str) -> bool {
        let folded = fold_name(name.as_bytes());
        self.names.iter().any(|known| known.folded == folded)
    }

    pub(super) fn has_any_word(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(*word))
    }
}

/// Keeps the first of equal names or paths, few enough to compare them with all candidates.
fn keep_distinct<T: Clone + Eq + Hash>(mentions: &mut Vec<T>) {
    let mut seen = HashSet::new();
    mentions.retain(|mention| seen.insert(mention.clone()));
    mentions.truncate(MAX_MENTIONS);
}

impl QueryName {
    fn parse(token: &str) -> Option<Self> {
        let mut path = token
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|name| name.contains(char::is_alphanumeric));
        let name = path.next_back()?;
        let folded = |name: &str| fold_name(name.as_bytes());
        Some(Self {
            spelled: name.to_owned(),
            folded: folded(name),
            qualifier: path.next_back().map(folded),
        })
    }
}

impl QueryPath {
    fn parse(token: &str) -> Option<Self> {
        let digits = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text.get(..end)?.parse().ok()
        };
        let (path, line) = match token.split_once(':').or_else(|| token.split_once("#L")) {
            Some((path, after)) => (path, digits(after)),
            None => (token, None),
        };
        let path = if line.is_some() { path } else { token };
        let is_file = is_path(path) || line.is_some() && is_file_like(path);
        is_file.then(|| Self { path: path.trim_start_matches("./").to_owned(), line })
    }

    /// Returns true if the query may mean a file with this path below its root.
    pub(super) fn matches_path(&self, path: &str) -> bool {
        ends_with(path, &self.path) || self.path.starts_with('/') && ends_with(&self.path, path)
    }
}

/// Returns true if a path ends with the parts of another, regardless of case.
fn ends_with(path: &str, end: &str) -> bool {
    let Some((before, last)) =
        path.len().checked_sub(end.len()).and_then(|at| path.split_at_checked(at))
    else {
        return false;
    };
    last.eq_ignore_ascii_case(end) && (before.is_empty() || before.ends_with('/'))
}

/// Minimum bytes of a string that hardly occurs by chance.
const MIN_LITERAL: usize = 3;
/// Minimum words of a phrase that hardly occurs by chance, and its weight.
const PHRASE: (usize, f32) = (3, 0.3);
/// Weight of quoted parts relative to the whole query. In a sentence they are the subject; in code,
/// many lines may quote the same.
const QUOTED: f32 = 0.7;
const QUOTED_IN_CODE: f32 = 0.4;

impl QueryLiterals {
    fn parse(query: &str) -> Self {
        let mut around = query.to_owned();
        let mut quotes = Vec::new();
        for quote in ['"', '`', '\''] {
            let parts = find_quoted_parts(query, quote);
            for text in parts.filter(|text| MIN_LITERAL <= text.len()).take(MAX_MENTIONS) {
                around = around.replace(text, "");
                quotes.push(text);
            }
        }
        let unquoted: String = around.chars().filter(|c| !matches!(c, '"' | '`')).collect();
        let weight = if reads_like_code(&unquoted) { QUOTED_IN_CODE } else { QUOTED };
        let literal = |text: &str| QueryLiteral { text: text.to_owned(), weight };
        Self {
            whole: parse_whole_literal(query, !quotes.is_empty()),
            quoted: quotes.into_iter().map(literal).collect(),
        }
    }

    /// Returns the maximum weight that a chunk can have by them, 0…1.
    pub(super) fn max_weight(&self) -> f32 {
        let all = self.quoted.iter().chain(&self.whole);
        all.map(|literal| literal.weight).fold(0.0, f32::max)
    }
}

/// Returns the query itself if it reads like code, quotes something or is a phrase.
fn parse_whole_literal(query: &str, has_quotes: bool) -> Option<QueryLiteral> {
    let inner = query.trim_end_matches(['.', '?', '!']);
    // Every chunk that uses a name contains it, so a name alone does not count.
    let is_name = inner.chars().all(|c| c.is_alphanumeric() || c == '_');
    let words = inner.split_whitespace().count();
    let weight = match has_quotes || reads_like_code(inner) {
        true => 1.0,
        false if PHRASE.0 <= words => PHRASE.1,
        false => return None,
    };
    (!is_name && MIN_LITERAL <= query.len())
        .then(|| QueryLiteral { text: query.to_owned(), weight })
}

fn reads_like_code(text: &str) -> bool {
    let is_code =
        |c: char| c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '?' | '!' | '-' | '\'');
    text.contains(is_code)
}

/// Returns the parts between a `quote` before a word and the next one after a word.
fn find_quoted_parts(query: &str, quote: char) -> impl Iterator<Item = &str> {
    let mut rest = query;
    std::iter::from_fn(move || {
        loop {
            let (before, from) = rest.split_once(quote)?;
            rest = from;
            if before.chars().next_back().is_some_and(char::is_alphanumeric) {
                // An apostrophe.
                continue;
            }
            let (inside, after) = from.split_once(quote)?;
            rest = after;
            return Some(inside);
        }
    })
}

fn trim_token(token: &str) -> &str {
    token
        .trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '/' && c != '.')
        .trim_end_matches('.')
}

/// Returns true if a token before a line number looks like the name of a file.
fn is_file_like(token: &str) -> bool {
    let name = token.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && end.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

fn is_path(token: &str) -> bool {
    let has_folder =
        token.matches('/').count() >= 2 || (token.contains('/') && token.contains('.'));
    has_folder || detect::is_file_name(token)
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::root, *};

    #[test]
    fn a_query_is_names_a_path_or_prose() {
        for (query, kind) in [
            ("RootId", QueryKind::Symbol),
            ("backoff", QueryKind::Symbol),
            ("RootId::of parse_config", QueryKind::Symbol),
            ("http.Client", QueryKind::Symbol),
            ("src/store/embedded.rs", QueryKind::Path),
            ("what is in embedded.rs?", QueryKind::Path),
            ("upload.py:96", QueryKind::Path),
            ("http://localhost", QueryKind::Path),
            ("how does RootId::of work", QueryKind::Prose),
            ("open and/or close the store.", QueryKind::Prose),
            ("???", QueryKind::Symbol),
        ] {
            assert_eq!(QueryIntent::parse(query).kind, kind, "{query}");
        }
    }

    #[test]
    fn a_long_text_is_prose_with_the_names_and_paths_of_all_of_it() {
        let lines = "  File \"lib/pool.py\", line 9, in open_pool\n".repeat(500);
        let report = format!(
            "Crash on exit\n\nIt stops as 'the pool is closed'.\n```\n{lines}at Pool.close()\n```"
        );
        let intent = QueryIntent::parse(&report);
        assert_eq!(intent.kind, QueryKind::Prose);
        let words = |of: &[&str]| of.iter().map(|word| (*word).to_owned()).collect::<HashSet<_>>();
        assert_eq!(intent.title_words, words(&["crash", "exit"]));
        assert_eq!(intent.words, words(&["crash", "exit", "stop", "pool", "closed"]));
        let names: Vec<&str> = intent.names.iter().map(|name| name.spelled.as_str()).collect();
        assert_eq!(names, ["open_pool", "close"]);
        assert_eq!(intent.paths, [QueryPath { path: "lib/pool.py".to_owned(), line: None }]);
        assert_eq!(intent.literals.whole, None);
        assert_eq!(intent.literals.quoted.len(), 1);
        let many: Vec<String> = (0..999).map(|n| format!("name_{n} '{n} things'")).collect();
        let intent = QueryIntent::parse(&format!("Crash\n{}", many.join(" ")));
        assert_eq!([intent.names.len(), intent.literals.quoted.len()], [MAX_MENTIONS; 2]);
    }

    #[test]
    fn words_of_the_repository_name_are_removed() {
        let within = |query| QueryIntent::parse(query).narrow_to_repository("plug.board");
        let intent = within("how does plug-board parse headers");
        assert_eq!(intent.words, HashSet::from(["parse", "header"].map(str::to_owned)));
        let alone = QueryIntent::parse("plug").narrow_to_repository("plug");
        assert_eq!(alone.words, HashSet::from(["plug".to_owned()]));
    }

    #[test]
    fn a_query_of_all_repositories_may_name_some() {
        let roots = ["plug", "plug-board", "rack"].map(root);
        let intent = QueryIntent::parse("how does Plug parse headers").widen_to_roots(&roots);
        let share = |root: &Root| intent.roots.get(&root.id).copied();
        assert_eq!(roots.each_ref().map(share), [Some(1.0), Some(0.5), None]);
    }

    #[test]
    fn quotes_and_code_become_literals() {
        let read = |query: &str| {
            let QueryLiterals { whole, quoted } = QueryIntent::parse(query).literals;
            let texts: Vec<String> = quoted.into_iter().map(|literal| literal.text).collect();
            (whole.map(|literal| literal.text), texts)
        };
        for (query, wanted) in [
            ("where is `foo::bar(` called", vec!["foo::bar("]),
            ("don't 'retry'", vec!["retry"]),
            ("foo::bar(", vec![]),
            ("a <=> b", vec![]),
        ] {
            assert_eq!(
                read(query),
                (Some(query.to_owned()), wanted.iter().map(|text| (*text).to_owned()).collect())
            );
        }
        for plain in ["RootId", "read_config", "retry policy", "how?", "", "\"", "it's"] {
            assert_eq!(QueryIntent::parse(plain).literals, QueryLiterals::default(), "{plain}");
        }
    }

    #[test]
    fn quotes_in_code_weigh_less_than_in_sentences() {
        let weights = |query: &str| {
            let QueryLiterals { whole, quoted } = QueryIntent::parse(query).literals;
            (whole.map(|literal| literal.weight), quoted.first().map(|literal| literal.weight))
        };
        assert_eq!(weights("if kind == \"array\""), (Some(1.0), Some(QUOTED_IN_CODE)));
        assert_eq!(weights("where is \"array\" handled"), (Some(1.0), Some(QUOTED)));
        assert_eq!(weights("'env' has to be a table"), (Some(1.0), Some(QUOTED)));
        assert_eq!(weights("has to be a table"), (Some(PHRASE.1), None));
    }

    #[test]
    fn names_alone_have_no_purpose() {
        assert_eq!(QueryIntent::parse("install").purpose, QuestionPurpose::default());
        assert_ne!(QueryIntent::parse("how to install").purpose, QuestionPurpose::default());
    }

    #[test]
    fn names_and_words_are_folded_and_stop_words_left_out() {
        let intent = QueryIntent::parse("How does RootId::of_path() get the HTTP headers?");
        let names: Vec<&str> = intent.names.iter().map(|name| name.folded.as_str()).collect();
        let mut words: Vec<&str> = intent.words.iter().map(String::as_str).collect();
        words.sort_unstable();
        assert_eq!(names, ["ofpath"]);
        assert_eq!(words, ["header", "http", "id", "path", "root"]);
    }
}
