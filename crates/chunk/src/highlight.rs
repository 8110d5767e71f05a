//! Classifies the parts of code lines for colours: keywords, strings, comments and others.
//!
//! A parsed language is classified by its syntax tree, others by comment marks, quotation marks and
//! keywords of definitions, in linear time and at most that of [`chunk_text`](crate::chunk_text).
//! Grammar queries would distinguish more, but are not linear.

mod tree;

use std::ops::Range;

use codeinfo_lang::{
    Language, StructureReader,
    language::LanguageKind,
    layout::{CONTROL, LayoutRules},
};

use crate::{
    lines::{LineIndex, quoted_length},
    parser,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HighlightClass {
    Attribute,
    Comment,
    Constant,
    Function,
    Keyword,
    Number,
    String,
    Type,
}

impl HighlightClass {
    pub fn letter(self) -> char {
        match self {
            Self::Attribute => 'a',
            Self::Comment => 'c',
            Self::Constant => 'o',
            Self::Function => 'f',
            Self::Keyword => 'k',
            Self::Number => 'n',
            Self::String => 's',
            Self::Type => 't',
        }
    }
}

/// A classified part of a line, in UTF-16 code units from the start of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HighlightMark {
    pub start: u32,
    /// End, exclusive.
    pub end: u32,
    pub class: HighlightClass,
}

/// Returns the marks of each line in `lines`, which counts from 0, in order and without overlap.
/// Lines past the end have no list. Only `\n` ends a line.
pub fn highlight_lines(
    language: Option<&Language>,
    text: &str,
    lines: Range<usize>,
) -> Vec<Vec<HighlightMark>> {
    let all = LineIndex::new(text);
    let range = lines.start.min(all.count())..lines.end.min(all.count());
    let mut paint = ByteClasses::for_range(all.line_start(range.start)..all.line_start(range.end));
    if let Some(language) = language.filter(|language| language.kind != LanguageKind::Prose) {
        let tree = match language.reader {
            StructureReader::Grammar(grammar) => parser::parse_tree(grammar, text),
            _ => None,
        };
        match tree {
            Some(tree) => tree::paint_tree(&tree, text, &mut paint),
            None => paint_plain_text(language, text, &mut paint),
        }
    }
    range
        .map(|line| paint.build_line_marks(all.line_start(line), all.text(line..line + 1)))
        .collect()
}

struct ByteClasses {
    from: usize,
    classes: Vec<Option<HighlightClass>>,
}

impl ByteClasses {
    fn for_range(bytes: Range<usize>) -> Self {
        Self { from: bytes.start, classes: vec![None; bytes.len()] }
    }

    fn overlaps_range(&self, bytes: &Range<usize>) -> bool {
        self.from < bytes.end && bytes.start < self.from + self.classes.len()
    }

    /// Sets the class of the bytes that are in these lines and replaces their old class.
    fn set_class(&mut self, bytes: Range<usize>, class: Option<HighlightClass>) {
        let place = |at: usize| at.saturating_sub(self.from).min(self.classes.len());
        let start = place(bytes.start);
        let end = place(bytes.end);
        if let Some(part) = self.classes.get_mut(start..end) {
            part.fill(class);
        }
    }

    fn build_line_marks(&self, start: usize, line: &str) -> Vec<HighlightMark> {
        let mut marks: Vec<HighlightMark> = Vec::new();
        let mut units = 0;
        for (at, c) in line.char_indices() {
            let class = self.classes.get(start + at - self.from).copied().flatten();
            let from = units;
            let to = units + if c.len_utf16() == 1 { 1 } else { 2 };
            units = to;
            let Some(class) = class else { continue };
            match marks.last_mut().filter(|mark| mark.end == from && mark.class == class) {
                Some(mark) => mark.end = to,
                None => marks.push(HighlightMark { start: from, end: to, class }),
            }
        }
        marks
    }
}

fn paint_plain_text(language: &Language, text: &str, paint: &mut ByteClasses) {
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
        // The rest of a line without a closing quote is left out, so that no line is read repeatedly.
        return match quoted_length(rest.as_bytes()) {
            Some(bytes) => (bytes, Some(HighlightClass::String)),
            None => (rest.find('\n').unwrap_or(rest.len()), None),
        };
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
