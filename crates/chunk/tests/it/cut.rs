//! Invariants of chunks of any text, shared with the fuzz target.

use codeinfo_chunk::{Chunk, chunk_text};
use codeinfo_lang::detect::detect_language;

/// Maximum lines and bytes of a chunk.
const LARGEST: (usize, usize) = (120, 6000);
/// Maximum bytes of a chunk with more lines, merged in a file of very many short ones.
const MERGED_BYTES: usize = 2000;

/// Checks that every line that is not blank is in exactly one chunk, in order. A line too long for
/// one chunk may be in several, one piece in each.
pub(crate) fn check_chunks(name: &str, text: &str) {
    let chunked = chunk_text(detect_language(name, text), text);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut covered: Vec<String> = vec![String::new(); lines.len()];
    let mut last = 0;
    for Chunk { start_line, end_line, symbol, text: own, .. } in chunked.chunks {
        let (start, end) = (start_line as usize, end_line as usize);
        assert!(!own.trim().is_empty(), "{name}: blank chunk {start}-{end}");
        assert!(start <= end && end <= lines.len(), "{name}: {start}-{end} of {}", lines.len());
        let is_short = end - start < LARGEST.0 || own.len() <= MERGED_BYTES;
        assert!(own.len() <= LARGEST.1 && is_short, "{name}: {start}-{end}");
        assert!(symbol.as_deref() != Some(""), "{name}: empty symbol");
        let is_piece =
            start == end && own.len() < lines[start - 1].trim_end_matches(['\r', '\n']).len();
        assert!(last < start || (last == start && is_piece), "{name}: {start} after {last}");
        last = end;
        if is_piece {
            covered[start - 1].push_str(own);
            continue;
        }
        let whole = lines[start - 1..end].concat();
        // A carriage return ends a line only together with a line feed.
        let end_of_line = ["\r\n", "\n"].into_iter().find(|end| whole.ends_with(end));
        let whole = whole.strip_suffix(end_of_line.unwrap_or_default()).unwrap_or(&whole);
        assert_eq!(own, whole, "{name}: {start}-{end}");
        for (line, covered) in lines[start - 1..end].iter().zip(&mut covered[start - 1..end]) {
            covered.push_str(line);
        }
    }
    for (at, (line, covered)) in lines.iter().zip(&covered).enumerate() {
        assert_eq!(covered.trim_end(), line.trim_end(), "{name}: line {}", at + 1);
    }
}
