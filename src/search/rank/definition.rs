//! Whether a chunk defines a name that the query has.

use codeinfo_lang::{
    comment::is_description,
    definition::{is_defining, is_extending},
    detect,
    words::{folded, identifiers},
};

use super::super::intent::Intent;
use crate::domain::ChunkRecord;

/// The chunk is of the definition and names it, though no known word stands before the name.
const NAMED: f32 = 0.9;
/// The chunk only declares the name; its definition is elsewhere.
const DECLARED: f32 = 0.6;
/// The chunk adds to what is defined elsewhere, as an `impl` or `instance` does.
const EXTENDED: f32 = 0.5;
/// The name is written with other capitals or underscores than in the query: `transaction` is a
/// function where `Transaction` is a type.
const SPELLED_OTHERWISE: f32 = 0.8;
/// The chunk is a later part of the definition, or a constructor.
const PART: f32 = 0.5;
/// The chunk is of something inside the definition.
const INSIDE: f32 = 0.25;

/// Returns 1 where the chunk defines a name in the query, and less where it only belongs to the
/// definition of one.
///
/// The text is read, as the symbol alone does not distinguish the head of a long definition from the rest
/// of it, and in languages that are not parsed there is none.
pub(super) fn share(record: &ChunkRecord, intent: &Intent) -> f32 {
    if intent.names.is_empty() {
        return 0.0;
    }
    // How much a name is the one asked for: 0 where it is another.
    let asked = |name: &str| match intent.names.contains(&folded(name.as_bytes())) {
        true if intent.spelled.contains(name) => 1.0,
        true => SPELLED_OTHERWISE,
        false => 0.0,
    };
    let language = record.language.as_deref().and_then(detect::named);
    let elaborating = language.map_or(&[][..], |language| language.definitions.elaborating);
    let lines = record.text.lines().map(|line| defined(line, elaborating, asked));
    let best = lines.fold(0.0, f32::max);
    if best > EXTENDED {
        return best;
    }
    let symbol = record.symbol.as_deref().unwrap_or_default();
    let mut names = symbol.split([':', '.', '#', '/', ' ']).filter(|name| !name.is_empty());
    let last = names.next_back().unwrap_or_default();
    let inside = names.map(asked).fold(0.0, f32::max);
    let share = match asked(last) {
        asked if asked <= 0.0 => INSIDE * inside,
        // A constructor is named as its class.
        asked if 0.0 < inside => PART * asked,
        asked if best <= 0.0 && mentions(&record.text, last) => NAMED * asked,
        asked => PART * asked,
    };
    share.max(best)
}

/// Returns how much a line defines a name that is `asked` for: a defining word, blanks, perhaps the
/// receiver of a method in parentheses, and a path whose last part is the name. Words that are
/// `elaborating` name a type wherever it is used.
fn defined(line: &str, elaborating: &[&str], asked: impl Fn(&str) -> f32) -> f32 {
    if is_description(line) {
        return 0.0;
    }
    let mut words = line.split_ascii_whitespace();
    let first = words.clone().next().unwrap_or_default();
    if words.clone().take(3).any(is_extending) || first.starts_with("impl<") {
        return EXTENDED * words.skip(1).filter_map(last_name).map(asked).fold(0.0, f32::max);
    }
    let mut best = 0.0_f32;
    while let Some(word) = words.next() {
        let word = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        if !is_defining(word) {
            continue;
        }
        // The next word may itself be a defining one, as in `enum class`.
        let mut ahead = words.clone();
        let mut named = ahead.next().unwrap_or_default();
        // The receiver of a method in Go, type parameters in Kotlin, a context in Haskell.
        for (opens, closes) in [('(', ')'), ('<', '>')] {
            if named.starts_with(opens) {
                while !named.ends_with(closes) {
                    let Some(next) = ahead.next() else { return best };
                    named = next;
                }
                named = ahead.next().unwrap_or_default();
            }
        }
        if named == "=>" {
            named = ahead.next().unwrap_or_default();
        }
        let asked = last_name(named).map_or(0.0, &asked);
        if 0.0 < asked {
            let of_type = elaborating.contains(&word);
            best = best.max(if of_type { self::of_type(named, ahead) } else { 1.0 } * asked);
        }
    }
    best
}

