//! Counts how functions, types, parameters and variables are named.

use std::collections::HashMap;

use crate::tokens::{SourceFile, SourceToken, nesting};

/// Participles without `-ed`, and adverbs, that say nothing alone as the name of a function.
const BARE_WORDS: &[&str] = &[
    "also", "around", "away", "behind", "beside", "bound", "else", "found", "given", "held",
    "kept", "known", "left", "made", "meant", "met", "only", "put", "said", "seen", "sent",
    "shown", "spoken", "standing", "stands", "taken", "told", "within", "without", "written",
];
/// Words with `-ed` that are no participles.
const VERBS: &[&str] = &["embed", "feed", "need", "seed", "speed"];

/// Sums over many files.
#[derive(Default)]
pub(crate) struct NameCounts {
    pub(crate) functions: usize,
    pub(crate) one_word_functions: usize,
    pub(crate) bare_participles: usize,
    pub(crate) tuple_parameters: usize,
    pub(crate) self_shadowing_lets: usize,
    types: HashMap<String, usize>,
}

impl NameCounts {
    /// Adds the names of one file.
    pub(crate) fn add_file(&mut self, file: &SourceFile) {
        for (at, token) in file.tokens.iter().enumerate() {
            let Some(following) = file.tokens.get(at + 1..) else { break };
            let Some(name) = following.first().map(|token| token.text) else { break };
            match token.text {
                "fn" if name.starts_with(is_name_start) => self.add_function(name, following),
                "struct" | "enum" | "trait" if name.starts_with(char::is_uppercase) => {
                    *self.types.entry(name.to_owned()).or_default() += 1;
                }
                "let" => self.self_shadowing_lets += usize::from(is_self_shadowing(following)),
                _ => {}
            }
        }
    }

    /// Adds a function; one without a body, as traits declare them, counts for its parameters alone.
    fn add_function(&mut self, name: &str, from_name: &[SourceToken]) {
        self.tuple_parameters += count_tuple_parameters(from_name);
        if has_body(from_name) {
            self.functions += 1;
            self.one_word_functions += usize::from(!name.contains('_'));
            self.bare_participles += usize::from(is_bare_participle(name));
        }
    }

    pub(crate) fn count_types(&self) -> usize {
        self.types.values().sum()
    }

    pub(crate) fn count_one_word_types(&self) -> usize {
        let one_word = self.types.iter().filter(|(name, _)| is_one_word_type(name));
        one_word.map(|(_, count)| count).sum()
    }

