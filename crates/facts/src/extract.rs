//! Reads the facts of a file from its syntax tree.

mod builder;
mod c;
mod cpp;
mod csharp;
mod go;
mod java;
mod manifest;
mod python;
mod rust;
mod script;
mod syntax;
mod typed;

use codeinfo_lang::{Language, StructureReader, grammar::ParserId};

use crate::SourceFacts;
use builder::{FactBuilder, SyntaxRules};

/// Name under which a script exports its default value.
pub const DEFAULT_EXPORT: &str = "default";
/// Name to which a script binds what it assigns to `module.exports`.
pub const MODULE_EXPORTS: &str = "module.exports";
/// Maximum pieces of a text that are parsed one by one; the last one has the rest.
const MAX_PIECES: usize = 5_000;

/// Reads the facts of a text in Python, JavaScript, TypeScript, Go, Java, Rust, C, C++ or C#, or of
/// the manifest of a package.
///
/// Returns `None` for other languages, and if parsing takes too long. Statements that the parser
/// cannot read are skipped. At most 200,000 facts of a kind, 200 bytes of a name and 300 levels of
/// nesting are read.
pub fn extract_facts(language: &Language, text: &str) -> Option<SourceFacts> {
    let StructureReader::Grammar(grammar) = language.reader else {
        return manifest::extract_package_name(text);
    };
    let syntax = find_syntax(grammar.parser)?;
    let tree = codeinfo_chunk::parse_tree(grammar, text)?;
    let mut builder = FactBuilder::new(syntax, text);
    if !tree.root_node().is_error() {
        builder.visit_children(tree.root_node());
        return Some(builder.into_facts());
    }
    // One statement that the parser cannot read must not cost the others.
    for (first_row, piece) in split_statements(text) {
        builder.begin_piece(piece, first_row);
        if let Some(tree) = codeinfo_chunk::parse_tree(grammar, piece) {
            builder.visit_children(tree.root_node());
        }
    }
    Some(builder.into_facts())
}

/// Returns true if [`extract_facts`] reads a language.
pub fn reads_language(language: &Language) -> bool {
    let StructureReader::Grammar(grammar) = language.reader else { return false };
    find_syntax(grammar.parser).is_some()
}

fn find_syntax(parser: ParserId) -> Option<&'static SyntaxRules> {
    match parser {
        ParserId::Python => Some(&python::SYNTAX),
        ParserId::Javascript | ParserId::Typescript | ParserId::Tsx => Some(&script::SYNTAX),
        ParserId::C => Some(&c::SYNTAX),
        ParserId::Cpp => Some(&cpp::SYNTAX),
        ParserId::Csharp => Some(&csharp::SYNTAX),
        ParserId::Go => Some(&go::SYNTAX),
        ParserId::Java => Some(&java::SYNTAX),
        ParserId::Rust => Some(&rust::SYNTAX),
        _ => None,
    }
}

/// Splits a text before each line that starts with a letter or a decorator, as statements of a file
/// do. Returns each piece with its first row, counted from 0.
fn split_statements(text: &str) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut first_row) = (0, 0);
    let mut line_start = 0;
    for (row, line) in text.split_inclusive('\n').enumerate() {
        let starts_statement =
            line.starts_with(|first: char| first.is_alphabetic() || first == '@');
        if starts_statement && start < line_start && pieces.len() < MAX_PIECES {
            pieces.push((first_row, text.get(start..line_start).unwrap_or_default()));
            (start, first_row) = (line_start, row);
        }
        line_start += line.len();
    }
    pieces.push((first_row, text.get(start..).unwrap_or_default()));
    pieces
}
