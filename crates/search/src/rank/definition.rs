//! Scores chunks that define a name of the query.

use codeinfo_core::ChunkRecord;
use codeinfo_lang::words::fold_name;

use super::super::intent::QueryIntent;

/// Factor of a name with other capitals or underscores than in the query: `transaction` is a
/// function, `Transaction` a type.
const SPELLED_OTHERWISE: f32 = 0.4;
/// Factor per name before the defined one, so that a type comes before a member with its name.
const DEEPER: f32 = 0.98;
/// Factor of a name with another qualifier than in the query: in `Shelf` for the query
/// `Store::open`.
const ELSEWHERE: f32 = 0.6;
/// Factor of a chunk that is a later part of the definition, adds to it, or is a constructor.
const PART: f32 = 0.5;
/// Factor of a chunk inside the definition.
const INSIDE: f32 = 0.25;

/// Returns 1 if the chunk defines a name of the query, and less if it only belongs to such a
/// definition.
pub(super) fn score_definition(record: &ChunkRecord, intent: &QueryIntent) -> f32 {
    if intent.names.is_empty() {
        return 0.0;
    }
    let defines =
        record.defines.iter().map(|symbol| score_symbol(symbol, intent)).fold(0.0, f32::max);
    let Some(symbol) = &record.symbol else { return defines };
    let (last, before) = split_symbol(symbol);
    let inside = before.iter().map(|name| score_name(name, None, intent)).fold(0.0, f32::max);
    let part = PART * score_name(last, before.last().copied(), intent);
    defines.max(part).max(INSIDE * inside)
}

/// Returns the symbol of the chunk's definition that best matches a name of the query.
pub(crate) fn asked_symbol<'a>(record: &'a ChunkRecord, intent: &QueryIntent) -> Option<&'a str> {
    let mut best = (0.0, None);
    for symbol in &record.defines {
        let share = score_symbol(symbol, intent);
        if share > best.0 {
            best = (share, Some(symbol.as_str()));
        }
    }
    best.1
}

/// Returns how well the members that the chunk defines match a name of the query, with their types;
/// `None` if none does.
pub(super) fn asked_member<'a>(
    record: &'a ChunkRecord,
    intent: &QueryIntent,
) -> Option<(f32, Vec<&'a str>)> {
    let mut best = 0.0_f32;
    let mut types = Vec::new();
    for symbol in &record.defines {
        let (last, before) = split_symbol(symbol);
        let Some(qualifier) = before.last().copied() else { continue };
        let asked = score_name(last, Some(qualifier), intent);
        if asked > 0.0 {
            best = best.max(asked);
            types.push(qualifier);
        }
    }
    (!types.is_empty()).then_some((best, types))
}

/// Returns how well a definition with this symbol matches a name of the query.
fn score_symbol(symbol: &str, intent: &QueryIntent) -> f32 {
    let (last, before) = split_symbol(symbol);
    let qualifier = before.last().copied();
    // A constructor has the name of its class.
    let factor = if qualifier == Some(last) { PART } else { 1.0 };
    let depth = i32::try_from(before.len()).unwrap_or(i32::MAX);
    factor * DEEPER.powi(depth) * score_name(last, qualifier, intent)
}

/// Returns how well a name matches a name of the query, 0…1.
fn score_name(name: &str, qualifier: Option<&str>, intent: &QueryIntent) -> f32 {
    let name_folded = fold_name(name.as_bytes());
    let qualifier_folded = qualifier.map(|name| fold_name(name.as_bytes()));
    let known = intent.names.iter().filter(|asked| asked.folded == name_folded);
    let shares = known.map(|asked| {
        let is_elsewhere = asked.qualifier.is_some()
            && qualifier_folded.is_some()
            && asked.qualifier != qualifier_folded;
        let place = if is_elsewhere { ELSEWHERE } else { 1.0 };
        place * if asked.spelled == name { 1.0 } else { SPELLED_OTHERWISE }
    });
    shares.fold(0.0, f32::max)
}

/// Splits a symbol into its last name and those before it.
pub(super) fn split_symbol(symbol: &str) -> (&str, Vec<&str>) {
    let parts = symbol.split([':', '.', '#', '/', ' ']).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = parts.collect();
    // A query has no marks for Ruby's `empty?` and Haskell's `go'`.
    let last = names.pop().unwrap_or_default();
    (last.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_'), names)
}

#[cfg(test)]
mod tests {
    use super::{super::super::fixture::record, *};

    fn defining(symbols: &[&str]) -> ChunkRecord {
        let defines = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        ChunkRecord { defines, ..record("a", symbols.first().copied(), "") }
    }

    #[test]
    fn the_start_of_a_definition_comes_before_what_belongs_to_it() {
        let asked = QueryIntent::parse("where is RequestParser");
        for (chunk, wanted) in [
            (defining(&["RequestParser"]), 1.0),
            (defining(&["http::RequestParser"]), DEEPER),
            (defining(&["Server", "Server.run", "RequestParser"]), 1.0),
            (defining(&["request_parser"]), SPELLED_OTHERWISE),
            (defining(&["RequestParser.RequestParser"]), PART),
            (record("a", Some("http::RequestParser"), "  limit: usize,"), PART),
            (defining(&["RequestParser::next"]), INSIDE),
            (record("a", Some("serve"), "let parser = RequestParser::new();"), 0.0),
            (defining(&["RequestParserTest"]), 0.0),
            (record("a", None, "class RequestParser"), 0.0),
        ] {
            let found = score_definition(&chunk, &asked);
            assert!((found - wanted).abs() < 1e-6, "{chunk:?}: {found}");
        }
    }

    #[test]
    fn a_name_spelled_as_asked_comes_before_one_spelled_otherwise() {
        let type_ = defining(&["Transaction"]);
        let function = defining(&["transaction"]);
        let [upper, lower] = ["Transaction", "transaction()"].map(QueryIntent::parse);
        assert!(score_definition(&function, &upper) < score_definition(&type_, &upper));
        assert!(score_definition(&type_, &lower) < score_definition(&function, &lower));
        assert!(INSIDE < score_definition(&type_, &lower));
    }

    #[test]
    fn a_name_with_a_place_is_looked_for_there() {
        let asked = QueryIntent::parse("store::Store::open");
        let [here, bare, elsewhere] = ["disk::Store::open", "open", "Shelf::open"]
            .map(|symbol| score_definition(&defining(&[symbol]), &asked));
        assert!(elsewhere < here && elsewhere < bare, "{here} {bare} {elsewhere}");
    }

    #[test]
    fn a_chunk_is_shown_under_the_name_that_is_asked_for() {
        let chunk = defining(&["Shelf", "Shelf.put", "Shelf.take"]);
        let shown = |query: &str| asked_symbol(&chunk, &QueryIntent::parse(query));
        assert_eq!(shown("take()"), Some("Shelf.take"));
        assert_eq!(shown("Shelf"), Some("Shelf"));
        assert_eq!([shown("used"), shown("how are things taken")], [None, None]);
    }
}
