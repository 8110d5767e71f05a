//! Matches patterns for several names: `prefix*`, `*suffix` and regular expressions, in linear
//! time.
//!
//! Patterns and files are untrusted: compiled patterns are limited, and long lines are searched in
//! pieces. Finding all matches of a piece may be quadratic, so the time is checked between pieces.

use std::ops::Range;

use regex_automata::{
    Input,
    meta::{Config, Regex},
    util::syntax,
};

use super::{EvidenceError, scan::ScanBudget};

const MAX_BYTES: usize = 500;
/// Maximum bytes of a compiled pattern: about 8,000 states, each of which may take time per byte.
const MAX_COMPILED_BYTES: usize = 512 << 10;
/// Maximum bytes of cached states while an automaton runs.
const MAX_CACHE_BYTES: usize = 2 << 20;
/// Message for a pattern whose automaton is larger.
const TOO_LARGE: &str =
    "is too large: write `+` or `*` for counted repetitions, or `[a-z]` for `\\w`";
/// Maximum bytes of a line that is searched as one piece. Pieces end between words.
const MAX_PIECE_BYTES: usize = 16 << 10;
/// Maximum bytes by which a piece is shortened to end between words.
const MAX_WORD_BYTES: usize = 256;
/// Searched bytes after which the time is checked.
const BYTES_PER_CHECK: usize = 64 << 10;

/// A pattern that is matched within lines.
#[derive(Debug, Clone)]
pub struct NamePattern {
    text: String,
    regex: Regex,
    /// True if a match may contain characters that are not part of a word.
    spans_words: bool,
}

impl NamePattern {
    /// Parses a name such as `on_*`, `*Handler` or `on_*_end`, in which `*` means any characters of
    /// a word; `None` for other text, such as `a * b` or `**kwargs`.
    pub fn from_name(name: &str) -> Option<Result<Self, EvidenceError>> {
        let trimmed = name.trim();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_name = trimmed.chars().all(|c| is_part(c) || matches!(c, ':' | '.' | '$' | '*'));
        if !is_name
            || !trimmed.contains(is_part)
            || !trimmed.contains('*')
            || trimmed.contains("**")
        {
            return None;
        }
        let start = if trimmed.starts_with('*') { "" } else { r"\b{start-half}" };
        let end = if trimmed.ends_with('*') { "" } else { r"\b{end-half}" };
        let inner = regex_syntax::escape(trimmed).replace(r"\*", r"\w*");
        let spans_words = !trimmed.chars().all(|c| is_part(c) || c == '*');
        let pattern = Self::compile_lines(trimmed, &format!("{start}{inner}{end}"));
        Some(pattern.map(|pattern| Self { spans_words, ..pattern }))
    }

    /// Parses a regular expression in the syntax of the `regex` crate.
    ///
    /// Fails if it is invalid, matches the empty text or a line end, or is too large.
    pub fn parse_regex(pattern: &str) -> Result<Self, EvidenceError> {
        let refused = |fault: String| Err(EvidenceError::Pattern(fault));
        if pattern.contains('\n') || pattern.replace(r"\\", "").contains(r"\n") {
            return refused("is matched line by line: leave the line end out".to_owned());
        }
        Self::compile_lines(pattern, pattern)
    }

