//! Limits the number of chunks of a file with very short lines by merging neighbours by bytes
//! alone.

use super::{
    lines::LineIndex,
    window::{PackedLines, TARGET},
};

/// Minimum chunks of a file whose chunks are merged.
const MANY: usize = 2000;
/// Average bytes of a chunk below which chunks are merged.
const SMALL: usize = 600;

/// Merges neighbours up to the target size in bytes, if a file has many small chunks.
pub(super) fn merge_small_pieces<'a>(
    lines: &LineIndex<'a>,
    packed: Vec<PackedLines<'a>>,
) -> Vec<PackedLines<'a>> {
    let bytes: usize = packed.iter().map(|piece| piece.text.len()).sum();
    if packed.len() < MANY || bytes / packed.len() >= SMALL {
        return packed;
    }
    let mut merged: Vec<PackedLines<'a>> = Vec::new();
    for piece in packed {
        match merged.last_mut() {
            Some(before) if may_merge(lines, before, &piece) => {
                before.lines.end = piece.lines.end;
                before.text = lines.text(before.lines.clone());
                if before.symbol != piece.symbol {
                    before.symbol = None;
                }
            }
            _ => merged.push(piece),
        }
    }
    merged
}

/// Returns true if two pieces are whole lines and together within the target size in bytes.
fn may_merge(lines: &LineIndex<'_>, before: &PackedLines<'_>, piece: &PackedLines<'_>) -> bool {
    let is_whole =
        |piece: &PackedLines<'_>| lines.text(piece.lines.clone()).len() == piece.text.len();
    lines.byte_len(before.lines.start..piece.lines.end) <= TARGET.bytes
        && is_whole(before)
        && is_whole(piece)
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::detect;

    use crate::chunk_text;

    fn sizes(language: Option<&str>, text: &str) -> (usize, usize) {
        let known = language.map(|name| detect::find_language(name).unwrap());
        let chunks = chunk_text(known, text).chunks;
        let lines = chunks.iter().map(|chunk| chunk.end_line - chunk.start_line + 1).sum::<u32>();
        (chunks.len(), usize::try_from(lines).unwrap())
    }

    #[test]
    fn a_file_of_very_short_lines_makes_chunks_by_its_bytes() {
        let text = "a\n".repeat(200_000);
        for language in [None, Some("yaml"), Some("markdown"), Some("text"), Some("c")] {
            let (count, lines) = sizes(language, &text);
            assert!((200..=400).contains(&count), "{count} of {language:?}");
            assert_eq!(lines, 200_000, "{language:?}");
        }
    }

    #[test]
    fn a_file_of_ordinary_chunks_stays_as_it_is() {
        let text = "a line of prose that is about as long as lines are\n".repeat(100_000);
        let (count, _) = sizes(Some("text"), &text);
        assert!(count > 2000, "{count}");
        let short = "a\n".repeat(60 * 1999);
        assert_eq!(sizes(None, &short).0, 1999);
    }
}
