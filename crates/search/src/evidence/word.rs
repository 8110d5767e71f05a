//! Matches a word by the rules of `rg --word-regexp --fixed-strings`.

use std::{iter, ops::Range};

use codeinfo_core::list_encodings;
use codeinfo_lang::words::is_unspaced;
use memchr::memmem::Finder;

use super::EvidenceError;

/// Maximum bytes of a name.
const MAX_BYTES: usize = 500;

/// Matches a name that is not part of a longer word. In scripts without spaces it may be part of
/// any text. Accents may be encoded in either form.
#[derive(Debug, Clone)]
pub(super) struct WordMatcher {
    text: String,
    finders: Vec<Finder<'static>>,
}

impl WordMatcher {
    /// Creates a matcher for a name, without white space around it. Fails for names that no line
    /// can contain.
    pub(super) fn new(name: &str) -> Result<Self, EvidenceError> {
        let text = name.trim();
        let fault = match text {
            "" => Some("is blank"),
            text if text.len() > MAX_BYTES => {
                Some("is too long; give one name, of 500 bytes at most")
            }
            text if text.contains(char::is_control) => {
                Some("holds a line end, tab or other control; give one name")
            }
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(EvidenceError::Name(fault));
        }
        let encodings = list_encodings(text).into_iter();
        let finders = encodings.map(|text| Finder::new(&text).into_owned()).collect();
        Ok(Self { text: text.to_owned(), finders })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the name has accents, which texts may encode in another form.
    pub(super) fn has_encodings(&self) -> bool {
        self.finders.len() > 1
    }

    /// Returns true if a text contains the name, also as part of a longer word.
    pub(super) fn is_part_of(&self, text: &str) -> bool {
        self.finders.iter().any(|finder| finder.find(text.as_bytes()).is_some())
    }

    /// Returns the occurrences in a text, ascending and without overlap.
    pub(super) fn find_places<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut all: Vec<_> =
            self.finders.iter().map(|finder| find_words(finder, text).peekable()).collect();
        iter::from_fn(move || {
            let starts = all.iter_mut().map(|places| places.peek().map(|place| place.start));
            let first = starts.enumerate().filter_map(|(at, start)| Some((start?, at))).min();
            all.get_mut(first?.1)?.next()
        })
    }
}

/// Returns the occurrences of a finder's needle as a word.
fn find_words<'a>(
    finder: &'a Finder<'static>,
    text: &'a str,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut from = 0;
    iter::from_fn(move || {
        loop {
            let found = from + finder.find(text.as_bytes().get(from..)?)?;
            let word = found..found + finder.needle().len();
            if is_whole(text, &word) {
                from = word.end;
                return Some(word);
            }
            from = word.start + text.get(word.start..).map_or(1, first_length);
        }
    })
}

/// Returns true if a range is not part of a longer word.
fn is_whole(text: &str, word: &Range<usize>) -> bool {
    let (before, rest) = text.split_at_checked(word.start).unwrap_or_default();
    let (inner, after) = rest.split_at_checked(word.len()).unwrap_or_default();
    let joins = |outer: Option<char>, inner: Option<char>| {
        let is_unspaced = |c: Option<char>| c.is_some_and(is_unspaced);
        outer.is_some_and(is_part) && !is_unspaced(outer) && !is_unspaced(inner)
    };
    !joins(before.chars().next_back(), inner.chars().next())
        && !joins(after.chars().next(), inner.chars().next_back())
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

fn is_part(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str, text: &str) -> usize {
        WordMatcher::new(name).unwrap().find_places(text).count()
    }

    #[test]
    fn a_name_counts_where_it_is_no_part_of_a_longer_word() {
        for (name, text, wanted) in [
            ("foo", "foo foo_ foobar _foo foo2 (foo) foo.foo", 4),
            ("foo", "Foo FOO naïfoo foo\u{301} foo\u{200d} föfoo foo²", 1),
            ("$x", "$x a$x $x2 $$x", 2),
            ("Foo::bar", "Foo::bar Foo::bars Foo::bar::baz aFoo::bar", 2),
            ("a.a", "xa.a.a", 1),
            ("aa", "aaa aa", 1),
            ("größe", "größe größer Größe", 1),
            ("日本", "日本 日本語 、日本。", 3),
            ("购物车", "// 计算购物车总价", 1),
            ("カート", "ショッピングカートの合計", 1),
            ("ตะกร้า", "คำนวณตะกร้าสินค้า", 1),
            ("장바구니", "장바구니를 비운다", 1),
            ("sumCart", "调用sumCart函数 sumCarts", 1),
            ("z\u{e4}hler", "zähler za\u{308}hler zählers", 2),
            ("za\u{308}hler", "zähler za\u{308}hler za\u{308}hlers", 2),
            ("->", "a->b -> c", 1),
        ] {
            assert_eq!(count(name, text), wanted, "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", " \t", "a\nb", "a\0b", &"a".repeat(501)] {
            assert!(matches!(WordMatcher::new(name), Err(EvidenceError::Name(_))), "{name:?}");
        }
        assert_eq!(WordMatcher::new(" a b ").unwrap().as_str(), "a b");
    }
}
