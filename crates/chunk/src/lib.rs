//! Cuts a file into chunks that follow the structure of the code.
//!
//! Chunks are runs of whole lines, in order and without overlap. Every line that is not blank is in
//! exactly one chunk, except that a line too long for a chunk is cut into several. This crate does
//! no I/O.
//!
//! Some languages are read by a parser. The others are read by the layout of their lines, which is
//! twenty to a hundred times as fast and adds nothing to the binary: grammars for Kotlin, Swift,
//! Scala and Haskell are 4 MB each. Small neighbours share a chunk, because more chunks cost more
//! and find no more (`benches/README.md`).

mod branches;
mod defined;
mod embedded;
mod facts;
mod highlight;
mod layout;
mod lines;
mod macros;
mod outline;
mod pack;
mod parser;
mod section;
mod statement;
mod strip_bodies;
mod symbol;
mod unit;
mod window;
mod word_context;

use codeinfo_lang::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::ConstructKind,
    language::HeadingStyle,
    layout::{self as layouts, LayoutRules},
};

use serde::{Deserialize, Serialize};

pub use crate::highlight::{HighlightClass, HighlightMark, highlight_lines};
pub use crate::parser::parse_tree;
pub use crate::word_context::{
    CommentScanner, SyntaxContext, classify_words, classify_words_quickly,
};

use crate::{
    embedded::{PagePiece, PagePieceContent, read_notebook_code, split_page},
    lines::LineIndex,
    unit::{TextStructure, TextUnit, UnitRole},
};

/// Relation of a chunk to the definition that it is named after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChunkKind {
    /// Contains the first line of the definition.
    Head,
    Part,
    /// Named after no definition, or after one that it only adds to.
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
    /// Enclosing definition, qualified from the outermost, such as `Store::open`; or a heading.
    pub symbol: Option<String>,
    pub kind: ChunkKind,
    /// Qualified symbols of all definitions whose first line is in the chunk, in order.
    pub defines: Vec<String>,
    /// Base types of the definitions in this chunk or of the types around them: unqualified names
    /// from the heads, then their bases in the same file. Only parsed languages have any.
    pub bases: Vec<String>,
    /// First line of the definition, if above this chunk: a signature, or the first row of a table.
    pub signature: Option<String>,
    /// Text of the lines, without the final line end.
    pub text: &'a str,
}

/// A file cut into chunks.
#[derive(Debug, PartialEq, Eq)]
pub struct ChunkedFile<'a> {
    pub chunks: Vec<Chunk<'a>>,
    /// True if the parser took too long, so that the text was cut by its layout.
    pub parser_gave_up: bool,
}

/// Cuts `text` into chunks. Takes milliseconds per hundred kilobytes, up to 5 s for hostile input.
pub fn chunk_text<'a>(language: Option<&Language>, text: &'a str) -> ChunkedFile<'a> {
    let lines = LineIndex::new(text);
    let Some(outline) = language.and_then(|language| outline_text(language, text, &lines)) else {
        let packed = window::merge_small_pieces(&lines, window::pack_plain_text(&lines));
        return ChunkedFile {
            chunks: facts::build_chunks(&lines, packed, &[]),
            parser_gave_up: false,
        };
    };
    let packed = window::merge_small_pieces(&lines, pack::pack_units(&lines, &outline));
    let chunks = facts::build_chunks(&lines, packed, &outline.structure.definitions);
    ChunkedFile { chunks, parser_gave_up: outline.parser_gave_up }
}

/// A definition, or a section under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// First line, counted from 1, without comments and attributes.
    pub first: u32,
    /// Last line, inclusive.
    pub last: u32,
    /// Number of definitions around it.
    pub depth: usize,
    /// Name, qualified by the names of the definitions around it.
    pub symbol: String,
}

/// Returns the definitions or headings of a text, in order. Takes as long as [`chunk_text`].
pub fn list_definitions(language: Option<&Language>, text: &str) -> Vec<Definition> {
    let lines = LineIndex::new(text);
    let Some(language) = language else { return Vec::new() };
    let known = match language.reader {
        StructureReader::Headings(style) => section::list_sections(style, &lines),
        _ => outline_text(language, text, &lines)
            .map(|outline| outline.structure.definitions)
            .unwrap_or_default(),
    };
    nest_definitions(&lines, &known)
}

