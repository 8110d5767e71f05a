//! Splits text into identifiers, and identifiers into words.
//!
//! This is the only definition of a word, for the model, the lexical terms and the ranking. It
//! works on bytes; only [`split_words`], [`fold_name`] and [`grouped_numbers`] return new strings.

const MIN_STEM: usize = 3;

/// Common words of questions, in the singular; as terms, they and their other forms hardly count.
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "code",
    "could", "did", "do", "doe", "for", "from", "get", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "should", "show", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "use", "used", "using",
    "via", "was", "we", "what", "when", "where", "which", "while", "who", "why", "with", "would",
    "you",
];

/// Returns the identifiers `[A-Za-z][A-Za-z0-9_]*` and runs of digits in `text`, in order.
pub fn find_identifiers(text: &str) -> impl Iterator<Item = &[u8]> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (_, from_start) = split_while(rest, |byte| !byte.is_ascii_alphanumeric());
        let (identifier, after) = match from_start.first()? {
            b'0'..=b'9' => split_while(from_start, |byte| byte.is_ascii_digit()),
            _ => split_while(from_start, |byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        };
        rest = after;
        Some(identifier)
    })
}

/// First words of lines that import names of other files, in any language.
const IMPORTS: &[&str] = &[
    "extern", "from", "import", "include", "include_once", "load", "mod", "require",
    "require_once", "require_relative", "source", "use", "using",
];
const BEFORE_IMPORTS: &[&str] = &["crate", "export", "global", "pub", "static", "super"];

/// Returns whether a line of code imports names of other files.
pub fn is_import(line: &str) -> bool {
    let words = find_identifiers(line).filter_map(|word| str::from_utf8(word).ok());
    let first = words.take(4).find(|word| !BEFORE_IMPORTS.contains(word));
    first.is_some_and(|word| IMPORTS.contains(&word)) || line.contains("require(")
}

/// Splits an identifier at underscores, at changes of case and between letters and digits:
/// `HTTPServer2_main` into `HTTP`, `Server`, `2` and `main`.
pub fn split_identifier(identifier: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = identifier;
    std::iter::from_fn(move || {
        let (_, from_start) = split_while(rest, |byte| !byte.is_ascii_alphanumeric());
        let (part, after) = from_start.split_at(part_length(from_start)?);
        rest = after;
        Some(part)
    })
}

/// Returns the words of a text in lower case and singular. Skips words of one letter.
pub fn split_words(text: &str) -> impl Iterator<Item = String> {
    find_identifiers(text)
        .flat_map(split_identifier)
        .filter(|part| part.len() > 1)
        .map(|part| fold_name(strip_plural(part)))
}

/// Returns a name in lower case without underscores.
pub fn fold_name(name: &[u8]) -> String {
    name.iter().filter(|b| **b != b'_').map(|b| char::from(b.to_ascii_lowercase())).collect()
}

/// Removes the ending of a simple plural: of `items`, but not of `class`, `status` or `css`.
fn strip_plural(part: &[u8]) -> &[u8] {
    match part {
        [_, _, .., before, b's' | b'S']
            if !matches!(before.to_ascii_lowercase(), b's' | b'u' | b'i') =>
        {
            part.split_last().map_or(part, |(_, start)| start)
        }
        _ => part,
    }
}

/// Returns the start that forms of a word share: `pars` for `parse` and `parsing`. Cuts few
/// endings, to keep names apart; a wider stemmer (also `-er`, `-or`, `-ion`) does no better.
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

/// Removes the ending `end` if at least [`MIN_STEM`] letters remain.
fn strip_ending<'a>(word: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let (start, last) = word.split_at_checked(word.len().checked_sub(end.len())?)?;
    (start.len() >= MIN_STEM && last.eq_ignore_ascii_case(end)).then_some(start)
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Returns numbers with grouped digits, without their separators: `86400000` for `86_400_000`.
pub fn grouped_numbers(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '\'');
    let may_group = text.as_bytes().windows(2).any(|pair| match pair {
        [b'0', b'x' | b'X'] => true,
        [digit, b'_'] => digit.is_ascii_digit(),
        [digit, b'\''] => digit.is_ascii_hexdigit(),
        _ => false,
    });
    let tokens = if may_group { text } else { "" }.split(move |c| !is_part(c));
    tokens.filter(|token| token.starts_with(|c: char| c.is_ascii_digit())).filter_map(join_groups)
}

