//! Builds chunks from packed lines and adds line numbers and the definitions in them.

use std::collections::HashSet;

use codeinfo_lang::comment;

use super::{
    Chunk, ChunkKind, heritage::MAX_BASES, lines::LineIndex, unit::DefinitionSpan,
    window::PackedLines,
};

/// Maximum bytes of a signature; longer ones are cut.
const MAX_SIGNATURE_BYTES: usize = 200;
/// Maximum lines from the head of a definition that are searched for its signature.
const MAX_LEAD_LINES: usize = 40;
/// Maximum number of names in [`Chunk::defines`].
const MAX_DEFINED_NAMES: usize = 64;
/// Maximum total bytes of the names in [`Chunk::defines`].
const MAX_DEFINED_BYTES: usize = 2000;

/// Builds the chunks of a file from its packed lines and ordered definitions.
pub(super) fn build_chunks<'a>(
    lines: &LineIndex<'a>,
    packed: Vec<PackedLines<'a>>,
    definitions: &[DefinitionSpan],
) -> Vec<Chunk<'a>> {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let mut rest = definitions;
    let mut started: HashSet<&str> = HashSet::new();
    let chunk = |packed: PackedLines<'a>| {
        // If a line is cut into pieces, the first piece has its definitions.
        let inside = rest.partition_point(|definition| definition.line < packed.lines.end);
        let (own, after) = rest.split_at(inside);
        rest = after;
        let symbol = packed.symbol.as_deref();
        let kind = match symbol {
            Some(symbol) if own.iter().any(|definition| definition.symbol.as_ref() == symbol) => {
                ChunkKind::Head
            }
            Some(symbol) if started.contains(symbol) => ChunkKind::Part,
            _ => ChunkKind::Glue,
        };
        started.extend(own.iter().map(|definition| definition.symbol.as_ref()));
        Chunk {
            start_line: number(packed.lines.start + 1),
            end_line: number(packed.lines.end),
            signature: packed.head.and_then(|head| find_signature(lines, head, packed.lines.start)),
            symbol: symbol.map(str::to_owned),
            kind,
            defines: list_defined_names(own, symbol),
            bases: list_bases(own),
            text: packed.text,
        }
    };
    packed.into_iter().map(chunk).collect()
}

/// Returns the defined names without duplicates. The chunk's own symbol is always included if it is
/// defined.
fn list_defined_names(definitions: &[DefinitionSpan], own: Option<&str>) -> Vec<String> {
    let mut room = MAX_DEFINED_BYTES;
    let mut seen: HashSet<&str> = HashSet::new();
    let mut names: Vec<String> = Vec::new();
    for DefinitionSpan { symbol, .. } in definitions {
        let fits = names.len() < MAX_DEFINED_NAMES && symbol.len() <= room || own == Some(symbol);
        if fits && seen.insert(symbol) {
            room = room.saturating_sub(symbol.len());
            names.push(symbol.to_string());
        }
    }
    names
}

/// Returns the bases of the types that definitions are in, without duplicates.
fn list_bases(definitions: &[DefinitionSpan]) -> Vec<String> {
    let mut bases: Vec<String> = Vec::new();
    for base in definitions.iter().flat_map(|definition| definition.bases.iter()) {
        if bases.len() < MAX_BASES && !bases.contains(base) {
            bases.push(base.clone());
        }
    }
    bases
}

/// Returns the first line of a definition that is neither comment nor attribute, with the lines
/// over which its parameters continue.
fn find_signature(lines: &LineIndex<'_>, head: usize, before: usize) -> Option<String> {
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