/// Computes the depth and last line of each definition. Local variables are left out; they are only
/// known for functions that are cut.
fn nest_definitions(lines: &LineIndex<'_>, known: &[unit::DefinitionSpan]) -> Vec<Definition> {
    let number = |line: usize| u32::try_from(line + 1).unwrap_or(u32::MAX);
    let end = lines.count().saturating_sub(1);
    let mut open: Vec<(usize, ConstructKind)> = Vec::new();
    let definition = |span: &unit::DefinitionSpan| {
        while open.pop_if(|(last, _)| *last < span.line).is_some() {}
        let is_inner = || open.iter().any(|(_, around)| *around == ConstructKind::Definition);
        if matches!(span.construct, ConstructKind::Label | ConstructKind::Value) && is_inner() {
            return None;
        }
        let depth = open.len();
        let last = span.last.min(end).max(span.line);
        open.push((last, span.construct));
        Some(Definition {
            first: number(span.line),
            last: number(last),
            depth,
            symbol: span.symbol.to_string(),
        })
    };
    known.iter().filter_map(definition).collect()
}

/// Structure of a text, with how it was read.
struct TextOutline {
    structure: TextStructure,
    /// First lines of parts in another language, in ascending order.
    borders: Vec<usize>,
    /// Separator between the names of a qualified symbol.
    separator: &'static str,
    parser_gave_up: bool,
}

/// Reads a text's structure by a parser, headings, statements or layout; `None` for plain text.
fn outline_text(language: &Language, text: &str, lines: &LineIndex<'_>) -> Option<TextOutline> {
    let mut parser_gave_up = false;
    let comments = language.comments.or_any();
    let any = || layout::read_structure(&layouts::ANY, comments, lines);
    let (structure, separator) = match language.reader {
        StructureReader::Grammar(grammar) => {
            let parsed = outline::parse_structure(grammar, lines, text);
            parser_gave_up = parsed.is_none();
            (parsed.unwrap_or_else(any), grammar.separator)
        }
        StructureReader::Layout(layout) => {
            (layout::read_structure(layout, &language.comments, lines), layout.separator)
        }
        StructureReader::AnyLayout => (any(), layouts::ANY.separator),
        StructureReader::Headings(style) => {
            (section::build_units(style, lines).into(), style.separator())
        }
        StructureReader::Sql(words) => {
            (statement::split_statements(words, lines).into(), words.separator)
        }
        StructureReader::Notebook => {
            let (language, code) = read_notebook_code(lines);
            return outline_text(language, &code, &LineIndex::new(&code));
        }
        StructureReader::Page { headings, layout } => {
            return Some(outline_page(lines, |part| {
                read_markup(headings, layout, &language.comments, part)
            }));
        }
        StructureReader::Lines => return None,
    };
    Some(TextOutline { structure, borders: Vec::new(), separator, parser_gave_up })
}

/// Reads a page: its markup by headings or layout, its scripts and styles by their languages.
fn outline_page(
    lines: &LineIndex<'_>,
    markup: impl Fn(&LineIndex<'_>) -> TextStructure,
) -> TextOutline {
    let mut whole = TextOutline {
        structure: TextStructure::default(),
        borders: Vec::new(),
        separator: ".",
        parser_gave_up: false,
    };
    for PagePiece { lines: range, content } in split_page(lines) {
        let first = range.start;
        match content {
            PagePieceContent::OpeningTag => whole.borders.push(first),
            PagePieceContent::ClosingTag => whole.borders.push(range.end),
            PagePieceContent::Markup | PagePieceContent::Inner(_) => {}
        }
        let part =
            |part| TextStructure::from(vec![TextUnit { first: 0, last: 0, part, symbol: None }]);
        let text = lines.text(range);
        let own = LineIndex::new(text);
        let mut structure = match content {
            PagePieceContent::OpeningTag => part(UnitRole::Opening),
            PagePieceContent::ClosingTag => part(UnitRole::Closing),
            PagePieceContent::Markup => markup(&own),
            PagePieceContent::Inner(inner) => {
                let outline = outline_text(inner, text, &own);
                whole.parser_gave_up |=
                    outline.as_ref().is_some_and(|outline| outline.parser_gave_up);
                outline.map(|outline| outline.structure).unwrap_or_default()
            }
        };
        structure.shift_lines(first);
        whole.structure.units.append(&mut structure.units);
        whole.structure.definitions.append(&mut structure.definitions);
    }
    whole
}

fn read_markup(
    headings: Option<HeadingStyle>,
    layout: &LayoutRules,
    comments: &CommentSyntax,
    lines: &LineIndex<'_>,
) -> TextStructure {
    let units = headings.map(|style| section::build_units(style, lines)).unwrap_or_default();
    if units.iter().any(|unit| unit.symbol.is_some()) {
        return units.into();
    }
    layout::read_structure(layout, comments, lines)
}
