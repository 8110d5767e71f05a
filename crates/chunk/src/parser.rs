//! The parsers of the languages that have one.

use codeinfo_lang::grammar::Parser;
use tree_sitter::Language;

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
