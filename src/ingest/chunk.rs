//! Cuts a file into chunks that follow the code's own structure.
//!
//! Chunks are runs of whole lines, in order, and never overlap; every line that is not blank is in
//! exactly one. A line too long for a chunk is cut into several. Nothing here does I/O.
//!
//! Languages are read by a parser where there was one from the start, and else by the layout of
//! their lines, which is twenty to a hundred times as fast and costs nothing to ship: grammars for
//! Kotlin, Swift, Scala and Haskell are 4 MB each. Small neighbours share a chunk: cut finer, more
//! chunks cost more and find no more (`benches/README.md`).

mod grammar;
mod hollow;
mod layout;
mod lines;
mod merge;
mod outline;
mod pack;
mod page;
mod section;
mod statement;
mod symbol;
mod window;

use grammar::Grammar;
use lines::Lines;
use outline::{Part, Unit};
use page::Language;
use window::Packed;

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
pub fn chunks<'a>(language: Option<&str>, text: &'a str) -> Chunked<'a> {
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
fn outlined(language: &str, text: &str, lines: &Lines<'_>) -> Option<Outline> {
    if let Some(grammar) = Grammar::of(language) {
        let separator = grammar.separator;
        let units = outline::outline(&grammar, language, lines, text);
        let gave_up = units.is_none();
        let units = units.unwrap_or_else(|| layout::units(layout::any(), lines));
        return Some(Outline { units, borders: Vec::new(), separator, gave_up });
    }
    if page::is_page(language) {
        return Some(paged(language, lines));
    }
    let (units, separator) = if let Some(style) = section::Style::of(language) {
        (section::units(style, lines), style.separator())
    } else if language == "sql" {
        (statement::units(lines), statement::SEPARATOR)
    } else if matches!(language, "text" | "diff") {
        return None;
    } else {
        let layout = layout::of(language).unwrap_or(layout::any());
        (layout::units(layout, lines), layout.separator)
    };
    Some(Outline { units, borders: Vec::new(), separator, gave_up: false })
}

/// Reads a page: its markup by headings or layout, its scripts and styles by their languages.
fn paged(language: &str, lines: &Lines<'_>) -> Outline {
    let (units, borders) = (Vec::new(), Vec::new());
    let mut whole = Outline { units, borders, separator: ".", gave_up: false };
    for page::Piece { lines: range, language: inner } in page::pieces(lines) {
        let first = range.start;
        match inner {
            Language::OpeningTag => whole.borders.push(first),
            Language::ClosingTag => whole.borders.push(range.end),
            Language::Markup | Language::Inner(_) => {}
        }
        let part = |part| vec![Unit { first: 0, last: 0, part, symbol: None }];
        let text = lines.text(range);
        let own = Lines::of(text);
        let units = match inner {
            Language::OpeningTag => part(Part::Opening),
            Language::ClosingTag => part(Part::Closing),
            Language::Markup => markup(language, &own),
            Language::Inner(inner) => {
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

fn markup(language: &str, lines: &Lines<'_>) -> Vec<Unit> {
    let units = match section::Style::of(language) {
        Some(style) => section::units(style, lines),
        None => Vec::new(),
    };
    if units.iter().any(|unit| unit.symbol.is_some()) {
        return units;
    }
    layout::units(layout::of(language).unwrap_or(layout::any()), lines)
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
    let marks = ["//", "/*", "*", "#", "--", "@", "\"\"\"", "{-", "<!--", "[["];
    let mut rest = head..before.min(head + MAX_LEAD_LINES);
    let first = rest.find(|line| {
        let text = lines.text(*line..line + 1).trim();
        let is_lead = text.is_empty() || marks.iter().any(|mark| text.starts_with(mark));
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
