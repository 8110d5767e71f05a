//! How well names fit a query.

use std::collections::HashSet;

use super::super::intent::{Intent, folded, words};
use crate::{domain::ChunkRecord, embed::words::identifiers};

/// Words that stand before a name where it is defined, in many languages.
const DEFINING: &[&[u8]] = &[
    b"actor",
    b"class",
    b"const",
    b"data",
    b"def",
    b"define",
    b"defmacro",
    b"defmodule",
    b"defp",
    b"enum",
    b"fn",
    b"fun",
    b"func",
    b"function",
    b"interface",
    b"macro",
    b"mod",
    b"module",
    b"namespace",
    b"newtype",
    b"object",
    b"protocol",
    b"record",
    b"struct",
    b"trait",
    b"type",
    b"typealias",
    b"union",
    b"val",
];

/// Returns 1 where the chunk defines a name in the query, ½ where it belongs to the definition of
/// one, ¼ where it is further inside.
///
/// The text is read, as the symbol alone does not tell the head of a long definition from the rest
/// of it, and in languages that are not parsed there is none.
pub(super) fn definition(record: &ChunkRecord, intent: &Intent) -> f32 {
    if intent.names.is_empty() {
        return 0.0;
    }
    let is_asked = |name: &[u8]| intent.names.contains(&folded(name));
    let mut before: &[u8] = b"";
    for identifier in identifiers(&record.text) {
        if DEFINING.contains(&before) && is_asked(identifier) {
            return 1.0;
        }
        before = identifier;
    }
    let symbol = record.symbol.as_deref().unwrap_or_default();
    let mut names =
        symbol.split([':', '.', '#', '/', ' ']).filter(|name| !name.is_empty()).map(str::as_bytes);
    if names.next_back().is_some_and(is_asked) {
        return 0.5;
    }
    if names.any(is_asked) { 0.25 } else { 0.0 }
}

/// Returns how much of the file's name the query has, 0…1.
pub(super) fn file(path: &str, intent: &Intent) -> f32 {
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or_default();
    if intent.names.contains(&folded(stem.as_bytes())) { 1.0 } else { share(stem, intent) }
}

/// Returns how much of the name of the file's folder the query has, 0…1.
pub(super) fn folder(path: &str, intent: &Intent) -> f32 {
    share(path.rsplit('/').nth(1).unwrap_or_default(), intent)
}

/// Returns the share of the words of `name` that the query has, 0…1.
pub(super) fn share(name: &str, intent: &Intent) -> f32 {
    let words: HashSet<String> = words(name).collect();
    if words.is_empty() {
        return 0.0;
    }
    let known = words.iter().filter(|word| intent.words.iter().any(|asked| same(asked, word)));
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    let share = known.count() as f32 / words.len() as f32;
    share
}

/// Returns whether two words are forms of one, such as `route` and `routing`: they begin with the
/// same four letters or more, and these are most of the shorter one.
fn same(a: &str, b: &str) -> bool {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let shorter = a.len().min(b.len());
    a == b || (4 <= common && shorter * 3 <= common * 4)
}

#[cfg(test)]
mod tests {
    use super::{super::super::fixture::record, *};

    #[test]
    fn the_head_of_a_definition_comes_before_the_rest_of_it() {
        let asked = Intent::of("where is RequestParser");
        for (symbol, text, wanted) in [
            (None, "public final class RequestParser {", 1.0),
            (Some("RequestParser"), "struct request_parser {", 1.0),
            (Some("http::RequestParser"), "  limit: usize,", 0.5),
            (Some("RequestParser::next"), "fn next(&mut self)", 0.25),
            (Some("serve"), "let parser = RequestParser::new();", 0.0),
            (None, "class RequestParserTest", 0.0),
        ] {
            let found = definition(&record("a", symbol, text), &asked);
            assert!((found - wanted).abs() < 1e-6, "{symbol:?} {text}");
        }
    }

    #[test]
    fn forms_of_one_word_are_the_same() {
        for (a, b) in [("route", "routing"), ("valid", "validate"), ("parser", "parse")] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [("interface", "interceptor"), ("map", "mapper"), ("test", "text")] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_share_counts_the_words_of_the_name() {
        let intent = Intent::of("how are HTTP headers parsed");
        for (name, wanted) in [("HeaderParser", 1.0), ("header_map", 0.5), ("x", 0.0), ("", 0.0)] {
            assert!((share(name, &intent) - wanted).abs() < 1e-6, "{name}");
        }
    }
}
