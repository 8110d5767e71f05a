//! What the words of a text are where they stand: a definition, code, or a comment or string.
//!
//! A parsed text says so by its tree. Of others the marks of their language's comments and the usual quotes are
//! read, and the lines by whose words the layout says that something is defined.

use std::ops::Range;

use codeinfo_lang::{
    Kind, Language, Reader,
    comment::Comments,
    grammar::{Construct, Grammar},
};
use tree_sitter::{Node, Tree};

use super::{Definition, definitions, parser, symbol};

/// What a word is where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The name of something that is defined here.
    Definition,
    Code,
    /// In a comment or a string.
    Aside,
}

/// How many nodes around a name are looked at for the definition that it names.
const MAX_STEPS: usize = 8;
/// The name of a definition is on its first line or so many after.
const MAX_HEAD_LINES: usize = 3;
/// Longer strings between single quotes are none: in some languages the mark stands alone.
const MAX_QUOTED: usize = 200;

/// Says what the words at `words`, ascending ranges of bytes, are. Takes as long as cutting the text does.
pub fn places(language: Option<&Language>, text: &str, words: &[Range<usize>]) -> Vec<Place> {
    if let Some(Reader::Grammar(grammar)) = language.map(|language| language.reader)
        && let Some(tree) = parser::parse(grammar, text)
    {
        return words.iter().map(|word| parsed(grammar, &tree, text, word)).collect();
    }
    quick_places(language, text, words)
}

/// Does the same without a parser, less surely and in time in proportion to the text.
pub fn quick_places(language: Option<&Language>, text: &str, words: &[Range<usize>]) -> Vec<Place> {
    let asides = language.map_or_else(
        || asides(&Comments::ANY, Kind::Code, text),
        |language| asides(&language.comments, language.kind, text),
    );
    let is_parsed = language.is_some_and(|language| matches!(language.reader, Reader::Grammar(_)));
    let heads = if is_parsed { Vec::new() } else { definitions(language, text) };
    let mut places: Vec<Place> = words.iter().map(|word| place(&asides, word)).collect();
    let starts = starts(text);
    for head in heads {
        if let Some(at) = named(&head, text, &starts, words, &places)
            && let Some(place) = places.get_mut(at)
        {
            *place = Place::Definition;
        }
    }
    places
}

fn parsed(grammar: &Grammar, tree: &Tree, text: &str, word: &Range<usize>) -> Place {
    let Some(leaf) = tree.root_node().named_descendant_for_byte_range(word.start, word.end) else {
        return Place::Code;
    };
    if is_aside(leaf) {
        return Place::Aside;
    }
    let mut inner = leaf;
    for _ in 0..MAX_STEPS {
        let rule = parser::rule(grammar, inner);
        if let Some(rule) = rule.filter(|rule| rule.construct != Construct::Lead) {
            let name = symbol::defining(rule, inner, text, around(grammar, inner));
            let is_name = name.is_some_and(|name| {
                // A path may qualify the name: the last part of it is what is defined.
                name.end_byte() == word.end && name.start_byte() <= word.start
            });
            return if is_name { Place::Definition } else { Place::Code };
        }
        match inner.parent() {
            Some(parent) => inner = parent,
            None => break,
        }
    }
    Place::Code
}

/// Whether a node stands in no definition, and whether it stands in a function.
fn around(grammar: &Grammar, node: Node<'_>) -> (bool, bool) {
    let mut is_top = true;
    let mut outer = node;
    while let Some(parent) = outer.parent() {
        outer = parent;
        match parser::rule(grammar, outer).map(|rule| rule.construct) {
            Some(Construct::Definition) => return (false, true),
            Some(Construct::Container | Construct::Value) => is_top = false,
            _ => {}
        }
    }
    (is_top, false)
}

/// Whether a node is text that no parser looks into. Its kind says so in every grammar that there is.
fn is_aside(node: Node<'_>) -> bool {
    let kind = node.kind();
    ["comment", "string", "heredoc", "char_literal", "character_literal", "regex"]
        .iter()
        .any(|part| kind.contains(part))
        || kind == "text"
        || kind.ends_with("_text")
}

/// Where each line starts.
fn starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// Returns which of some words is the name of a definition.
fn named(
    head: &Definition,
    text: &str,
    starts: &[usize],
    words: &[Range<usize>],
    places: &[Place],
) -> Option<usize> {
    let first = usize::try_from(head.first).ok()?.checked_sub(1)?;
    let last = usize::try_from(head.last).ok()?.min(first + MAX_HEAD_LINES);
    let from = *starts.get(first)?;
    let to = starts.get(last).copied().unwrap_or(text.len());
    let next = words.partition_point(|word| word.start < from);
    let near = words.iter().enumerate().skip(next).take_while(|(_, word)| word.end <= to);
    let mut fits = near.filter(|(at, word)| {
        let is_code = places.get(*at) == Some(&Place::Code);
        let is_name = text.get((*word).clone()).is_some_and(|word| ends_with(&head.symbol, word));
        is_code && is_name
    });
    fits.next().map(|(at, _)| at)
}

/// Whether a qualified symbol ends with a name.
fn ends_with(symbol: &str, name: &str) -> bool {
    symbol
        .strip_suffix(name)
        .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn place(asides: &[Range<usize>], word: &Range<usize>) -> Place {
    let next = asides.partition_point(|aside| aside.end <= word.start);
    match asides.get(next) {
        Some(aside) if aside.start <= word.start => Place::Aside,
        _ => Place::Code,
    }
}

/// Returns the comments and strings of a text, in order. Strings of data are what it says, and count as code.
fn asides(comments: &Comments, kind: Kind, text: &str) -> Vec<Range<usize>> {
    let has_strings = matches!(kind, Kind::Code | Kind::Script);
    let bytes = text.as_bytes();
    let mut asides = Vec::new();
    let (mut at, mut before) = (0, b'\n');
    // Once a mark is not closed, no later one is.
    let mut unclosed: Vec<&str> = Vec::new();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let line = rest.find('\n').unwrap_or(rest.len());
        let block = comments
            .block
            .iter()
            .find(|(start, end)| rest.starts_with(start) && !unclosed.contains(end));
        let length = if let Some((start, end)) = block {
            let inner = rest.get(start.len()..).unwrap_or_default();
            let length = inner.find(end).map(|to| start.len() + to + end.len());
            if length.is_none() {
                unclosed.push(end);
            }
            length
        } else if comments.line.iter().any(|mark| rest.starts_with(mark))
            && !before.is_ascii_alphanumeric()
        {
            Some(line)
        } else if has_strings && rest.starts_with('"') {
            quoted(bytes.get(at..at + line).unwrap_or_default(), b'"')
        } else if has_strings && rest.starts_with('\'') && !before.is_ascii_alphanumeric() {
            let most = line.min(MAX_QUOTED);
            quoted(bytes.get(at..at + most).unwrap_or_default(), b'\'')
        } else {
            None
        };
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let passed = length.unwrap_or(first).max(first);
        if length.is_some() {
            asides.push(at..at + passed);
        }
        before = bytes.get(at + passed - 1).copied().unwrap_or(b'\n');
        at += passed;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    asides
}

/// Returns the length of a string of one line in which `\` escapes, if it ends.
fn quoted(line: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while let Some(byte) = line.get(at) {
        match byte {
            b'\\' => at += 1,
            byte if *byte == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}
