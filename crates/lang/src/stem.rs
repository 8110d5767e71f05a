//! What the forms of an English word have in common.
//!
//! This is a light stemmer, which cuts a few endings: it works on bytes and allocates nothing, and
//! names in code are not run together that only begin alike. A wider one (also `-er`, `-or`, `-ion`)
//! does no better here.

use crate::words::strip_plural;

/// The fewest letters of a stem.
const LEAST: usize = 3;

/// Returns the start that the forms of a word share: `pars` of `parse`, `parses`, `parsed` and
/// `parsing`, `quer` of `query` and `queries`.
pub fn stem_word(word: &[u8]) -> &[u8] {
    let word = strip_plural(word);
    let verb = [b"ing".as_slice(), b"ed"].iter().find_map(|end| strip_ending(word, end));
    match verb.filter(|start| start.iter().any(|byte| is_vowel(*byte))) {
        Some([start @ .., before, last])
            if before == last && !is_vowel(*last) && !matches!(last, b'l' | b's' | b'z') =>
        {
            // `stopping` is of `stop`; `calling` is of `call`.
            verb.and_then(|verb| verb.get(..=start.len())).unwrap_or(word)
        }
        Some(start) => strip_final_vowel(start),
        None => strip_final_vowel(word),
    }
}

/// Returns a word without the vowel at its end that other forms lack.
fn strip_final_vowel(word: &[u8]) -> &[u8] {
    let word = strip_ending(word, b"e").unwrap_or(word);
    strip_ending(word, b"i").or_else(|| strip_ending(word, b"y")).unwrap_or(word)
}

/// Returns a word without its `end`, where enough of it is left.
fn strip_ending<'a>(word: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let (start, last) = word.split_at_checked(word.len().checked_sub(end.len())?)?;
    (LEAST <= start.len() && last.eq_ignore_ascii_case(end)).then_some(start)
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
