//! Runs the parsers and maps the nodes of their trees to rules.

use std::{
    ops::ControlFlow,
    sync::OnceLock,
    time::{Duration, Instant},
};

use codeinfo_lang::grammar::{self, GrammarRules, NodeRule};
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

/// Maximum time to parse a file, for hostile input: code takes 0.1 s per MB, some Markdown 1 s.
const PARSE_LIMIT: Duration = Duration::from_secs(5);

/// Rules of one parser, by the number of the node kind, because kind names are slow to compare.
type NodeRules = Vec<Option<&'static NodeRule>>;

static RULES: [OnceLock<NodeRules>; grammar::ParserId::COUNT] =
    [const { OnceLock::new() }; grammar::ParserId::COUNT];

/// Returns the rule for a node; `None` for glue.
pub(super) fn find_rule(grammar: &GrammarRules, node: Node<'_>) -> Option<&'static NodeRule> {
    let rules = RULES.get(grammar.parser as usize)?.get_or_init(|| {
        let tables = tree_sitter_language(grammar.parser);
        let kinds = 0..u16::try_from(tables.node_kind_count()).unwrap_or(u16::MAX);
        let named = kinds
            .map(|kind| tables.node_kind_for_id(kind).filter(|_| tables.node_kind_is_named(kind)));
        named.map(|name| grammar.find_rule(name?)).collect()
    });
    rules.get(usize::from(node.kind_id())).copied().flatten()
}

/// Parses a text; `None` if that exceeds [`PARSE_LIMIT`].
pub fn parse_tree(grammar: &GrammarRules, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_language(grammar.parser)).ok()?;
    let deadline = Instant::now() + PARSE_LIMIT;
    let mut check = |_: &tree_sitter::ParseState| {
        if Instant::now() < deadline { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut check);
    parser.parse_with_options(&mut read, None, Some(options))
}

/// Returns the first and last line of a node, without a line at whose start it ends.
pub(super) fn line_span(node: Node<'_>) -> (usize, usize) {
    let start = node.start_position();
    let end = node.end_position();
    let last = if end.column == 0 && start.row < end.row { end.row - 1 } else { end.row };
    (start.row, last)
}

fn tree_sitter_language(parser: grammar::ParserId) -> Language {
    use grammar::ParserId;
    match parser {
        ParserId::Bash => tree_sitter_bash::LANGUAGE.into(),
        ParserId::C => tree_sitter_c::LANGUAGE.into(),
        ParserId::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        ParserId::Csharp => tree_sitter_c_sharp::LANGUAGE.into(),
        ParserId::Go => tree_sitter_go::LANGUAGE.into(),
        ParserId::Java => tree_sitter_java::LANGUAGE.into(),
        ParserId::Javascript => tree_sitter_javascript::LANGUAGE.into(),
        ParserId::Php => tree_sitter_php::LANGUAGE_PHP.into(),
        ParserId::Python => tree_sitter_python::LANGUAGE.into(),
        ParserId::Ruby => tree_sitter_ruby::LANGUAGE.into(),
        ParserId::Rust => tree_sitter_rust::LANGUAGE.into(),
        ParserId::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        ParserId::Typescript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    }
}
