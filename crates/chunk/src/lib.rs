//! Cuts a file into chunks that follow the code's own structure.
//!
//! Chunks are runs of whole lines, in order, and never overlap; every line that is not blank is in
//! exactly one. A line too long for a chunk is cut into several. Nothing here does I/O.
//!
//! Languages are read by a parser where there was one from the start, and else by the layout of
//! their lines, which is twenty to a hundred times as fast and costs nothing to ship: grammars for
//! Kotlin, Swift, Scala and Haskell are 4 MB each. Small neighbours share a chunk: cut finer, more
//! chunks cost more and find no more (`benches/README.md`).

mod branches;
mod defined;
mod facts;
mod heritage;
mod highlight;
mod layout;
mod lines;
mod macros;
mod merge;
mod notebook;
mod outline;
mod pack;
mod page;
mod parser;
mod places;
mod section;
mod size;
mod statement;
mod strip_bodies;
mod symbol;
mod unit;
mod window;

use codeinfo_lang::{
    Language, Reader,
    comment::Comments,
    grammar::Construct,
    language::Headings,
    layout::{self as layouts, Layout},
};

use serde::{Deserialize, Serialize};

pub use crate::highlight::{Class, Mark, highlight};
pub use crate::places::{Marks, Place, places, quick_places};

use crate::{
    lines::Lines,
    page::Content,
    unit::{Part, Structure, Unit},
};

/// What a chunk is to the definition that it is named after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It holds the first line of it.
    Head,
    /// It is a later part of it.
    Part,
    /// It is named after none, or after one to which it adds.
    #[default]
    Glue,
}

/// One chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition, outermost first, such as `Store::open`; or a heading.
    pub symbol: Option<String>,
    pub kind: Kind,
    /// The qualified symbols of all definitions whose first line is in the chunk, in order.
    pub defines: Vec<String>,
    /// What the types extend or implement that these definitions are, or are members of: their bases as
    /// their heads name them, without what qualifies them, and the bases of these in the same file. Only
    /// languages that are parsed have any.
    pub bases: Vec<String>,
    /// The line that the definition starts with, where it starts above this chunk: the signature of
    /// a function that is cut, the first row of a table.
    pub signature: Option<String>,
    /// The lines themselves, without a final line end.
    pub text: &'a str,
}

/// A file cut into chunks.
#[derive(Debug, PartialEq, Eq)]
pub struct Chunked<'a> {
    pub chunks: Vec<Chunk<'a>>,
    /// Whether the language is parsed, but parsing this text took too long, so that it was cut by
    /// lines.
    pub gave_up: bool,
}

/// Cuts `text`, written in `language`. Takes milliseconds per hundred kilobytes; hostile input may
/// take up to five seconds.
pub fn chunks<'a>(language: Option<&Language>, text: &'a str) -> Chunked<'a> {
    let lines = Lines::of(text);
    let Some(outline) = language.and_then(|language| outlined(language, text, &lines)) else {
        let packed = merge::merged(&lines, window::windows(&lines));
        return Chunked { chunks: facts::chunks(&lines, packed, &[]), gave_up: false };
    };
    let packed = merge::merged(&lines, pack::pack(&lines, &outline));
    let chunks = facts::chunks(&lines, packed, &outline.structure.definitions);
    Chunked { chunks, gave_up: outline.gave_up }
}

/// A definition, or a section under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// First line, counted from 1, without comments and attributes.
    pub first: u32,
    /// Last line, inclusive.
    pub last: u32,
    /// How many of the definitions around it there are.
    pub depth: usize,
    /// Its name, led by those of what it is in.
    pub symbol: String,
}

/// Returns what a text defines, in order of lines: the definitions that chunks name, or headings. Takes as long as
/// [`chunks`].
pub fn definitions(language: Option<&Language>, text: &str) -> Vec<Definition> {
    let lines = Lines::of(text);
    let Some(language) = language else { return Vec::new() };
    let known = match language.reader {
        Reader::Headings(style) => section::sections(style, &lines),
        _ => outlined(language, text, &lines)
            .map(|outline| outline.structure.definitions)
            .unwrap_or_default(),
    };
    ranged(&lines, &known)
}