    fn compile_lines(text: &str, pattern: &str) -> Result<Self, EvidenceError> {
        let refused = |fault: String| Err(EvidenceError::Pattern(fault));
        if text.len() > MAX_BYTES {
            return refused(format!("is longer than {MAX_BYTES} bytes"));
        }
        let lines = syntax::Config::new().multi_line(true).crlf(true);
        let parsed = match syntax::parse_with(pattern, &lines) {
            Ok(parsed) => parsed,
            Err(regex_syntax::Error::Parse(fault)) => {
                return refused(format!("is no regular expression: {}", fault.kind()));
            }
            Err(regex_syntax::Error::Translate(fault)) => {
                return refused(format!("is no regular expression: {}", fault.kind()));
            }
            Err(_) => return refused("is no regular expression".to_owned()),
        };
        if parsed.properties().minimum_len() == Some(0) {
            return refused("matches the empty text: ask for one character or more".to_owned());
        }
        let limits = Config::new()
            .nfa_size_limit(Some(MAX_COMPILED_BYTES))
            .onepass(false)
            .hybrid_cache_capacity(MAX_CACHE_BYTES);
        match Regex::builder().configure(limits).build_from_hir(&parsed) {
            Ok(regex) => Ok(Self { text: text.to_owned(), regex, spans_words: true }),
            Err(_) => refused(TOO_LARGE.to_owned()),
        }
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the matches in a text, ascending and disjoint. No match crosses a line end.
    pub(super) fn find_places<'a>(
        &'a self,
        text: &'a str,
        budget: ScanBudget,
    ) -> PatternPlaces<'a> {
        PatternPlaces {
            pattern: self,
            text,
            piece: 0..0,
            unchecked: 0,
            budget,
            is_stopped: false,
            is_cut: false,
        }
    }
}

pub(super) struct PatternPlaces<'a> {
    pattern: &'a NamePattern,
    text: &'a str,
    /// Unsearched rest of the current line or piece.
    piece: Range<usize>,
    /// Bytes searched since the time was checked.
    unchecked: usize,
    budget: ScanBudget,
    /// True if the time ran out before the end of the text.
    pub(super) is_stopped: bool,
    /// True if a line was searched in pieces, so that matches across two pieces may be missing.
    pub(super) is_cut: bool,
}

impl PatternPlaces<'_> {
    /// Advances to the next line or piece. Returns `false` after the last.
    fn advance_piece(&mut self) -> bool {
        let rest = self.text.get(self.piece.end..).unwrap_or_default();
        let start = self.text.len() - rest.trim_start_matches(['\n', '\r']).len();
        let rest = self.text.get(start..).unwrap_or_default();
        let longest = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES)).0;
        let length = match memchr::memchr(b'\n', longest.as_bytes()) {
            Some(end) => end,
            None if longest.len() == rest.len() => rest.len(),
            None => {
                let end = find_word_end(longest);
                self.is_cut |= self.pattern.spans_words || end == longest.len();
                end
            }
        };
        self.piece = start..start + length;
        length > 0
    }
}

impl Iterator for PatternPlaces<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while !self.is_stopped {
            self.unchecked += self.piece.len();
            if self.unchecked >= BYTES_PER_CHECK {
                self.unchecked = 0;
                self.is_stopped = self.budget.is_spent();
            } else if let Some(found) =
                self.pattern.regex.search(&Input::new(self.text).range(self.piece.clone()))
            {
                self.piece.start = found.end();
                return Some(found.range());
            } else if !self.advance_piece() {
                return None;
            }
        }
        None
    }
}

