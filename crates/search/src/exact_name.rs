//! Recognises names by their spelling and finds the texts that contain them.

use std::borrow::Cow;

use codeinfo_core::ChunkRecord;
use codeinfo_lang::words::grouped_numbers;

/// Words in a query above which lower-case words with hyphens count as English.
const MAX_WORDS: usize = 5;
/// Minimum and maximum bytes of a name, and minimum digits of a number.
const MIN_BYTES: usize = 3;
const MAX_BYTES: usize = 200;
const MIN_DIGITS: usize = 5;
/// First and last parts of words with hyphens that are English instead of names.
const ENGLISH_STARTS: &str = "\
    all anti big built by co cross double end even first full general good half hard high in inter just long low multi new \
    non old on one opt out over per post pre re read real second self semi short side single so sub third three top two \
    under up well write zero";
const ENGLISH_ENDS: &str = "\
    aware back based bit by case class date defined down driven effect end ended extra facing first free friendly headed in \
    known length level like line made man many memory off on one only oriented out over party place point process purpose \
    readable related right run running safe sent side size specific step style the through time to up use way wide wise";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExactName {
    pub(super) text: String,
    /// True if digits are compared without the marks that group them.
    is_number: bool,
}

impl ExactName {
    /// Parses a word of a query of `words` words; `None` if its spelling is not that of a name.
    pub(super) fn parse(word: &str, words: usize) -> Option<Self> {
        let is_hyphened = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let is_english = || words > 1 && is_english(word) || words > MAX_WORDS && is_hyphened;
        let bytes = MIN_BYTES..=MAX_BYTES;
        if !bytes.contains(&word.len()) || word.contains('-') && is_english() {
            return None;
        }
        let text = join_groups(word);
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let has_radix =
            ["0x", "0X", "0b", "0B", "0o", "0O"].iter().any(|radix| text.starts_with(radix));
        let is_long = MIN_DIGITS < text.len() || MIN_DIGITS == text.len() && !text.contains('.');
        let is_number = has_radix || text != word || is_long && text.chars().all(is_digit);
        (is_number || is_compound(word)).then(|| Self { text: text.into_owned(), is_number })
    }

    /// Returns true if a chunk, or the path of its file, contains the name.
    pub(super) fn matches_chunk(&self, chunk: &ChunkRecord) -> bool {
        self.occurs_in(&chunk.text) || has_word(&chunk.path, &self.text)
    }

    fn occurs_in(&self, text: &str) -> bool {
        let is_grouped =
            |text: &str| grouped_numbers(text).any(|number| has_word(&number, &self.text));
        has_word(text, &self.text) || self.is_number && is_grouped(text)
    }
}

/// Removes the marks between the groups of digits of a number.
fn join_groups(word: &str) -> Cow<'_, str> {
    let Some(number) = grouped_numbers(word).next() else { return Cow::Borrowed(word) };
    let rest = word.split_once('.').map(|(_, fraction)| fraction);
    Cow::Owned(rest.map_or(number.clone(), |fraction| format!("{number}.{fraction}")))
}

/// Returns true if a text contains a word as a whole; a hyphen joins words if `word` has one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let joins = |first: Option<char>, second: Option<char>| {
        let is_hyphen = first == Some('-') && word.contains('-');
        first.is_some_and(is_part) || is_hyphen && second.is_some_and(is_part)
    };
    text.match_indices(word).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let (mut before, mut after) =
            (before.chars().rev(), rest.chars().skip(word.chars().count()));
        !joins(before.next(), before.next()) && !joins(after.next(), after.next())
    })
}

/// Returns true if a word has marks, inner capitals, or letters and digits, like a name.
fn is_compound(word: &str) -> bool {
    let parts: Vec<&str> = word.split(|c: char| !c.is_alphanumeric()).collect();
    // `e.g.` is an abbreviation, not a name.
    let is_short = parts.iter().all(|part| part.chars().count() < 2);
    let has_marks = word.contains(['_', '-', '.']) || word.contains("::");
    let is_turn = |(a, b): (char, char)| {
        a.is_lowercase() && b.is_uppercase() || a.is_numeric() != b.is_numeric()
    };
    let mut pairs = word.chars().zip(word.chars().skip(1));
    let has_letters = word.contains(char::is_alphabetic) || 2 < parts.len();
    let is_inner =
        |(a, b): (char, char)| a.is_alphanumeric() && b.is_alphanumeric() && is_turn((a, b));
    !is_short && has_letters && (has_marks || pairs.any(is_inner))
}

/// Returns true if a word with hyphens is English, such as `read-only` or `type-erased`.
fn is_english(word: &str) -> bool {
    let mut parts = word.split('-');
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_default();
    let is_one_of = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    is_one_of(ENGLISH_STARTS, first)
        || is_one_of(ENGLISH_ENDS, last)
        || last.ends_with("ed")
        || last.ends_with("ing")
}

/// Returns true if a token looks like a name in code instead of a word: it has an underscore, a
/// capital after its first letter, `()`, or joins names with `::` or dots.
pub(super) fn looks_like_name(token: &str) -> bool {
    let joins = token.contains("::") || token.contains("()") || token.contains('_');
    let inner_capital = token.chars().skip(1).any(|c| c.is_ascii_uppercase())
        && token.chars().any(|c| c.is_ascii_lowercase());
    let dotted = token.split('.').filter(|part| 1 < part.len()).count() > 1;
    joins || inner_capital || dotted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_in_any_grouping_of_digits() {
        let is_in = |name: &str, text: &str| ExactName::parse(name, 1).unwrap().occurs_in(text);
        assert!(is_in("limit_rule_7", "x.limit_rule_7(limit_rule_77)"));
        assert!(!is_in("limit_rule_7", "limit_rule_77 my_limit_rule_7"));
        for (name, text) in [
            ("86400000", "T = 86_400_000"),
            ("86_400_000", "T = 86400000"),
            ("1'000'000", "a = 1000000;"),
            ("1000000", "a = 1'000'000;"),
            ("0xFF_FF", "x(0xFFFF)"),
            ("0xFFFF", "x(0xFF_FF)"),
        ] {
            assert!(is_in(name, text), "{name} in {text}");
        }
        assert!(!is_in("86400000", "186_400_000"));
        assert!(is_in("no-ignore", "pass --no-ignore.") && !is_in("no-ignore", "--no-ignore-vcs"));
    }
}
