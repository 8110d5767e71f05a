//! Sub-words of the model, and the conversion of text to sub-word ids.

use codeinfo_lang::words::{find_identifiers, split_identifier};
use hashbrown::HashTable;

use crate::EmbedError;

/// Maximum bytes of a sub-word. It bounds a buffer on the stack.
const MAX_WORD_BYTES: usize = 32;
/// Minimum bytes of a piece of an unknown word, unless the piece ends the word.
const MIN_PIECE_BYTES: usize = 3;

/// Set of lower-case sub-words. The id of a sub-word is its line in the file, counted from 0.
pub(super) struct SubwordVocabulary {
    words: Vec<&'static [u8]>,
    ids: HashTable<u32>,
    /// Bytes of the longest sub-word.
    longest: usize,
}

impl SubwordVocabulary {
    /// Parses a file with one sub-word per line.
    pub(super) fn new(file: &'static str) -> Result<Self, EmbedError> {
        let words: Vec<&[u8]> = file.lines().map(str::as_bytes).collect();
        let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
        if longest > MAX_WORD_BYTES {
            return Err(EmbedError::Damaged("a sub-word is too long"));
        }
        let ids = HashTable::with_capacity(words.len());
        let mut vocabulary = Self { words: Vec::with_capacity(words.len()), ids, longest };
        for word in words {
            vocabulary.push(word)?;
        }
        Ok(vocabulary)
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn find_word(&self, id: u32) -> Option<&'static str> {
        str::from_utf8(self.words.get(id as usize)?).ok()
    }

    /// Appends the ids of the sub-words of `text`, in order, to `ids`. Skips words of one letter,
    /// but not digits, and unknown numbers. Cuts other unknown words into known pieces.
    pub(super) fn append_ids(&self, text: &str, ids: &mut Vec<u32>) {
        for identifier in find_identifiers(text) {
            for word in split_identifier(identifier) {
                let is_number = word.first().is_some_and(u8::is_ascii_digit);
                if word.len() == 1 && !is_number {
                    continue;
                }
                match self.find_id(word) {
                    Some(id) => ids.push(id),
                    None if is_number => {}
                    None => self.append_piece_ids(word, ids),
                }
            }
        }
    }

    /// Cuts an unknown word greedily into the longest known pieces; skips letters that begin none.
    fn append_piece_ids(&self, word: &[u8], ids: &mut Vec<u32>) {
        let mut rest = word;
        while let [_, after_letter @ ..] = rest {
            rest = match self.longest_piece(rest) {
                Some((id, after)) => {
                    ids.push(id);
                    after
                }
                None => after_letter,
            };
        }
    }

    /// Returns the id of the longest piece at the start of `word`, and the rest of the word.
    fn longest_piece<'w>(&self, word: &'w [u8]) -> Option<(u32, &'w [u8])> {
        let mut hashes = [0_u64; MAX_WORD_BYTES];
        let mut hash = 0;
        let ends = word.iter().take(self.longest);
        let mut length = 0;
        for (prefix, &byte) in hashes.iter_mut().zip(ends) {
            hash = extend_hash(hash, byte);
            *prefix = hash;
            length += 1;
        }
        for &hash in hashes.iter().take(length).rev() {
            let (prefix, after) = word.split_at_checked(length)?;
            // A piece of two letters counts only at the end of the word.
            if length < 2 || (length < MIN_PIECE_BYTES && !after.is_empty()) {
                return None;
            }
            if let Some(id) = self.find_hashed(hash, prefix) {
                return Some((id, after));
            }
            length -= 1;
        }
        None
    }

    pub(super) fn find_id(&self, word: &[u8]) -> Option<u32> {
        if word.len() > self.longest {
            return None;
        }
        self.find_hashed(hash_word(word), word)
    }

    fn find_hashed(&self, hash: u64, word: &[u8]) -> Option<u32> {
        self.ids.find(mix_hash(hash), |id| self.is_word(*id, word)).copied()
    }

    /// Returns whether sub-word `id` equals `word`, ignoring case.
    fn is_word(&self, id: u32, word: &[u8]) -> bool {
        self.words.get(id as usize).is_some_and(|known| known.eq_ignore_ascii_case(word))
    }

    /// Adds a word with the next id.
    fn push(&mut self, word: &'static [u8]) -> Result<(), EmbedError> {
        if word.is_empty() || !word.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
            return Err(EmbedError::Damaged("a sub-word is not made of lower-case letters"));
        }
        if self.find_id(word).is_some() {
            return Err(EmbedError::Damaged("a sub-word stands twice"));
        }
        let id = u32::try_from(self.words.len())
            .map_err(|_| EmbedError::Damaged("too many sub-words"))?;
        self.words.push(word);
        let words = &self.words;
        let hash_of =
            |id: &u32| words.get(*id as usize).map_or(0, |word| mix_hash(hash_word(word)));
        self.ids.insert_unique(mix_hash(hash_word(word)), id, hash_of);
        Ok(())
    }
}

fn hash_word(word: &[u8]) -> u64 {
    word.iter().fold(0, |hash, &byte| extend_hash(hash, byte))
}

/// Copies the upper bits of a hash, which are mixed best, to the lower bits, which the table uses.
fn mix_hash(hash: u64) -> u64 {
    hash ^ (hash >> 32)
}

/// Returns the hash of a word that is one byte longer, ignoring case: in letters and digits, bit 5
/// is only the case. Extending byte by byte gives the hashes of all prefixes in one pass.
fn extend_hash(hash: u64, byte: u8) -> u64 {
    /// Fractional digits of the golden ratio, as in Knuth's multiplicative hashing.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    (hash.rotate_left(5) ^ u64::from(byte | 0x20)).wrapping_mul(FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(vocabulary: &SubwordVocabulary, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        vocabulary.append_ids(text, &mut ids);
        ids
    }

    #[test]
    fn unknown_words_are_cut_into_the_longest_known_pieces() {
        let vocabulary = SubwordVocabulary::new("ab\nabc\nabcd\ncd\n7\nx\n").unwrap();
        assert_eq!(ids(&vocabulary, "abc ABCD"), [1, 2], "known words are whole");
        assert_eq!(ids(&vocabulary, "abcabcd"), [1, 2]);
        assert_eq!(ids(&vocabulary, "abzz"), [0; 0], "two letters count only at the end");
        assert_eq!(ids(&vocabulary, "zzab"), [0]);
        assert_eq!(ids(&vocabulary, "abccd"), [1, 3]);
        assert_eq!(ids(&vocabulary, "zabcz"), [1], "letters between pieces are skipped");
    }

    #[test]
    fn single_letters_and_unknown_numbers_give_nothing() {
        let vocabulary = SubwordVocabulary::new("x\n7\nabc\n").unwrap();
        assert_eq!(ids(&vocabulary, "x X_x 7 8 77 abc7"), [1, 2, 1]);
        assert_eq!(ids(&vocabulary, "¿…? 日本"), [0; 0]);
    }

    #[test]
    fn a_vocabulary_with_doubles_capitals_or_overlong_words_is_damaged() {
        for file in ["ab\nab\n", "Ab\n", "ab\n\ncd\n", "abcdefghijabcdefghijabcdefghijabc\n"] {
            assert!(
                matches!(SubwordVocabulary::new(file), Err(EmbedError::Damaged(_))),
                "{file:?}"
            );
        }
    }
}
