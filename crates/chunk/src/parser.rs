//! The parsers of the languages that have one, and what they say of a node.

use std::{
    ops::ControlFlow,
    sync::OnceLock,
    time::{Duration, Instant},
};

use codeinfo_lang::grammar::{self, Grammar, Rule};
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

/// Parsing one file may take this long. Ordinary code takes about 0.1 s per megabyte, some Markdown
/// ten times that, on one undisturbed core; only hostile input gets near the limit.
const PARSE_LIMIT: Duration = Duration::from_secs(5);

/// What the nodes of one parser mean, by the numbers of their kinds: their names are slow to compare.
type Rules = Vec<Option<&'static Rule>>;

static RULES: [OnceLock<Rules>; grammar::Parser::COUNT] =
    [const { OnceLock::new() }; grammar::Parser::COUNT];

/// Returns what a node means; `None` for glue.
pub(super) fn rule(grammar: &Grammar, node: Node<'_>) -> Option<&'static Rule> {
    let rules = RULES.get(grammar.parser as usize)?.get_or_init(|| {
        let tables = tables(grammar.parser);
        let kinds = 0..u16::try_from(tables.node_kind_count()).unwrap_or(u16::MAX);
        let named = kinds
            .map(|kind| tables.node_kind_for_id(kind).filter(|_| tables.node_kind_is_named(kind)));
        named.map(|name| grammar.rule(name?)).collect()
    });
    rules.get(usize::from(node.kind_id())).copied().flatten()
}

/// Parses a text; `None` when that takes too long.
pub(super) fn parse(grammar: &Grammar, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tables(grammar.parser)).ok()?;
    let deadline = Instant::now() + PARSE_LIMIT;
    let mut check = |_: &tree_sitter::ParseState| {
        if Instant::now() < deadline { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut check);
    parser.parse_with_options(&mut read, None, Some(options))
}

/// First and last line of a node. One that ends where a line starts does not touch that line.
pub(super) fn span(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && start.row < end.row { end.row - 1 } else { end.row };
    (start.row, last)
}

/// Returns the tables of a parser.
fn tables(parser: grammar::Parser) -> Language {
    use grammar::Parser;
    match parser {
        Parser::Bash => tree_sitter_bash::LANGUAGE.into(),
        Parser::C => tree_sitter_c::LANGUAGE.into(),
        Parser::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        Parser::Csharp => tree_sitter_c_sharp::LANGUAGE.into(),
        Parser::Go => tree_sitter_go::LANGUAGE.into(),
        Parser::Java => tree_sitter_java::LANGUAGE.into(),
        Parser::Javascript => tree_sitter_javascript::LANGUAGE.into(),
        Parser::Php => tree_sitter_php::LANGUAGE_PHP.into(),
        Parser::Python => tree_sitter_python::LANGUAGE.into(),
        Parser::Ruby => tree_sitter_ruby::LANGUAGE.into(),
        Parser::Rust => tree_sitter_rust::LANGUAGE.into(),
        Parser::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Parser::Typescript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    }
}
