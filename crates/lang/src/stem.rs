//! Stems of English words.
//!
//! A light stemmer that cuts a few endings. It works on bytes and allocates nothing, and it does
//! not join names in code that only begin alike. A wider stemmer (also `-er`, `-or`, `-ion`) does
//! no better here.

use crate::words::strip_plural;

/// Minimum letters of a stem.
const MIN_STEM: usize = 3;

/// Returns the start that the forms of a word share: `pars` for `parse`, `parses`, `parsed` and
/// `parsing`, `quer` for `query` and `queries`.
pub fn stem_word(word: &[u8]) -> &[u8] {
    let singular = strip_plural(word);
    let verb = [b"ing".as_slice(), b"ed"].iter().find_map(|end| strip_ending(singular, end));
    match verb.filter(|start| start.iter().any(|byte| is_vowel(*byte))) {
        Some([start @ .., before, last])
            if before == last && !is_vowel(*last) && !matches!(last, b'l' | b's' | b'z') =>
        {
            // `stopping` is a form of `stop`, and `calling` of `call`.
            verb.and_then(|verb| verb.get(..=start.len())).unwrap_or(singular)
        }
        Some(start) => strip_final_vowel(start),
        None => strip_final_vowel(singular),
    }
}

/// Removes a final vowel that other forms of the word lack.
fn strip_final_vowel(word: &[u8]) -> &[u8] {
    let start = strip_ending(word, b"e").unwrap_or(word);
    strip_ending(start, b"i").or_else(|| strip_ending(start, b"y")).unwrap_or(start)
}

/// Removes the ending `end`. Returns `None` if the word lacks it or less than [`MIN_STEM`] letters
/// would remain.
fn strip_ending<'a>(word: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let (start, last) = word.split_at_checked(word.len().checked_sub(end.len())?)?;
    (start.len() >= MIN_STEM && last.eq_ignore_ascii_case(end)).then_some(start)
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (stem_of_all, forms) in [
            ("pars", ["parse", "parses", "parsed", "parsing"]),
            ("quer", ["query", "queries", "queried", "querying"]),
            ("stop", ["stop", "stops", "stopped", "stopping"]),
            ("call", ["call", "calls", "called", "calling"]),
            ("cach", ["cache", "caches", "cached", "caching"]),
            ("PARS", ["PARSE", "PARSES", "PARSED", "PARSING"]),
        ] {
            for form in forms {
                assert_eq!(stem_word(form.as_bytes()), stem_of_all.as_bytes(), "{form}");
            }
        }
    }

    #[test]
    fn short_words_and_words_that_only_end_alike_stay() {
        for word in ["string", "thing", "use", "red", "key", "class", "parser", "session", "id"] {
            assert_eq!(stem_word(word.as_bytes()), word.as_bytes());
        }
    }
}
