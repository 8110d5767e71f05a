//! Collects the terms of texts and counts them.
//!
//! The terms of a path are those of the file name, by words and as a whole, and of the two nearest
//! folders. Extensions and folders further up occur in nearly every chunk, so they find nothing.
//! They also cost the most, because the cost of a term grows with the square of its chunks.

use std::{cmp::Reverse, ops::RangeInclusive};

use codeinfo_core::{TermVector, normalize_nfc};
use codeinfo_lang::{
    comment,
    words::{find_identifiers, grouped_numbers, is_unspaced, split_identifier, stem_word},
};

/// Maximum bytes of an identifier. Longer ones are data, such as hashes or encoded images.
const MAX_IDENTIFIER_BYTES: usize = 100;
/// Characters of an operator: single ones occur everywhere, and longer runs are lines drawn in comments.
const OPERATOR_LENGTHS: RangeInclusive<usize> = 2..=4;
/// Minimum average bytes of text per term, for reserving memory.
const BYTES_PER_TERM: usize = 4;

/// Terms with their weighted counts. A term is the 32-bit FNV-1a hash of a word. With a million distinct words,
/// one in 4,000 shares its hash, which only counts some chunks too many for one term of a query.
#[derive(Default)]
pub(super) struct TermCounts {
    counted: Vec<(u32, f32)>,
}

impl TermCounts {
    pub(super) fn with_text_capacity(bytes: usize) -> Self {
        Self { counted: Vec::with_capacity(bytes / BYTES_PER_TERM) }
    }

    /// Counts the terms of `text`, each occurrence with `weight`: every identifier as a whole, and its parts if it
    /// has several. Case, the endings of parts and the underscores of wholes are ignored, so `read_file` and
    /// `readFile` are equal. A number with grouped digits also counts without its separators.
    pub(super) fn add_text(&mut self, text: &str, weight: f32) {
        self.add_identifiers(text, weight);
        for number in grouped_numbers(text) {
            self.add_identifiers(&number, weight);
        }
        if !text.is_ascii() {
            self.add_non_ascii(&normalize_nfc(text), weight);
        }
    }

    fn add_identifiers(&mut self, text: &str, weight: f32) {
        for identifier in find_identifiers(text) {
            if identifier.len() > MAX_IDENTIFIER_BYTES {
                continue;
            }
            let mut found = 0;
            for part in split_identifier(identifier) {
                found += 1;
                // A one-letter part of a longer name is not informative.
                if part.len() > 1 || part.len() == identifier.len() {
                    self.counted.push((hash_term(stem_word(part)), weight));
                }
            }
            if found > 1 {
                self.counted.push((hash_term(identifier), weight));
            }
        }
    }

    /// Counts a name as a whole, if it is exactly one indexed identifier.
    pub(super) fn add_whole_name(&mut self, name: &str) {
        let mut found = find_identifiers(name);
        let (Some(identifier), None) = (found.next(), found.next()) else { return };
        let is_long = identifier.len() > MAX_IDENTIFIER_BYTES;
        let is_all = name.trim_start_matches('_').len() == identifier.len();
        if is_long || !is_all {
            return;
        }
        // Texts contain the identifier in several parts, counted unchanged, or as one, counted without its ending.
        self.counted
            .extend([identifier, stem_word(identifier)].map(|whole| (hash_term(whole), 1.0)));
    }

    pub(super) fn add_operators(&mut self, text: &str) {
        self.counted.extend(find_operators(text).map(|operator| (hash_term(operator), 1.0)));
    }

    /// Counts the whole name of a file once, as a term that texts never contain.
    pub(super) fn add_file(&mut self, name: &str) {
        if !name.is_empty() {
            self.counted.push((hash_term(format!("/{name}").as_bytes()), 1.0));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.counted.len()
    }

    /// Sums the counts of each term and converts each sum with `weight`.
    pub(super) fn into_sparse(mut self, weight: impl Fn(f32) -> f32) -> TermVector {
        self.counted.sort_unstable_by_key(|(term, _)| *term);
        let mut sparse = TermVector::default();
        for same in self.counted.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((term, _)) = same.first() else { continue };
            sparse.indices.push(*term);
            sparse.values.push(weight(same.iter().map(|(_, count)| count).sum()));
        }
        sparse
    }

    /// Counts words with non-ASCII letters, or in scripts without spaces every pair of neighbouring characters.
    fn add_non_ascii(&mut self, text: &str, weight: f32) {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_ascii());
        for word in words {
            let lower = word.to_lowercase();
            if !lower.chars().any(is_unspaced) {
                self.counted.push((hash_term(lower.as_bytes()), weight));
                continue;
            }
            let mut previous = None;
            for (start, character) in lower.char_indices() {
                let end = start + character.len_utf8();
                if let Some(pair) = previous.and_then(|from: usize| lower.get(from..end)) {
                    self.counted.push((hash_term(pair.as_bytes()), weight));
                }
                previous = Some(start);
            }
        }
    }
}

/// Returns one term for each identifier of a name, longer identifiers first. [`TermCounts::add_text`] counts these
/// terms for any text that contains the name as a separate word.
pub(super) fn required_terms(name: &str) -> Vec<u32> {
    let known =
        find_identifiers(name).filter(|identifier| identifier.len() <= MAX_IDENTIFIER_BYTES);
    let mut terms: Vec<(usize, u32)> = known
        .filter_map(|identifier| {
            let mut parts = split_identifier(identifier);
            let term = match (parts.next()?, parts.next()) {
                (_, Some(_)) => hash_term(identifier),
                (only, None) if only.len() > 1 || only.len() == identifier.len() => {
                    hash_term(stem_word(only))
                }
                (_, None) => return None,
            };
            Some((identifier.len(), term))
        })
        .collect();
    terms.sort_by_key(|(length, _)| Reverse(*length));
    terms.into_iter().map(|(_, term)| term).collect()
}

/// Returns the 32-bit FNV-1a hash of a word in lower case, without its underscores. Parameters:
/// <https://datatracker.ietf.org/doc/draft-eastlake-fnv/>.
fn hash_term(word: &[u8]) -> u32 {
    const OFFSET: u32 = 0x811C_9DC5;
    const PRIME: u32 = 0x0100_0193;
    let letters = word.iter().filter(|byte| **byte != b'_');
    letters.fold(OFFSET, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(PRIME)
    })
}

/// Returns the operators of a text in order, such as `<=>`, `?.` or `#[`, without comment marks.
fn find_operators(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes()
        .chunk_by(|a, b| is_operator(*a) == is_operator(*b))
        .filter(|run| {
            OPERATOR_LENGTHS.contains(&run.len()) && run.first().copied().is_some_and(is_operator)
        })
        .filter(|run| !comment::is_comment_mark(run))
}

fn is_operator(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'*' | b'+' | b'-' | b'.' | b'/' | b':' | b'<'
            ..=b'@' | b'[' | b'\\' | b']' | b'^' | b'|' | b'~'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_and_comments_and_single_marks_are_not() {
        let found = |text| -> Vec<&str> {
            find_operators(text).map(|run| str::from_utf8(run).unwrap()).collect()
        };
        assert_eq!(found("a <=> b?.c !== d; // e"), ["<=>", "?.", "!=="]);
        assert_eq!(found("#[x] fn f(a: &[u8]) -> b::c"), ["#[", "&[", "->", "::"]);
        assert_eq!(found("a + b = c ------ /* d */ é——"), [""; 0]);
    }
}
