//! Finds the names that the sentence around a citation gives for what stands there. Pure.
//!
//! A name belongs to the citation that follows it, and to the one before it only where the sentence
//! starts with that. Citations with nothing but punctuation between them are a group, and have their
//! names in common.

use std::ops::Range;

use super::{
    parse::Citation,
    pieces::{Kind, Pieces},
};

/// More names of one citation are not looked for.
const MAX_NAMES: usize = 16;
/// Shorter words, and those longer, are no names.
const LENGTHS: Range<usize> = 3..121;
/// So many words may stand before a citation that starts its sentence: "In `a.rs:1-9`, …".
const OPENING_WORDS: usize = 2;
/// Words that stand between the citations of a group.
const JOINING: [&str; 8] = ["and", "or", "see", "also", "at", "in", "lines", "line"];
/// Words in backticks that are in most files, whatever is said.
const PLAIN: [&str; 26] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "self",
    "this",
    "super",
    "void",
    "int",
    "string",
    "bool",
    "boolean",
    "str",
    "return",
    "async",
    "await",
    "static",
    "public",
    "private",
    "new",
    "get",
    "post",
    "import",
    "use",
];
/// What a full stop ends without ending the sentence.
const SHORTENED: [&str; 7] = ["e.g", "i.e", "cf", "vs", "etc", "approx", "resp"];

/// How much a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// It may be a word like another: it counts where it stands, and where it is defined.
    Word,
    /// It is a name of code and nothing else.
    Name,
}

/// A name that a sentence gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// As people read it.
    pub(super) shown: String,
    /// What is looked for as a whole word: the last part of a path of names.
    pub(super) word: String,
    pub(super) weight: Weight,
}

/// What is said of one citation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) names: Vec<Name>,
    /// The place of its group's first citation.
    pub(super) group: usize,
}

/// Returns what is said of each of the citations of a text.
pub(super) fn said(text: &str, whole: &Pieces, citations: &[Citation]) -> Vec<Said> {
    let marks = marks(text, whole, citations);
    let mut all: Vec<Said> = Vec::with_capacity(citations.len());
    let mut before: &[Mark] = &[];
    for sentence in sentences(text, whole, &marks) {
        let marks = part(&marks, &sentence);
        if whole.blocks.binary_search(&sentence.start).is_ok() {
            before = &[];
        }
        say(marks, before, &mut all);
        before = marks;
    }
    all
}

/// What stands in a text, in order.
#[derive(Debug, Clone)]
struct Mark {
    at: usize,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Citation,
    Names(Vec<Name>),
    /// A word that is no name.
    Other {
        joins: bool,
    },
    /// Ends a sentence.
    Stop,
}

/// Adds what is said of the citations of one sentence; `before` is the sentence before it.
fn say(sentence: &[Mark], before: &[Mark], all: &mut Vec<Said>) {
    let is_citation = |mark: &Mark| matches!(mark.what, What::Citation);
    let breaks = |mark: &Mark| matches!(mark.what, What::Names(_) | What::Other { joins: false });
    let mut at = 0;
    let mut is_first = true;
    while let Some(first) = position(sentence, at, is_citation) {
        let leading = sentence.get(at..first).unwrap_or_default();
        let end = position(sentence, first, breaks).unwrap_or(sentence.len());
        let count =
            sentence.get(first..end).unwrap_or_default().iter().filter(|m| is_citation(m)).count();
        let mut names = names_of(leading);
        let opens = is_first && leading.iter().filter(|mark| breaks(mark)).count() <= OPENING_WORDS;
        if names.is_empty() && opens {
            let next = position(sentence, end, is_citation).unwrap_or(sentence.len());
            let after = sentence.get(end..next).unwrap_or_default();
            names = names_of(after);
            if !after.iter().any(breaks) && leading.is_empty() {
                names = names_of(before);
            }
        }
        let group = all.len();
        all.extend((0..count).map(|_| Said { names: names.clone(), group }));
        (at, is_first) = (end, false);
    }
}

