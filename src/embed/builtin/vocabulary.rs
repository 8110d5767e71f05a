//! The sub-words of the model, and how a text becomes a list of their ids.

use codeinfo_lang::words::{identifiers, parts};

use super::super::EmbedError;

/// The longest sub-word that a vocabulary may hold, in bytes; it bounds a buffer on the stack.
const LONGEST: usize = 32;
/// The shortest sub-word that an unknown word is cut into, unless it ends the word.
const SHORTEST_PIECE: usize = 3;
/// Slots for each word: a half-empty table keeps probes short.
const SLOTS_PER_WORD: usize = 2;

/// A set of lower-case sub-words. The id of each is its line in the file, counted from 0.
pub(super) struct Vocabulary {
    words: Vec<&'static [u8]>,
    /// An open-addressing hash table with linear probing; its length is a power of two.
    slots: Vec<Option<Slot>>,
    /// Length of the longest word.
    longest: usize,
}

/// One word in the hash table. Its hash is kept so that a probe rarely needs to compare words.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    id: u32,
}

impl Vocabulary {
    /// Reads a file of one sub-word a line.
    pub(super) fn new(file: &'static str) -> Result<Self, EmbedError> {
        let words: Vec<&[u8]> = file.lines().map(str::as_bytes).collect();
        let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
        if longest > LONGEST {
            return Err(EmbedError::Damaged("a sub-word is too long"));
        }
        let size = (words.len() * SLOTS_PER_WORD).next_power_of_two();
        let mut vocabulary = Self { words, slots: vec![None; size], longest };
        for id in 0..vocabulary.words.len() {
            vocabulary.insert(id)?;
        }
        Ok(vocabulary)
    }

    /// Returns the number of sub-words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Appends the ids of the sub-words of `text`, in order, to `ids`.
    ///
    /// Words of one letter are left out, single digits are kept. A word that is not in the
    /// vocabulary is cut into known pieces; an unknown number gives nothing.
    pub(super) fn ids(&self, text: &str, ids: &mut Vec<u32>) {
        for identifier in identifiers(text) {
            for word in parts(identifier) {
                let is_number = word.first().is_some_and(u8::is_ascii_digit);
                if word.len() == 1 && !is_number {
                    continue;
                }
                match self.id(word) {
                    Some(id) => ids.push(id),
                    None if is_number => {}
                    None => self.pieces(word, ids),
                }
            }
        }
    }

    /// Cuts an unknown word greedily into the longest known pieces, left to right; a letter at
    /// which no piece begins is skipped.
    fn pieces(&self, word: &[u8], ids: &mut Vec<u32>) {
        let mut rest = word;
        while let [_, behind_letter @ ..] = rest {
            rest = match self.longest_piece(rest) {
                Some((id, after)) => {
                    ids.push(id);
                    after
                }
                None => behind_letter,
            };
        }
    }

