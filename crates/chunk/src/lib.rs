//! Cuts a file into chunks that follow the code's own structure.
//!
//! Chunks are runs of whole lines, in order, and never overlap; every line that is not blank is in
//! exactly one. A line too long for a chunk is cut into several. Nothing here does I/O.
//!
//! Languages are read by a parser where there was one from the start, and else by the layout of
//! their lines, which is twenty to a hundred times as fast and costs nothing to ship: grammars for
//! Kotlin, Swift, Scala and Haskell are 4 MB each. Small neighbours share a chunk: cut finer, more
//! chunks cost more and find no more (`benches/README.md`).

mod layout;
mod lines;
mod merge;
mod outline;
mod pack;
mod page;
mod parser;
mod section;
mod size;
mod statement;
mod strip_bodies;
mod symbol;
mod window;

use codeinfo_lang::{
    Language, Reader,
    comment::{self, Comments},
    language::Headings,
    layout::{self as layouts, Layout},
};

use crate::{
    lines::Lines,
    outline::{Part, Unit},
    page::Content,
    window::Packed,
};

/// Longer first lines are cut.
const MAX_SIGNATURE_BYTES: usize = 200;
/// Comments and attributes may stand before a signature on this many lines.
const MAX_LEAD_LINES: usize = 40;

/// One chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition, outermost first, such as `Store::open`; or a heading.
    pub symbol: Option<String>,
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
        return Chunked { chunks: numbered(&lines, packed), gave_up: false };
    };
    let gave_up = outline.gave_up;
    let packed = merge::merged(&lines, pack::pack(&lines, outline));
    Chunked { chunks: numbered(&lines, packed), gave_up }
}

/// The structure of a text.
struct Outline {
    units: Vec<Unit>,
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
    let any = || layout::units(&layouts::ANY, &Comments::ANY, lines);
    let (units, separator) = match language.reader {
        Reader::Grammar(grammar) => {
            let units = outline::outline(grammar, lines, text);
            gave_up = units.is_none();
            (units.unwrap_or_else(any), grammar.separator)
        }
        Reader::Layout(layout) => {
            (layout::units(layout, &language.comments, lines), layout.separator)
        }
        Reader::AnyLayout => (any(), layouts::ANY.separator),
        Reader::Headings(style) => (section::units(style, lines), style.separator()),
        Reader::Sql(words) => (statement::units(words, lines), words.separator),
        Reader::Page { headings, layout } => {
            return Some(paged(lines, |part| markup(headings, layout, &language.comments, part)));
        }
        Reader::Lines => return None,
    };
    Some(Outline { units, borders: Vec::new(), separator, gave_up })
}

/// Reads a page: its markup by headings or layout, its scripts and styles by their languages.
fn paged(lines: &Lines<'_>, markup: impl Fn(&Lines<'_>) -> Vec<Unit>) -> Outline {
    let (units, borders) = (Vec::new(), Vec::new());
    let mut whole = Outline { units, borders, separator: ".", gave_up: false };
    for page::Piece { lines: range, content } in page::pieces(lines) {
        let first = range.start;
        match content {
            Content::OpeningTag => whole.borders.push(first),
            Content::ClosingTag => whole.borders.push(range.end),
            Content::Markup | Content::Inner(_) => {}
        }
        let part = |part| vec![Unit { first: 0, last: 0, part, symbol: None }];
        let text = lines.text(range);
        let own = Lines::of(text);
        let units = match content {
            Content::OpeningTag => part(Part::Opening),
            Content::ClosingTag => part(Part::Closing),
            Content::Markup => markup(&own),
            Content::Inner(inner) => {
                let outline = outlined(inner, text, &own);
                whole.gave_up |= outline.as_ref().is_some_and(|outline| outline.gave_up);
                outline.map(|outline| outline.units).unwrap_or_default()
            }
        };
        let moved = units.into_iter().map(|unit| Unit {
            first: unit.first + first,
            last: unit.last + first,
            ..unit
        });
        whole.units.extend(moved);
    }
    whole
}

fn markup(
    headings: Option<Headings>,
    layout: &Layout,
    comments: &Comments,
    lines: &Lines<'_>,
) -> Vec<Unit> {
    let units = headings.map(|style| section::units(style, lines)).unwrap_or_default();
    if units.iter().any(|unit| unit.symbol.is_some()) {
        return units;
    }
    layout::units(layout, comments, lines)
}

fn numbered<'a>(lines: &Lines<'_>, packed: Vec<Packed<'a>>) -> Vec<Chunk<'a>> {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    packed
        .into_iter()
        .map(|packed| Chunk {
            start_line: number(packed.lines.start + 1),
            end_line: number(packed.lines.end),
            signature: packed.head.and_then(|head| signature(lines, head, packed.lines.start)),
            symbol: packed.symbol.map(|symbol| symbol.to_string()),
            text: packed.text,
        })
        .collect()
}

/// Returns the first line of a definition that is neither comment nor attribute, and those that its
/// parameters go on over.
fn signature(lines: &Lines<'_>, head: usize, before: usize) -> Option<String> {
    let mut rest = head..before.min(head + MAX_LEAD_LINES);
    let first = rest.find(|line| {
        let text = lines.text(*line..line + 1).trim();
        let is_lead = text.is_empty() || comment::is_lead(text);
        !is_lead && text.contains(char::is_alphanumeric)
    })?;
    let mut signature = lines.text(first..first + 1).trim().to_owned();
    let is_open = |text: &str| text.matches('(').count() != text.matches(')').count();
    while signature.len() < MAX_SIGNATURE_BYTES && is_open(&signature) {
        let Some(line) = rest.next() else { break };
        signature.extend([" ", lines.text(line..line + 1).trim()]);
    }
    signature.truncate(signature.floor_char_boundary(MAX_SIGNATURE_BYTES));
    Some(signature)
}
