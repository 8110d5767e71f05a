//! Marks the parts of lines of code that people see in colours: keywords, strings, comments and the like.
//!
//! A parsed language is marked by its syntax tree, any other by the marks of its comments, by quotation marks and
//! by the words that its definitions start with. Takes time in proportion to the text, and as long as
//! [`chunks`](crate::chunks) at most. Queries of grammars would tell more apart; they are not linear, and each
//! grammar names what it finds by words of its own.

mod plain;
mod tree;

use std::ops::Range;

use codeinfo_lang::{Language, Reader, language};

use crate::{lines::Lines, parser};

/// What a part of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Attribute,
    Comment,
    Constant,
    Function,
    Keyword,
    Number,
    String,
    Type,
}

impl Class {
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
pub struct Mark {
    pub start: u32,
    /// The first that is no longer part of it.
    pub end: u32,
    pub class: Class,
}

/// Marks the `lines` of a text, counted from 0: a list for each that the text has, in order and apart. Only `\n`
/// ends a line.
pub fn highlight(language: Option<&Language>, text: &str, lines: Range<usize>) -> Vec<Vec<Mark>> {
    let all = Lines::of(text);
    let lines = lines.start.min(all.count())..lines.end.min(all.count());
    let mut paint = Paint::over(all.start(lines.start)..all.start(lines.end));
    if let Some(language) = language.filter(|one| one.kind != language::Kind::Prose) {
        let tree = match language.reader {
            Reader::Grammar(grammar) => parser::parse(grammar, text),
            _ => None,
        };
        match tree {
            Some(tree) => tree::paint(&tree, text, &mut paint),
            None => plain::paint(language, text, &mut paint),
        }
    }
    lines.map(|line| paint.marks(all.start(line), all.text(line..line + 1))).collect()
}

/// The class of each byte of some lines.
struct Paint {
    from: usize,
    classes: Vec<Option<Class>>,
}

impl Paint {
    fn over(bytes: Range<usize>) -> Self {
        Self { from: bytes.start, classes: vec![None; bytes.len()] }
    }

    /// Whether a part of the text reaches into the lines.
    fn sees(&self, bytes: &Range<usize>) -> bool {
        self.from < bytes.end && bytes.start < self.from + self.classes.len()
    }

    /// Gives the bytes of the text that are in the lines a class, in place of the one that they have.
    fn fill(&mut self, bytes: Range<usize>, class: Option<Class>) {
        let place = |at: usize| at.saturating_sub(self.from).min(self.classes.len());
        let (start, end) = (place(bytes.start), place(bytes.end));
        if let Some(part) = self.classes.get_mut(start..end) {
            part.fill(class);
        }
    }

    /// Returns the marks of a line that starts at this byte of the text.
    fn marks(&self, start: usize, line: &str) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        let mut units = 0;
        for (at, c) in line.char_indices() {
            let class = self.classes.get(start + at - self.from).copied().flatten();
            let (from, to) = (units, units + if c.len_utf16() == 1 { 1 } else { 2 });
            units = to;
            let Some(class) = class else { continue };
            match marks.last_mut().filter(|mark| mark.end == from && mark.class == class) {
                Some(mark) => mark.end = to,
                None => marks.push(Mark { start: from, end: to, class }),
            }
        }
        marks
    }
}
