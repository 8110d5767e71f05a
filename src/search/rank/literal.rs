//! Strings of the query that a chunk holds letter by letter: log messages, operators, calls.

use super::super::intent::Intent;
use crate::domain::ChunkRecord;

/// Returns how much of what the query says literally the chunk holds, 0…1.
pub(super) fn share(record: &ChunkRecord, intent: &Intent) -> f32 {
    let held = intent.literals.iter().filter(|literal| record.text.contains(&literal.text));
    held.map(|literal| literal.weight).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::{super::super::fixture::record, *};

    #[test]
    fn what_is_quoted_or_has_punctuation_counts_most() {
        let chunk = record("a", None, "if (retries != 0) { log(\"gave up after %d\"); }");
        for (query, wanted) in [
            ("retries != 0", 1.0),
            ("where is \"gave up after\" logged", 1.0),
            ("gave up after", 0.3),
            ("gave up", 0.0),
            ("retries", 0.0),
            ("retries == 0", 0.0),
        ] {
            let found = share(&chunk, &Intent::of(query));
            assert!((found - wanted).abs() < 1e-6, "{query}: {found}");
        }
    }
}
