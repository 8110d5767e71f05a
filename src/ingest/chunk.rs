//! Cuts a file into chunks that follow the code's own structure.
//!
//! Chunks are runs of whole lines, in order, and never overlap; every line that is not blank is in
//! exactly one. A line too long for a chunk is cut into several. Nothing here does I/O.

mod grammar;
mod lines;
mod outline;
mod pack;
mod symbol;
mod window;

use grammar::Grammar;
use lines::Lines;
use window::Packed;

/// One chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition, outermost first, such as `Store::open`; or a heading.
    pub symbol: Option<String>,
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
    let Some(grammar) = language.and_then(Grammar::of) else {
        return Chunked { chunks: numbered(window::windows(&lines)), gave_up: false };
    };
    let Some(tree) = outline::parse(&grammar, text) else {
        return Chunked { chunks: numbered(window::windows(&lines)), gave_up: true };
    };
    let units = outline::units(&grammar, &lines, text, &tree);
    let packed = pack::pack(&lines, units, grammar.separator);
    Chunked { chunks: numbered(packed), gave_up: false }
}

fn numbered(packed: Vec<Packed<'_>>) -> Vec<Chunk<'_>> {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    packed
        .into_iter()
        .map(|packed| Chunk {
            start_line: number(packed.lines.start + 1),
            end_line: number(packed.lines.end),
            symbol: packed.symbol.map(|symbol| symbol.to_string()),
            text: packed.text,
        })
        .collect()
}