fn position(marks: &[Mark], from: usize, is: impl Fn(&Mark) -> bool) -> Option<usize> {
    marks.get(from..)?.iter().position(is).map(|at| from + at)
}

/// Returns the names among marks, each once, those nearest to the end first.
fn names_of(marks: &[Mark]) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    for mark in marks.iter().rev() {
        let What::Names(names) = &mark.what else { continue };
        for name in names {
            if found.len() < MAX_NAMES && !found.iter().any(|known| known.word == name.word) {
                found.push(name.clone());
            }
        }
    }
    found
}

fn part<'a>(marks: &'a [Mark], range: &Range<usize>) -> &'a [Mark] {
    let first = marks.partition_point(|mark| mark.at < range.start);
    let end = marks.partition_point(|mark| mark.at < range.end);
    marks.get(first..end).unwrap_or_default()
}

/// Returns the sentences of a text: they end with a full stop or with their block.
fn sentences(text: &str, whole: &Pieces, marks: &[Mark]) -> Vec<Range<usize>> {
    let stops = marks.iter().filter(|mark| matches!(mark.what, What::Stop)).map(|mark| mark.at + 1);
    let mut ends: Vec<usize> = whole.blocks.iter().copied().chain(stops).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut start = 0;
    let mut sentences = Vec::with_capacity(ends.len());
    for end in ends {
        if start < end {
            sentences.push(start..end);
            start = end;
        }
    }
    sentences
}

fn marks(text: &str, whole: &Pieces, citations: &[Citation]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut cited = citations.iter().peekable();
    // A citation may end after its code span.
    let mut done = 0;
    for piece in &whole.pieces {
        let is_prose = piece.kind == Kind::Prose;
        let mut has_citation = false;
        while let Some(citation) = cited.next_if(|one| one.range.start < piece.range.end) {
            let start = citation.range.start.max(piece.range.start);
            if is_prose {
                read_prose(text, piece.range.start.max(done)..start, &mut marks);
            }
            marks.push(Mark { at: start, what: What::Citation });
            done = citation.range.end;
            has_citation = true;
        }
        let rest = piece.range.start.max(done)..piece.range.end;
        match piece.kind {
            Kind::Prose => read_prose(text, rest, &mut marks),
            Kind::Code if !has_citation => {
                let names = names_in_code(text.get(rest).unwrap_or_default());
                let other = What::Other { joins: false };
                let what = if names.is_empty() { other } else { What::Names(names) };
                marks.push(Mark { at: piece.range.start, what });
            }
            Kind::Code | Kind::Fenced => {}
        }
    }
    marks
}

fn read_prose(text: &str, range: Range<usize>, marks: &mut Vec<Mark>) {
    let Some(prose) = text.get(range.clone()) else { return };
    let mut at = range.start;
    for word in prose.split_inclusive(char::is_whitespace) {
        let inner =
            word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '(' && c != ')');
        let bare = inner.trim_matches(['(', ')']);
        if bare.contains(char::is_alphanumeric) && !bare.contains("://") {
            let what = match name_in_prose(inner.trim_start_matches('(')) {
                Some(name) => What::Names(vec![name]),
                None => What::Other { joins: JOINING.contains(&bare.to_lowercase().as_str()) },
            };
            marks.push(Mark { at, what });
        }
        let tail = word.trim_end();
        if is_last(tail, bare, text.get(at + word.len()..).unwrap_or_default()) {
            marks.push(Mark { at: at + tail.len().saturating_sub(1), what: What::Stop });
        }
        at += word.len();
    }
}

/// Whether a word ends its sentence; `after` is the text after it.
fn is_last(word: &str, bare: &str, after: &str) -> bool {
    let closed = word.trim_end_matches(['"', '\'', ')', '*', '_', ']']);
    closed.ends_with(['.', '!', '?', '。', '！', '？'])
        && !SHORTENED.contains(&bare.to_lowercase().as_str())
        && !after.trim_start().starts_with(char::is_lowercase)
}

