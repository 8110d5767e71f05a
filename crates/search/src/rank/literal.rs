//! Scores strings of the query that a chunk contains verbatim: log messages, operators, calls.

use codeinfo_core::ChunkRecord;

use super::super::intent::{QueryIntent, QueryLiteral};

/// Returns the score of the literals that the chunk contains, 0…1: of the whole query, or of its
/// quoted parts.
pub(super) fn score_literals(record: &ChunkRecord, intent: &QueryIntent) -> f32 {
    let held = |literal: &QueryLiteral| {
        if record.text.contains(&literal.text) { literal.weight } else { 0.0 }
    };
    let whole = intent.literals.whole.as_ref().map_or(0.0, held);
    let quoted = &intent.literals.quoted;
    #[expect(clippy::cast_precision_loss, reason = "a query quotes few parts")]
    let number = quoted.len().max(1) as f32;
    whole.max(quoted.iter().map(held).sum::<f32>() / number)
}

#[cfg(test)]
mod tests {
    use super::{super::super::fixture::record, *};

    #[test]
    fn the_whole_query_comes_before_what_it_quotes() {
        let chunk = record("a", None, "if (retries != 0) { log(\"gave up after %d\"); }");
        let share = |query: &str| score_literals(&chunk, &QueryIntent::parse(query));
        for (query, wanted) in [("retries != 0", 1.0), ("gave up after", 0.3)] {
            assert!((share(query) - wanted).abs() < 1e-6, "{query}");
        }
        for query in ["gave up", "retries", "retries == 0"] {
            assert!(share(query) <= 0.0, "{query}");
        }
        let whole = share("log(\"gave up after %d\");");
        let in_sentence = share("where is \"gave up after\" logged");
        let in_code = share("log(\"gave up after %d\", now);");
        let half = share("log(\"gave up after %d\", \"of it\");");
        assert!(whole > in_sentence && in_sentence > in_code && in_code > half && half > 0.0);
    }
}
