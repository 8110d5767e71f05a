//! Scores chunks by the file and line that the query names.

use codeinfo_core::ChunkRecord;

use super::super::intent::QueryIntent;

/// Score of a chunk in the named file without the named line; the chunk with it has 1.
const OTHER_LINES: f32 = 0.5;

/// Returns 1 if the query names the file of the chunk and, if it has a line, that line.
pub(super) fn score_query_path(record: &ChunkRecord, intent: &QueryIntent) -> f32 {
    let named = intent.paths.iter().filter(|asked| asked.matches_path(&record.path));
    let shares = named.map(|asked| match asked.line {
        Some(line) if !(record.start_line..=record.end_line).contains(&line) => OTHER_LINES,
        _ => 1.0,
    });
    shares.fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::{super::super::fixture::record, *};

    #[test]
    fn a_file_is_named_by_the_end_of_its_path_and_a_chunk_by_its_line() {
        let chunk =
            ChunkRecord { start_line: 90, end_line: 99, ..record("src/net/upload.py", None, "") };
        for (query, wanted) in [
            ("upload.py", 1.0),
            ("what does net/Upload.py do?", 1.0),
            ("./src/net/upload.py", 1.0),
            ("/repos/demo/src/net/upload.py:96", 1.0),
            ("see upload.py:96:3.", 1.0),
            ("src/net/upload.py#L96", 1.0),
            ("upload.py:9", OTHER_LINES),
            ("load.py", 0.0),
            ("lib/net/upload.py", 0.0),
            ("upload", 0.0),
            ("upload::py", 0.0),
        ] {
            let found = score_query_path(&chunk, &QueryIntent::parse(query));
            assert!((found - wanted).abs() < 1e-6, "{query}: {found}");
        }
    }
}