/// Says how deep each definition lies, by where those before it end. Variables of functions are left out: those of
/// functions that are cut are known.
fn ranged(lines: &Lines<'_>, known: &[unit::Definition]) -> Vec<Definition> {
    let number = |line: usize| u32::try_from(line + 1).unwrap_or(u32::MAX);
    let end = lines.count().saturating_sub(1);
    let mut open: Vec<(usize, Construct)> = Vec::new();
    let definition = |one: &unit::Definition| {
        while open.pop_if(|(last, _)| *last < one.line).is_some() {}
        let is_inner = || open.iter().any(|(_, around)| *around == Construct::Definition);
        if matches!(one.construct, Construct::Label | Construct::Value) && is_inner() {
            return None;
        }
        let (depth, last) = (open.len(), one.last.min(end).max(one.line));
        open.push((last, one.construct));
        let (first, last) = (number(one.line), number(last));
        Some(Definition { first, last, depth, symbol: one.symbol.to_string() })
    };
    known.iter().filter_map(definition).collect()
}

/// The structure of a text and what is known of it.
struct Outline {
    structure: Structure,
    /// The lines before which another language begins, in order.
    borders: Vec<usize>,
    /// Stands between the names of a qualified symbol.
    separator: &'static str,
    gave_up: bool,
}

/// Reads the structure of a text by the means that its language asks for: a parser, headings,
/// statements, or the layout of its lines. Plain text has none.
fn outlined(language: &Language, text: &str, lines: &Lines<'_>) -> Option<Outline> {
    let mut gave_up = false;
    let any = || layout::structure(&layouts::ANY, &Comments::ANY, lines);
    let (structure, separator) = match language.reader {
        Reader::Grammar(grammar) => {
            let parsed = outline::outline(grammar, lines, text);
            gave_up = parsed.is_none();
            (parsed.unwrap_or_else(any), grammar.separator)
        }
        Reader::Layout(layout) => {
            (layout::structure(layout, &language.comments, lines), layout.separator)
        }
        Reader::AnyLayout => (any(), layouts::ANY.separator),
        Reader::Headings(style) => (section::units(style, lines).into(), style.separator()),
        Reader::Sql(words) => (statement::units(words, lines).into(), words.separator),
        Reader::Notebook => {
            let (language, code) = notebook::read_code(lines);
            return outlined(language, &code, &Lines::of(&code));
        }
        Reader::Page { headings, layout } => {
            return Some(paged(lines, |part| markup(headings, layout, &language.comments, part)));
        }
        Reader::Lines => return None,
    };
    Some(Outline { structure, borders: Vec::new(), separator, gave_up })
}

/// Reads a page: its markup by headings or layout, its scripts and styles by their languages.
fn paged(lines: &Lines<'_>, markup: impl Fn(&Lines<'_>) -> Structure) -> Outline {
    let (structure, borders) = (Structure::default(), Vec::new());
    let mut whole = Outline { structure, borders, separator: ".", gave_up: false };
    for page::Piece { lines: range, content } in page::pieces(lines) {
        let first = range.start;
        match content {
            Content::OpeningTag => whole.borders.push(first),
            Content::ClosingTag => whole.borders.push(range.end),
            Content::Markup | Content::Inner(_) => {}
        }
        let part = |part| Structure::from(vec![Unit { first: 0, last: 0, part, symbol: None }]);
        let text = lines.text(range);
        let own = Lines::of(text);
        let mut structure = match content {
            Content::OpeningTag => part(Part::Opening),
            Content::ClosingTag => part(Part::Closing),
            Content::Markup => markup(&own),
            Content::Inner(inner) => {
                let outline = outlined(inner, text, &own);
                whole.gave_up |= outline.as_ref().is_some_and(|outline| outline.gave_up);
                outline.map(|outline| outline.structure).unwrap_or_default()
            }
        };
        structure.move_down(first);
        whole.structure.units.append(&mut structure.units);
        whole.structure.definitions.append(&mut structure.definitions);
    }
    whole
}

fn markup(
    headings: Option<Headings>,
    layout: &Layout,
    comments: &Comments,
    lines: &Lines<'_>,
) -> Structure {
    let units = headings.map(|style| section::units(style, lines)).unwrap_or_default();
    if units.iter().any(|unit| unit.symbol.is_some()) {
        return units.into();
    }
    layout::structure(layout, comments, lines)
}
