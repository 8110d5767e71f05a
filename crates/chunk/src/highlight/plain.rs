//! Classifies text without a parser: comments, strings, numbers and the keywords of definitions.

use codeinfo_lang::{
    Language, StructureReader,
    language::LanguageKind,
    layout::{CONTROL, LayoutRules},
};

use super::{ByteClasses, HighlightClass};

/// Sets the classes of the text in `paint`.
pub(super) fn paint_plain_text(language: &Language, text: &str, paint: &mut ByteClasses) {
    let layout = match language.reader {
        StructureReader::Layout(layout) | StructureReader::Page { layout, .. } => Some(layout),
        _ => None,
    };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let (bytes, class) = read_token(language, layout, before, rest);
        if class.is_some() {
            paint.set_class(at..at + bytes, class);
        }
        at += bytes;
    }
}

/// Returns the length in bytes of the token at the start of `rest`, at least one character, and its
/// class. `before` is the character before it.
fn read_token(
    language: &Language,
    layout: Option<&LayoutRules>,
    before: Option<char>,
    rest: &str,
) -> (usize, Option<HighlightClass>) {
    for (start, end) in language.comments.block {
        if let Some(inside) = rest.strip_prefix(start) {
            let bytes = inside.find(end).map_or(rest.len(), |at| start.len() + at + end.len());
            return (bytes, Some(HighlightClass::Comment));
        }
    }
    // Marks inside a word or an address start no comment.
    let is_apart = before.is_none_or(|c| !c.is_alphanumeric() && !":$&\\".contains(c));
    if is_apart && language.comments.line.iter().any(|mark| rest.starts_with(mark)) {
        return (rest.find('\n').unwrap_or(rest.len()), Some(HighlightClass::Comment));
    }
    let first = rest.chars().next().unwrap_or_default();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_apostrophe = || first == '\'' && before.is_some_and(char::is_alphanumeric);
    if matches!(first, '"' | '\'') && language.kind != LanguageKind::Page && !is_apostrophe() {
        return read_quoted(rest, first);
    }
    if !is_word(first) {
        return (first.len_utf8(), None);
    }
    if first.is_ascii_digit() {
        let bytes = rest.find(|c| !is_word(c) && c != '.').unwrap_or(rest.len());
        return (bytes, Some(HighlightClass::Number));
    }
    let bytes = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let word = rest.get(..bytes).unwrap_or_default();
    let is_keyword = layout.is_some_and(|layout| {
        CONTROL.contains(&word)
            || layout.modifiers.contains(&word)
            || layout.words.iter().any(|keyword| keyword.text == word)
    });
    (bytes, is_keyword.then_some(HighlightClass::Keyword))
}

/// Reads a string in quotes. Without a closing quote on the line, returns the rest of the line
/// without a class, so that no line is read repeatedly.
fn read_quoted(rest: &str, quote: char) -> (usize, Option<HighlightClass>) {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return (at, None),
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return (at + c.len_utf8(), Some(HighlightClass::String)),
            _ => {}
        }
    }
    (rest.len(), None)
}
