//! The parsers of the languages that have one.

use std::sync::OnceLock;

use codeinfo_lang::grammar::{Grammar, Parser, Rule};
use tree_sitter::{Language, Node};

/// What the nodes of one parser mean, by the numbers of their kinds: their names are slow to compare.
type Rules = Vec<Option<&'static Rule>>;

static RULES: [OnceLock<Rules>; Parser::COUNT] = [const { OnceLock::new() }; Parser::COUNT];

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

/// Returns the tables of a parser.
pub(super) fn tables(parser: Parser) -> Language {
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
