//! Recognises names of code in words and code spans. Does no I/O.

use std::ops::Range;

/// Maximum names of one code span or one citation.
pub(super) const MAX_NAMES: usize = 16;
/// Lengths of names in bytes.
const NAME_LENGTHS: Range<usize> = 3..121;
/// Words in backticks that occur in most files.
const COMMON_WORDS: [&str; 26] = [
    "true", "false", "null", "none", "nil", "undefined", "self", "this", "super", "void", "int",
    "string", "bool", "boolean", "str", "return", "async", "await", "static", "public", "private",
    "new", "get", "post", "import", "use",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CitedNameWeight {
    /// One of several words, as of a command; counts in the cited lines, but never against them.
    Hint,
    /// A name that may be an ordinary word. It counts in the cited lines and at its definition.
    Word,
    /// A word that can only be a name of code.
    Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CitedName {
    pub(super) display: String,
    /// Word to search for: the last segment of a qualified name.
    pub(super) word: String,
    pub(super) weight: CitedNameWeight,
}

/// Returns the names in a code span. A span that is more than one name is split into words.
pub(super) fn names_in_code(span: &str) -> Vec<CitedName> {
    let code = span.trim();
    let head = code.split('(').next().unwrap_or(code).trim_end_matches('!');
    let is_part = |c: char| {
        c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '#' | '>' | '-' | '&' | '@' | '$')
    };
    let is_name = !head.is_empty() && head.chars().all(is_part) && !head.starts_with('-');
    let is_call = head.len() < code.len();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| is_word(word)).take(MAX_NAMES).map(str::to_owned).collect()
    };
    if code.contains('/') && !code.contains(char::is_whitespace) {
        return Vec::new();
    }
    if !is_name {
        let name = |word: String| {
            let weight =
                if is_spelled(&word) { CitedNameWeight::Word } else { CitedNameWeight::Hint };
            CitedName { display: word.clone(), word, weight }
        };
        return words(code).into_iter().map(name).collect();
    }
    let Some(word) = words(head).pop() else { return Vec::new() };
    let is_path =
        head.contains("::") || head.contains("->") || head.contains('#') || head.contains('.');
    let weight = if !is_call && codeinfo_lang::detect::detect_by_path(head).is_some() {
        // A file name: its extension is not a name of code.
        CitedNameWeight::Hint
    } else if is_call || is_path || is_spelled(&word) {
        CitedNameWeight::Name
    } else {
        CitedNameWeight::Word
    };
    vec![CitedName { display: head.to_owned(), word, weight }]
}

/// Returns the name of code that a word outside of backticks is, if any.
pub(super) fn name_in_prose(word: &str) -> Option<CitedName> {
    let head = word.trim_end_matches([')', '(']);
    let is_call = word.ends_with("()");
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    let inner = head.split([':', '.']).next_back().unwrap_or(head);
    if !head.chars().all(is_part) || !is_word(inner) {
        return None;
    }
    let is_sure = is_call || inner.trim_matches('_').contains('_') || head.contains("::");
    let weight = if is_sure { CitedNameWeight::Name } else { CitedNameWeight::Word };
    (is_sure || is_humped(inner)).then(|| CitedName {
        display: head.to_owned(),
        word: inner.to_owned(),
        weight,
    })
}

fn is_word(word: &str) -> bool {
    NAME_LENGTHS.contains(&word.len())
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && word.contains(char::is_alphabetic)
        && !COMMON_WORDS.contains(&word.to_lowercase().as_str())
}

/// Returns whether a word in backticks is spelled like a name of code, unlike ordinary words.
fn is_spelled(word: &str) -> bool {
    let is_titled = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
    word.trim_matches('_').contains('_') || is_humped(word) || is_titled
}

/// Returns whether a word has a capital after a small letter, as in `camelCase`.
fn is_humped(word: &str) -> bool {
    let letters = word.chars().zip(word.chars().skip(1));
    letters.into_iter().any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}