/// Returns what a code span names. One that is more than a name is words.
fn names_in_code(code: &str) -> Vec<Name> {
    let code = code.trim();
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
        let name = |word: String| Name { shown: word.clone(), word, weight: Weight::Word };
        return words(code).into_iter().map(name).collect();
    }
    let Some(word) = words(head).pop() else { return Vec::new() };
    let is_path =
        head.contains("::") || head.contains("->") || head.contains('#') || head.contains('.');
    let weight = if is_call || is_path || is_spelled(&word) { Weight::Name } else { Weight::Word };
    vec![Name { shown: head.to_owned(), word, weight }]
}

/// Returns the name that a word outside of backticks is.
fn name_in_prose(word: &str) -> Option<Name> {
    let (head, is_call) = word.strip_suffix("()").map_or((word, false), |head| (head, true));
    let head = head.trim_end_matches([')', '(']);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    let inner = head.split([':', '.']).next_back().unwrap_or(head);
    if !head.chars().all(is_part) || !is_word(inner) {
        return None;
    }
    let is_sure = is_call || inner.trim_matches('_').contains('_') || head.contains("::");
    let weight = if is_sure { Weight::Name } else { Weight::Word };
    (is_sure || is_humped(inner)).then(|| Name {
        shown: head.to_owned(),
        word: inner.to_owned(),
        weight,
    })
}

fn is_word(word: &str) -> bool {
    LENGTHS.contains(&word.len())
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && word.contains(char::is_alphabetic)
        && !PLAIN.contains(&word.to_lowercase().as_str())
}

/// Whether a word in backticks is spelled as names of code are, and words are not.
fn is_spelled(word: &str) -> bool {
    let is_titled = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
    word.trim_matches('_').contains('_') || is_humped(word) || is_titled
}

/// Whether a word has a capital after a small letter, as in `camelCase`.
fn is_humped(word: &str) -> bool {
    let letters = word.chars().zip(word.chars().skip(1));
    letters.into_iter().any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::parse::found_in;

    /// Returns for each citation the names that are given for it.
    fn given(text: &str) -> Vec<String> {
        let whole = Pieces::of(text);
        let citations = found_in(text, &whole);
        let said = said(text, &whole, &citations);
        assert_eq!(said.len(), citations.len());
        let names = |said: &Said| {
            let names = said.names.iter().map(|name| match name.weight {
                Weight::Name => name.word.clone(),
                Weight::Word => format!("{}?", name.word),
            });
            names.collect::<Vec<String>>().join(" ")
        };
        said.iter().map(names).collect()
    }

    #[test]
    fn a_name_belongs_to_the_citation_after_it() {
        for (text, expected) in [
            ("`parse_it` reads (a.rs:1-2).", &["parse_it"][..]),
            ("`a_b` calls `c_d` (a.rs:1) and `e_f` (b.rs:2).", &["c_d a_b", "e_f"]),
            ("- `a.rs:1-2`: `Slots::open()` waits", &["open"]),
            ("In a.rs:1, `a_b` waits. `c_d` does not.", &["a_b"]),
            ("`a_b` is here: a.rs:1, b.rs:2 and `c.rs` (lines 3-4).", &["a_b", "a_b", "a_b"]),
            ("`a_b` waits. (a.rs:1-2)", &["a_b"]),
            ("`a_b` waits.\n\na.rs:1-2", &[""]),
            ("It handle_it() first (a.rs:1), as GitHub does.", &["handle_it"]),
            ("The limits are far away in a.rs:1, and `Slots` has them (b.rs:2).", &["", "Slots"]),
            ("| `a_b` | a.rs:1 |\n| `c_d` | b.rs:2 |", &["a_b", "c_d"]),
            ("`true` if `error` or `x`, e.g. in GitHub (a.rs:1).", &["GitHub? error?"]),
            ("`cargo run` and `src/b.rs` (a.rs:1)", &["cargo? run?", "cargo? run?"]),
            ("`self.engines.forHeader(x)` (a.rs:1)", &["forHeader"]),
            ("`a_b` in `src/a.rs`:12-40 and `c_d` in a.rs:3", &["a_b", "c_d"]),
        ] {
            assert_eq!(given(text), expected, "{text}");
        }
    }
}
