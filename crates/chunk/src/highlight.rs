//! Classifies the parts of code lines that are shown in colours: keywords, strings, comments and
//! others.
//!
//! A parsed language is classified by its syntax tree. Other languages are classified by comment
//! marks, quotation marks and the keywords of definitions. Time is linear in the text and at most
//! that of [`chunk_text`](crate::chunk_text). Grammar queries would distinguish more, but they are
//! not linear, and each grammar has its own names for what they find.

mod plain;
mod tree;

use std::ops::Range;

use codeinfo_lang::{Language, StructureReader, language::LanguageKind};

use crate::{lines::LineIndex, parser};

/// Class of a part of a line.
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
    /// Returns the letter of the class, for compact output.
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
            None => plain::paint_plain_text(language, text, &mut paint),
        }
    }
    range
        .map(|line| paint.build_line_marks(all.line_start(line), all.text(line..line + 1)))
        .collect()
}

/// Class of each byte in a range of lines.
struct ByteClasses {
    from: usize,
    classes: Vec<Option<HighlightClass>>,
}

impl ByteClasses {
    fn for_range(bytes: Range<usize>) -> Self {
        Self { from: bytes.start, classes: vec![None; bytes.len()] }
    }

    /// Returns true if a byte range overlaps these lines.
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

    /// Returns the marks of a line that starts at the byte offset `start`.
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