    /// Counts types that share their name with two or more others.
    pub(crate) fn count_repeated_types(&self) -> usize {
        self.types.values().filter(|count| **count >= 3).sum()
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_bare_participle(name: &str) -> bool {
    let is_participle = name.len() >= 5 && !name.contains('_') && name.ends_with("ed");
    (is_participle && !VERBS.contains(&name)) || BARE_WORDS.contains(&name)
}

/// Returns whether no capital follows a small letter: `Root` and `HTTP`, not `RootDir`.
fn is_one_word_type(name: &str) -> bool {
    let is_small = |c: char| c.is_lowercase();
    !name.chars().zip(name.chars().skip(1)).any(|(a, b)| is_small(a) && b.is_uppercase())
}

fn has_body(from_name: &[SourceToken]) -> bool {
    let mut depth = 0;
    for token in from_name {
        match token.text {
            "{" if depth == 0 => return true,
            ";" if depth == 0 => return false,
            text => depth += nesting(text),
        }
    }
    false
}

/// Counts parameters such as `(a, b): (u8, u8)`: patterns in place of a name.
fn count_tuple_parameters(from_name: &[SourceToken]) -> usize {
    let Some(open) = find_parameters(from_name) else { return 0 };
    let (mut depth, mut count, mut is_start, mut is_pattern) = (0, 0, false, false);
    let tokens = from_name.get(open..).unwrap_or_default();
    for (token, next) in tokens.iter().zip(tokens.iter().skip(1)) {
        is_pattern |= depth == 1 && is_start && token.text == "(";
        let before = depth;
        depth += nesting(token.text);
        if depth == 0 {
            break;
        }
        if is_pattern && before == 2 && depth == 1 {
            count += usize::from(next.text == ":");
            is_pattern = false;
        }
        is_start = depth == 1 && (before == 0 || token.text == ",");
    }
    count
}

/// Returns the index of the parenthesis that opens the parameters, behind generic ones.
fn find_parameters(from_name: &[SourceToken]) -> Option<usize> {
    let (mut depth, mut previous) = (0, "");
    for (at, token) in from_name.iter().enumerate() {
        match token.text {
            "(" if depth == 0 => return Some(at),
            "<" => depth += 1,
            ">" if previous != "-" => depth -= 1,
            _ => {}
        }
        previous = token.text;
    }
    None
}

/// Returns whether `x = x.…`, `x = &x;` or the like follows a `let`.
fn is_self_shadowing(after_let: &[SourceToken]) -> bool {
    let mut texts = after_let.iter().map(|token| token.text).skip_while(|text| *text == "mut");
    let Some(name) = texts.next().filter(|name| name.starts_with(is_name_start)) else {
        return false;
    };
    let value = match texts.next() {
        Some("=") => texts,
        Some(":") => {
            let mut texts = texts;
            let is_end = |text: &&str| ["=", ";"].contains(text);
            if texts.find(is_end) != Some("=") {
                return false;
            }
            texts
        }
        _ => return false,
    };
    let mut value = value.skip_while(|text| ["&", "mut"].contains(text));
    value.next() == Some(name) && value.next().is_some_and(|next| [".", ";", "?"].contains(&next))
}

#[cfg(test)]
fn count_names(source: &str) -> NameCounts {
    let mut counts = NameCounts::default();
    counts.add_file(&SourceFile::parse(source));
    counts
}

#[test]
fn functions_are_counted_by_their_names() {
    let counts = count_names(
        "trait A { fn declared(&self); }
         impl A for B { fn declared(&self) { let f: fn(u8) = g; } }
         fn kept() {} fn embed() {} fn red() {} fn parse_reply(x: [u8; 2]) -> u8 { 0 }
         #[cfg(test)] mod tests { fn listed() {} }",
    );
    assert_eq!((counts.functions, counts.one_word_functions, counts.bare_participles), (5, 4, 2));
}

#[test]
fn types_are_counted_by_words_and_by_how_often_a_name_occurs() {
    let counts =
        count_names("struct Found; mod a { enum Found {} } pub trait Found {} struct RootDir;");
    assert_eq!(counts.count_types(), 4);
    assert_eq!(counts.count_one_word_types(), 3);
    assert_eq!(counts.count_repeated_types(), 3);
    assert_eq!(count_names("struct Found; enum Found {}").count_repeated_types(), 0);
}

#[test]
fn tuples_as_parameters_are_counted_and_tuples_as_types_are_not() {
    let count = |source: &str| count_names(source).tuple_parameters;
    assert_eq!(count("fn f<F: Fn(u8) -> u8>((a, b): (u8, u8), c: F, (d, e): &(u8, u8)) {}"), 2);
    assert_eq!(count("fn f(a: HashMap<u8, (u8, u8)>, b: (u8, u8)) { let (c, d) = b; }"), 0);
    assert_eq!(count("fn f(&self, ((a, b), c): ((u8, u8), u8)) {}"), 1);
}

#[test]
fn a_variable_that_shadows_itself_is_counted() {
    let count = |source: &str| count_names(source).self_shadowing_lets;
    assert_eq!(count("let a = a.b(); let mut b: Vec<u8> = &mut b; let c = c?;"), 3);
    assert_eq!(
        count("let a = b.a; let Some(b) = b else {}; let c: u8; c = c.d; let e = e + 1;"),
        0
    );
}