/// Returns the length of a text up to its last white space or punctuation near its end.
fn find_word_end(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let near = text.ceil_char_boundary(text.len().saturating_sub(MAX_WORD_BYTES));
    let end = text.get(near..).and_then(|end| end.rfind(|c| !is_part(c)));
    end.filter(|_| near > 0).map_or(text.len(), |end| near + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_matches<'a>(pattern: &NamePattern, text: &'a str) -> Vec<&'a str> {
        let places = pattern.find_places(text, ScanBudget::default());
        places.map(|place| text.get(place).unwrap()).collect()
    }

    fn named<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
        list_matches(&NamePattern::from_name(name).unwrap().unwrap(), text)
    }

    fn matched<'a>(pattern: &str, text: &'a str) -> Vec<&'a str> {
        list_matches(&NamePattern::parse_regex(pattern).unwrap(), text)
    }

    #[test]
    fn an_asterisk_matches_the_rest_of_a_word() {
        let text = "on_open on_ con_open On_open, reopen_on on_größe.on_2\n";
        assert_eq!(named("on_*", text), ["on_open", "on_", "on_größe", "on_2"]);
        assert_eq!(named("*_on", text), ["reopen_on"]);
        assert_eq!(named("*open*", text), ["on_open", "con_open", "On_open", "reopen_on"]);
        assert_eq!(
            named("Store::*", "Store::open MyStore::open Store::"),
            ["Store::open", "Store::"]
        );
        assert_eq!(
            named("on_*_end", "on_a_end on_end on_b_c_end on_a_ends"),
            ["on_a_end", "on_b_c_end"]
        );
        for name in ["on_", "a * b", "**kwargs", "*", "->*", "src/*"] {
            assert!(NamePattern::from_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn expressions_match_within_lines() {
        let text = "fn a() {}\r\n  fn b()\n\nfn c()";
        assert_eq!(matched(r"^fn \w", text), ["fn a", "fn c"]);
        assert_eq!(matched(r"\(\)$", text), ["()", "()"]);
        assert_eq!(matched(r"\)\s+\S+", text), [") {}"]);
        assert_eq!(matched(r"\\newcommand", r"\newcommand{\x}"), [r"\newcommand"]);
        assert_eq!(matched(r"(?i)FN [ab]", text), ["fn a", "fn b"]);
    }

    #[test]
    fn invalid_and_unbounded_patterns_are_refused() {
        for (pattern, fault) in [
            ("a*", "matches the empty text"),
            (r"\b", "matches the empty text"),
            ("(foo", "is no regular expression: unclosed group"),
            (r"\p{Nonsense}", "is no regular expression"),
            (r"a\nb", "is matched line by line"),
            (r"(\w{100}){100}x", "is too large"),
            ("((((a{9}){9}){9}){9}){9}", "is too large"),
            (&"a".repeat(501), "is longer than 500 bytes"),
        ] {
            let refused = NamePattern::parse_regex(pattern).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("`pattern` {fault}")), "{pattern}: {refused}");
        }
    }

    #[test]
    fn a_name_of_many_asterisks_is_refused() {
        for count in [100, 251] {
            let refused = NamePattern::from_name(&"a*".repeat(count)).unwrap().unwrap_err();
            assert!(refused.to_string().starts_with("`pattern` is "), "{count}: {refused}");
        }
    }

    #[test]
    fn a_line_of_five_megabytes_is_searched_in_pieces() {
        let text = "alpha beta_1, ".repeat(5_000_000 / 14);
        let name = |name: &str| NamePattern::from_name(name).unwrap().unwrap();
        // Pieces end between words.
        for (pattern, may_miss) in [
            (name("beta_*"), false),
            (name("beta_*.of"), true),
            (NamePattern::parse_regex("beta_.").unwrap(), true),
        ] {
            let mut places = pattern.find_places(&text, ScanBudget::default());
            let expected = if pattern.as_str().ends_with("of") { 0 } else { 5_000_000 / 14 };
            assert_eq!(places.by_ref().count(), expected);
            assert!(places.is_cut == may_miss && !places.is_stopped, "{}", pattern.as_str());
        }
        let one_word = "b".repeat(100_000);
        let pattern = name("b*");
        let mut places = pattern.find_places(&one_word, ScanBudget::default());
        assert!(places.by_ref().count() == 1 && places.is_cut);
    }

    #[test]
    fn hostile_patterns_end_in_time() {
        let one = "a".repeat(2_000_000);
        let line = "ab ".repeat(1_000_000);
        for pattern in
            [r"(a?){40}a{40}b", r"(a|aa)+$", r".*[^a-z]|[a-z]", r"(\w+)+\d", r"[a-q][^u-z]{13}x"]
        {
            let pattern = NamePattern::parse_regex(pattern).unwrap();
            for text in [&one, &line] {
                // Without pieces and a time limit, some of these take hours.
                pattern.find_places(text, ScanBudget::default()).for_each(drop);
            }
        }
    }
}
