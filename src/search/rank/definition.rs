//! Whether a chunk defines a name that the query has.

use super::super::intent::{Intent, folded};
use crate::{domain::ChunkRecord, embed::words::identifiers};

/// Words that stand before a name where it is defined, in many languages.
const DEFINING: &[&str] = &[
    "actor",
    "class",
    "const",
    "data",
    "def",
    "define",
    "defguard",
    "defmacro",
    "defmodule",
    "defp",
    "defprotocol",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "instance",
    "interface",
    "macro",
    "mod",
    "module",
    "namespace",
    "newtype",
    "object",
    "protocol",
    "record",
    "struct",
    "trait",
    "type",
    "typealias",
    "union",
    "val",
];
/// How a line of a comment or of documentation begins. `#` alone would be `#define`, too.
const COMMENTS: &[&str] = &["//", "/*", "*", "# ", "--", ";;", "\"\"\"", "{-", "|"];
/// The chunk is of the definition and names it, though no known word stands before the name.
const NAMED: f32 = 0.9;
/// The chunk is a later part of the definition.
const PART: f32 = 0.5;
/// The chunk is of something inside the definition.
const INSIDE: f32 = 0.25;

/// Returns 1 where the chunk defines a name in the query, and less where it only belongs to the
/// definition of one.
///
/// The text is read, as the symbol alone does not tell the head of a long definition from the rest
/// of it, and in languages that are not parsed there is none.
pub(super) fn share(record: &ChunkRecord, intent: &Intent) -> f32 {
    if intent.names.is_empty() {
        return 0.0;
    }
    let is_asked = |name: &str| intent.names.contains(&folded(name.as_bytes()));
    if record.text.lines().any(|line| defines(line, is_asked)) {
        return 1.0;
    }
    let symbol = record.symbol.as_deref().unwrap_or_default();
    let mut names = symbol.split([':', '.', '#', '/', ' ']).filter(|name| !name.is_empty());
    match names.next_back().filter(|name| is_asked(name)) {
        Some(name) if mentions(&record.text, name) => NAMED,
        Some(_) => PART,
        None if names.any(is_asked) => INSIDE,
        None => 0.0,
    }
}

/// Returns whether a line defines a name that `is_asked`: a defining word, blanks, perhaps the
/// receiver of a method in parentheses, and a path whose last part is the name.
fn defines(line: &str, is_asked: impl Fn(&str) -> bool) -> bool {
    let line = line.trim_start();
    if COMMENTS.iter().any(|comment| line.starts_with(comment)) {
        return false;
    }
    let mut words = line.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let word = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        if !DEFINING.contains(&word) {
            continue;
        }
        // The next word may itself be a defining one, as in `enum class`.
        let mut ahead = words.clone();
        let mut named = ahead.next().unwrap_or_default();
        if named.starts_with('(') {
            while !named.ends_with(')') {
                let Some(next) = ahead.next() else { return false };
                named = next;
            }
            named = ahead.next().unwrap_or_default();
        }
        if last_name(named).is_some_and(&is_asked) {
            return true;
        }
    }
    false
}

/// Returns the last part of the path that `word` begins with: `open` in `Store::open(path)`.
fn last_name(word: &str) -> Option<&str> {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '$');
    let end = word.find(|c| !joins(c)).unwrap_or(word.len());
    let path = word.get(..end)?.trim_end_matches([':', '.']);
    path.rsplit([':', '.']).next().filter(|name| !name.is_empty())
}

fn mentions(text: &str, name: &str) -> bool {
    identifiers(text).any(|identifier| folded(identifier) == folded(name.as_bytes()))
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
            (None, "enum class RequestParser : int {", 1.0),
            (None, "func (s *Server) RequestParser(in io.Reader) error {", 1.0),
            (None, "defmodule Http.RequestParser do", 1.0),
            (None, "function M.request_parser(input)", 1.0),
            (Some("requestParser"), "static Parser requestParser(Reader in) {", 0.9),
            (Some("http::RequestParser"), "  limit: usize,", 0.5),
            (Some("RequestParser::next"), "fn next(&mut self)", 0.25),
            (Some("serve"), "let parser = RequestParser::new();", 0.0),
            (Some("serve"), "fn is(x: type[RequestParser])", 0.0),
            (None, "// the class RequestParser reads", 0.0),
            (None, "class RequestParserTest", 0.0),
            (None, "func (", 0.0),
        ] {
            let found = share(&record("a", symbol, text), &asked);
            assert!((found - wanted).abs() < 1e-6, "{symbol:?} {text}: {found}");
        }
    }
}
