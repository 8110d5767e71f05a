//! The words that definitions start with.

use std::{collections::HashSet, sync::LazyLock};

use crate::languages;

static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| languages::all().flat_map(|one| one.definitions.words).copied().collect());

static EXTENDING: LazyLock<HashSet<&str>> =
    LazyLock::new(|| languages::all().flat_map(|one| one.definitions.extending).copied().collect());

/// Whether a word stands before a name where that is defined, in one language or another.
pub fn is_defining(word: &str) -> bool {
    WORDS.contains(word)
}

/// Whether a word stands before the name of something defined elsewhere, to which it adds, in one
/// language or another.
pub fn is_extending(word: &str) -> bool {
    EXTENDING.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_definitions_are_those_of_all_languages() {
        let mut words: Vec<&str> = WORDS.iter().copied().collect();
        words.sort_unstable();
        assert_eq!(
            words.join(" "),
            "actor class const data def defguard define defmacro defmodule defp defprotocol enum fn \
             fun func function interface macro mod module namespace newtype object protocol record \
             struct trait type typealias union val"
        );
        let mut extending: Vec<&str> = EXTENDING.iter().copied().collect();
        extending.sort_unstable();
        assert_eq!(extending, ["defimpl", "extension", "impl", "instance"]);
        assert!(is_defining("struct") && is_extending("impl") && !is_defining("impl"));
    }

    #[test]
    fn what_elaborates_defines() {
        for language in languages::all() {
            let definitions = language.definitions;
            assert!(definitions.elaborating.iter().all(|word| definitions.words.contains(word)));
        }
    }
}
