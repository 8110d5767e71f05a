//! A word to be counted, by the rules of `rg --word-regexp --fixed-strings`.

use std::{iter, ops::Range};

use memchr::memmem::Finder;

use super::EvidenceError;

/// Longer names are refused.
const MAX_BYTES: usize = 500;

/// A name that is looked for where it is no part of a longer word.
#[derive(Debug, Clone)]
pub(super) struct Word {
    text: String,
    finder: Finder<'static>,
}

impl Word {
    /// Takes a name as it may be written, without white space around it.
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
        match fault {
            Some(fault) => Err(EvidenceError::Name(fault)),
            None => Ok(Self {
                finder: Finder::new(text.as_bytes()).into_owned(),
                text: text.to_owned(),
            }),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a text has the name, maybe as a part of a longer word.
    pub(super) fn is_part_of(&self, text: &str) -> bool {
        self.finder.find(text.as_bytes()).is_some()
    }

    /// Returns where it stands in a text, from the first on, none of which overlap.
    pub(super) fn places<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut from = 0;
        iter::from_fn(move || {
            loop {
                let found = self.finder.find(text.as_bytes().get(from..)?)?;
                let word = from + found..from + found + self.text.len();
                let before = text.get(..word.start).and_then(|text| text.chars().next_back());
                let after = text.get(word.end..).and_then(|text| text.chars().next());
                if !before.is_some_and(is_part) && !after.is_some_and(is_part) {
                    from = word.end;
                    return Some(word);
                }
                from = word.start + text.get(word.start..).map_or(1, first_length);
            }
        })
    }
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
        Word::new(name).unwrap().places(text).count()
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
            ("日本", "日本 日本語 、日本。", 2),
            ("->", "a->b -> c", 1),
        ] {
            assert_eq!(count(name, text), wanted, "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", " \t", "a\nb", "a\0b", &"a".repeat(501)] {
            assert!(matches!(Word::new(name), Err(EvidenceError::Name(_))), "{name:?}");
        }
        assert_eq!(Word::new(" a b ").unwrap().as_str(), "a b");
    }
}