    /// Returns the id of the longest piece that `word` begins with, and what is after it.
    fn longest_piece<'w>(&self, word: &'w [u8]) -> Option<(u32, &'w [u8])> {
        let mut hashes = [0_u64; LONGEST];
        let mut hash = 0;
        let ends = word.iter().take(self.longest);
        let mut length = 0;
        for (prefix, &byte) in hashes.iter_mut().zip(ends) {
            hash = extend(hash, byte);
            *prefix = hash;
            length += 1;
        }
        for &hash in hashes.iter().take(length).rev() {
            let (prefix, after) = word.split_at_checked(length)?;
            // A piece of two letters counts only where it ends the word.
            if length < 2 || (length < SHORTEST_PIECE && !after.is_empty()) {
                return None;
            }
            if let Some(id) = self.find(hash, prefix) {
                return Some((id, after));
            }
            length -= 1;
        }
        None
    }

    fn id(&self, word: &[u8]) -> Option<u32> {
        if self.longest < word.len() {
            return None;
        }
        self.find(word.iter().fold(0, |hash, &byte| extend(hash, byte)), word)
    }

    fn find(&self, hash: u64, word: &[u8]) -> Option<u32> {
        let mut place = self.place(hash);
        loop {
            let slot = (*self.slots.get(place)?)?;
            if slot.hash == tag(hash) && self.is(slot.id, word) {
                return Some(slot.id);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns whether sub-word `id` is `word` in lower case.
    fn is(&self, id: u32, word: &[u8]) -> bool {
        self.words.get(id as usize).is_some_and(|known| known.eq_ignore_ascii_case(word))
    }

    fn insert(&mut self, id: usize) -> Result<(), EmbedError> {
        let word = self.words.get(id).copied().unwrap_or_default();
        if word.is_empty() || !word.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
            return Err(EmbedError::Damaged("a sub-word is not made of lower-case letters"));
        }
        if self.id(word).is_some() {
            return Err(EmbedError::Damaged("a sub-word stands twice"));
        }
        let id = u32::try_from(id).map_err(|_| EmbedError::Damaged("too many sub-words"))?;
        let hash = word.iter().fold(0, |hash, &byte| extend(hash, byte));
        let mut place = self.place(hash);
        while let Some(slot) = self.slots.get_mut(place) {
            if slot.is_none() {
                *slot = Some(Slot { hash: tag(hash), id });
                break;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
        Ok(())
    }

    /// Returns the slot at which a search for `hash` begins: its upper bits, which are mixed best.
    fn place(&self, hash: u64) -> usize {
        usize::try_from(hash >> 40).unwrap_or(0) & (self.slots.len() - 1)
    }
}

/// Returns the hash of a word one byte longer than the word of `hash`, ignoring case. Words hold
/// letters and digits only, so that bit 5 carries nothing else. Growing byte by byte gives the
/// hashes of all prefixes in one pass.
fn extend(hash: u64, byte: u8) -> u64 {
    /// Fractional digits of the golden ratio: Knuth's multiplicative hashing.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    (hash.rotate_left(5) ^ u64::from(byte | 0x20)).wrapping_mul(FACTOR)
}

/// Returns the bits of a hash that a slot keeps.
#[expect(clippy::cast_possible_truncation, reason = "only some of the bits are kept, on purpose")]
fn tag(hash: u64) -> u32 {
    (hash >> 8) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(vocabulary: &Vocabulary, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        vocabulary.ids(text, &mut ids);
        ids
    }

    #[test]
    fn unknown_words_are_cut_into_the_longest_known_pieces() {
        let vocabulary = Vocabulary::new("ab\nabc\nabcd\ncd\n7\nx\n").unwrap();
        assert_eq!(ids(&vocabulary, "abc ABCD"), [1, 2], "known words are whole");
        assert_eq!(ids(&vocabulary, "abcabcd"), [1, 2]);
        assert_eq!(ids(&vocabulary, "abzz"), [0; 0], "two letters count only at the end");
        assert_eq!(ids(&vocabulary, "zzab"), [0]);
        assert_eq!(ids(&vocabulary, "abccd"), [1, 3]);
        assert_eq!(ids(&vocabulary, "zabcz"), [1], "letters between pieces are skipped");
    }

    #[test]
    fn single_letters_and_unknown_numbers_give_nothing() {
        let vocabulary = Vocabulary::new("x\n7\nabc\n").unwrap();
        assert_eq!(ids(&vocabulary, "x X_x 7 8 77 abc7"), [1, 2, 1]);
        assert_eq!(ids(&vocabulary, "¿…? 日本"), [0; 0]);
    }

    #[test]
    fn a_vocabulary_with_doubles_capitals_or_overlong_words_is_damaged() {
        for file in ["ab\nab\n", "Ab\n", "ab\n\ncd\n", "abcdefghijabcdefghijabcdefghijabc\n"] {
            assert!(matches!(Vocabulary::new(file), Err(EmbedError::Damaged(_))), "{file:?}");
        }
    }
}