/// Returns how much C defines a type, where its name is `named`, followed by `rest`: a body or
/// bases follow the name of a definition, a semicolon that of a declaration, and others are uses.
fn of_type<'a>(named: &str, mut rest: impl Iterator<Item = &'a str>) -> f32 {
    let last = last_name(named).unwrap_or_default();
    let after = named.rsplit_once(last).map_or("", |(_, after)| after);
    let after = if after.is_empty() { rest.next().unwrap_or_default() } else { after };
    match after.bytes().next() {
        None | Some(b'{' | b':') => 1.0,
        _ if after == "final" => 1.0,
        Some(b';') => DECLARED,
        Some(_) => 0.0,
    }
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
    fn what_adds_to_a_definition_or_uses_it_is_none() {
        let asked = Intent::of("RequestParser");
        let found = |language: &str, symbol: Option<&str>, text: &str| {
            let language = Some(language.to_owned());
            share(&ChunkRecord { language, ..record("a", symbol, text) }, &asked)
        };
        for (language, symbol, text, wanted) in [
            ("csharp", Some("RequestParser.RequestParser"), "RequestParser(int limit) {", PART),
            ("rust", Some("RequestParser"), "impl<T> Iterator for RequestParser<T> {", EXTENDED),
            ("rust", None, "unsafe impl Send for RequestParser {}", EXTENDED),
            ("rust", None, "pub struct RequestParser;", 1.0),
            ("haskell", None, "instance Monad m => RequestParser m where", EXTENDED),
            ("haskell", None, "class (Monad m) => RequestParser m where", 1.0),
            ("swift", Some("RequestParser"), "extension RequestParser where Self: A {", EXTENDED),
            ("kotlin", None, "fun <reified T : Any> Route.RequestParser() {", 1.0),
            ("c", None, "struct RequestParser {", 1.0),
            ("c", None, "struct RequestParser", 1.0),
            ("cpp", None, "class RequestParser final : Base {", 1.0),
            ("cpp", None, "class RequestParser: Base {", 1.0),
            ("c", None, "struct RequestParser;", DECLARED),
            ("c", None, "int run(struct RequestParser *parser);", 0.0),
            ("c", None, "typedef struct RequestParser RequestParser;", 0.0),
        ] {
            let found = found(language, symbol, text);
            assert!((found - wanted).abs() < 1e-6, "{text}: {found}");
        }
    }

    #[test]
    fn a_name_spelled_as_asked_comes_before_one_spelled_otherwise() {
        let type_ = record("a", None, "open class Transaction {");
        let function = record("a", None, "fun <T> transaction(run: () -> T): T {");
        let [upper, lower] = ["Transaction", "transaction()"].map(Intent::of);
        assert!(share(&function, &upper) < share(&type_, &upper));
        assert!(share(&type_, &lower) < share(&function, &lower));
        assert!(INSIDE < share(&type_, &lower));
    }

    #[test]
    fn the_head_of_a_definition_comes_before_the_rest_of_it() {
        let asked = Intent::of("where is RequestParser");
        for (symbol, text, wanted) in [
            (None, "public final class RequestParser {", 1.0),
            (Some("RequestParser"), "struct request_parser {", SPELLED_OTHERWISE),
            (None, "enum class RequestParser : int {", 1.0),
            (None, "func (s *Server) RequestParser(in io.Reader) error {", 1.0),
            (None, "defmodule Http.RequestParser do", 1.0),
            (None, "function M.request_parser(input)", SPELLED_OTHERWISE),
            (Some("RequestParser"), "static Parser RequestParser(Reader in) {", NAMED),
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