fn join_groups(number: &str) -> Option<String> {
    let trimmed = number.trim_end_matches(['_', '\'']);
    let groups: Vec<&str> = trimmed.split(['_', '\'']).collect();
    let is_group = |group: &&str| group.starts_with(|c: char| c.is_ascii_hexdigit());
    (groups.len() > 1 && groups.iter().all(is_group)).then(|| groups.concat())
}

/// Returns whether a character belongs to a script without spaces between words, or whose words
/// include particles: Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer, Tibetan.
pub fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{0E00}'..='\u{0FFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}'
        | '\u{1780}'..='\u{17FF}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{31FF}'
        | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FFDC}' | '\u{20000}'..='\u{3FFFF}')
}

fn part_length(bytes: &[u8]) -> Option<usize> {
    if bytes.first()?.is_ascii_digit() {
        return Some(split_while(bytes, |byte| byte.is_ascii_digit()).0.len());
    }
    let (upper, after) = split_while(bytes, |byte| byte.is_ascii_uppercase());
    let (lower, _) = split_while(after, |byte| byte.is_ascii_lowercase());
    Some(match (upper.len(), lower.len()) {
        (upper @ (0 | 1), lower) => upper + lower,
        (upper, 0) => upper,
        // The last capital starts the next word: `HTTPServer` is `HTTP` and `Server`.
        (upper, _) => upper - 1,
    })
}

/// Splits `bytes` after the longest start whose bytes all satisfy `keep`.
fn split_while(bytes: &[u8], keep: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| !keep(byte)).unwrap_or(bytes.len());
    bytes.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_up(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for identifier in find_identifiers(text) {
            for part in split_identifier(identifier) {
                words.push(String::from_utf8(part.to_vec()).unwrap());
            }
        }
        words
    }

    #[test]
    fn identifiers_begin_with_a_letter_or_are_digits() {
        let found: Vec<&[u8]> = find_identifiers("_foo9 += 12ab_c; naïve::X").collect();
        assert_eq!(found, [b"foo9".as_slice(), b"12", b"ab_c", b"na", b"ve", b"X"]);
    }

    #[test]
    fn plurals_lose_their_ending() {
        for (word, wanted) in [
            ("items", "item"),
            ("URLS", "URL"),
            ("bus", "bus"),
            ("class", "class"),
            ("status", "status"),
            ("axis", "axis"),
            ("css", "css"),
            ("ids", "ids"),
            ("s", "s"),
        ] {
            assert_eq!(strip_plural(word.as_bytes()), wanted.as_bytes());
        }
    }

    #[test]
    fn grouped_numbers_lose_their_separators() {
        for (text, wanted) in [
            ("T = 86_400_000;", vec!["86400000"]),
            ("f(1'000'000, 0xFF_FF, 0xdead'beef)", vec!["1000000", "0xFFFF", "0xdeadbeef"]),
            ("1_000.5 10_000u64 0b1111_0000", vec!["1000", "10000u64", "0b11110000"]),
            ("utf_8 x_1_000 '1','2' 12 1960's f(1_) 3_usize", vec![]),
        ] {
            assert_eq!(grouped_numbers(text).collect::<Vec<_>>(), wanted, "{text}");
        }
    }

    #[test]
    fn words_end_at_case_changes_underscores_and_digits() {
        assert_eq!(cut_up("HTTPServer2_main"), ["HTTP", "Server", "2", "main"]);
        assert_eq!(cut_up("getURL utf8ToUTF16"), ["get", "URL", "utf", "8", "To", "UTF", "16"]);
        assert_eq!(cut_up("__init__ aB A1b"), ["init", "a", "B", "A", "1", "b"]);
        assert_eq!(cut_up("ABCd _ __ "), ["AB", "Cd"]);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (stem, forms) in [
            ("pars", ["parse", "parses", "parsed", "parsing"]),
            ("quer", ["query", "queries", "queried", "querying"]),
            ("stop", ["stop", "stops", "stopped", "stopping"]),
            ("call", ["call", "calls", "called", "calling"]),
            ("cach", ["cache", "caches", "cached", "caching"]),
            ("PARS", ["PARSE", "PARSES", "PARSED", "PARSING"]),
        ] {
            for form in forms {
                assert_eq!(stem_word(form.as_bytes()), stem.as_bytes(), "{form}");
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
