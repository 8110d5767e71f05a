//! Reads the facts of a file from its syntax tree.

mod bash;
mod builder;
mod c;
mod cpp;
mod csharp;
mod go;
mod java;
mod manifest;
mod php;
mod python;
mod ruby;
mod rust;
mod script;
mod syntax;
mod typed;
mod words;

use codeinfo_lang::{Language, StructureReader, grammar::ParserId};

use crate::{ModuleSystem, SourceFacts};
use builder::{FactBuilder, SyntaxRules};

/// Name under which a script exports its default value.
pub const DEFAULT_EXPORT: &str = "default";
/// Name to which a script binds what it assigns to `module.exports`.
pub const MODULE_EXPORTS: &str = "module.exports";
/// Maximum pieces of a text that are parsed one by one; the last one has the rest.
const MAX_PIECES: usize = 5_000;

/// Reads the facts of a text in one of [`crate::LANGUAGES`], or of the manifest of a package.
///
/// Returns `None` for data, pages and prose, and if parsing takes too long; skips unreadable statements. Reads at
/// most 200,000 facts of a kind, 200 bytes of a name and 300 levels of nesting.
pub fn extract_facts(language: &Language, text: &str) -> Option<SourceFacts> {
    let StructureReader::Grammar(grammar) = language.reader else {
        return if words::is_read_by_words(language) {
            Some(words::extract_words(language, text))
        } else {
            manifest::extract_package_name(text)
        };
    };
    let syntax = find_syntax(grammar.parser);
    // The parser of shells joins a line with the one before it if it begins with a backslash.
    let shell_text = (grammar.parser == ParserId::Bash).then(|| text.replace("\n\\", "\n "));
    let parsed = shell_text.as_deref().unwrap_or(text);
    let tree = codeinfo_chunk::parse_tree(grammar, parsed)?;
    let mut builder = FactBuilder::new(syntax, parsed);
    if !tree.root_node().is_error() {
        builder.visit_children(tree.root_node());
        return Some(builder.into_facts());
    }
    // One statement that the parser cannot read must not cost the others.
    for (first_row, piece) in split_statements(parsed) {
        builder.begin_piece(piece, first_row);
        if let Some(tree) = codeinfo_chunk::parse_tree(grammar, piece) {
            builder.visit_children(tree.root_node());
        }
    }
    Some(builder.into_facts())
}

/// Returns true if [`extract_facts`] reads a language.
pub fn reads_language(language: &Language) -> bool {
    find_module_system(language).is_some()
}

/// Returns the rules of imports of a language; `None` if [`extract_facts`] does not read it.
pub fn find_module_system(language: &Language) -> Option<ModuleSystem> {
    match language.reader {
        StructureReader::Grammar(grammar) => Some(find_syntax(grammar.parser).module_system),
        _ => words::is_read_by_words(language).then_some(ModuleSystem::Words),
    }
}

fn find_syntax(parser: ParserId) -> &'static SyntaxRules {
    match parser {
        ParserId::Bash => &bash::SYNTAX,
        ParserId::Php => &php::SYNTAX,
        ParserId::Python => &python::SYNTAX,
        ParserId::Javascript | ParserId::Typescript | ParserId::Tsx => &script::SYNTAX,
        ParserId::C => &c::SYNTAX,
        ParserId::Cpp => &cpp::SYNTAX,
        ParserId::Csharp => &csharp::SYNTAX,
        ParserId::Go => &go::SYNTAX,
        ParserId::Java => &java::SYNTAX,
        ParserId::Ruby => &ruby::SYNTAX,
        ParserId::Rust => &rust::SYNTAX,
    }
}

/// Splits a text before each line that starts with a letter or a decorator; rows count from 0.
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
