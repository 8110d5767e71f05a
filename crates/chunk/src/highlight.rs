//! Marks the parts of lines of code that people see in colours: keywords, strings, comments and the like.
//!
//! A parsed language is marked by its syntax tree, any other by the marks of its comments, by quotation marks and
//! by the words that its definitions start with. Takes time in proportion to the text, and as long as
//! [`chunks`](crate::chunks) at most. Queries of grammars would tell more apart; they are not linear, and each
//! grammar names what it finds by words of its own.

mod plain;
mod tree;

use std::ops::Range;

use codeinfo_lang::{Language, StructureReader, language};

use crate::{lines::LineIndex, parser};

/// What a part of a line is.
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
    /// Returns one letter for it.
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

/// A part of a line, in UTF-16 code units from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HighlightMark {
    pub start: u32,
    /// The first that is no longer part of it.
    pub end: u32,
    pub class: HighlightClass,
}

/// Marks the `lines` of a text, counted from 0: a list for each that the text has, in order and apart. Only `\n`
/// ends a line.
pub fn highlight_lines(
    language: Option<&Language>,
    text: &str,
    lines: Range<usize>,
) -> Vec<Vec<HighlightMark>> {
    let all = LineIndex::new(text);
    let lines = lines.start.min(all.count())..lines.end.min(all.count());
    let mut paint = ByteClasses::for_range(all.line_start(lines.start)..all.line_start(lines.end));
    if let Some(language) = language.filter(|one| one.kind != language::LanguageKind::Prose) {
        let tree = match language.reader {
            StructureReader::Grammar(grammar) => parser::parse_tree(grammar, text),
            _ => None,
        };
        match tree {
            Some(tree) => tree::paint_tree(&tree, text, &mut paint),
            None => plain::paint_plain_text(language, text, &mut paint),
        }
    }
    lines
        .map(|line| paint.build_line_marks(all.line_start(line), all.text(line..line + 1)))
        .collect()
}

/// The class of each byte of some lines.
struct ByteClasses {
    from: usize,
    classes: Vec<Option<HighlightClass>>,
}

impl ByteClasses {
    fn for_range(bytes: Range<usize>) -> Self {
        Self { from: bytes.start, classes: vec![None; bytes.len()] }
    }

    /// Whether a part of the text reaches into the lines.
    fn overlaps_range(&self, bytes: &Range<usize>) -> bool {
        self.from < bytes.end && bytes.start < self.from + self.classes.len()
    }

    /// Gives the bytes of the text that are in the lines a class, in place of the one that they have.
    fn set_class(&mut self, bytes: Range<usize>, class: Option<HighlightClass>) {
        let place = |at: usize| at.saturating_sub(self.from).min(self.classes.len());
        let (start, end) = (place(bytes.start), place(bytes.end));
        if let Some(part) = self.classes.get_mut(start..end) {
            part.fill(class);
        }
    }

    /// Returns the marks of a line that starts at this byte of the text.
    fn build_line_marks(&self, start: usize, line: &str) -> Vec<HighlightMark> {
        let mut marks: Vec<HighlightMark> = Vec::new();
        let mut units = 0;
        for (at, c) in line.char_indices() {
            let class = self.classes.get(start + at - self.from).copied().flatten();
            let (from, to) = (units, units + if c.len_utf16() == 1 { 1 } else { 2 });
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
