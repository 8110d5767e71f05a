//! Rust.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{
        Bodies, Construct, Defines, Grammar, Lexis, Name, Parser, container, definition, lead,
        rule, scope, transparent, value,
    },
};

pub(super) const ALL: &[&Language] = &[&RUST];

pub static RUST: Language = Language {
    name: "rust",
    extensions: &["rs"],
    asked_extensions: &["rs"],
    shebangs: &["rust-script"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Rust,
        separator: "::",
        rules: &[
            lead("line_comment"),
            lead("block_comment"),
            lead("attribute_item"),
            definition("function_item"),
            definition("function_signature_item"),
            container("struct_item"),
            container("enum_item"),
            container("union_item"),
            container("trait_item"),
            definition("macro_definition"),
            rule("impl_item", Construct::Container, Name::Field("type")).defining(Defines::Never),
            scope("mod_item"),
            transparent("foreign_mod_item"),
            value("const_item"),
            value("static_item"),
            value("type_item"),
        ],
        unread: &["macro_invocation"],
        heritage: &["trait", "trait_bounds"],
        bodies: Some(Bodies::Braces {
            lexis: Lexis::Rust,
            containers: &["enum", "extern", "impl", "mod", "struct", "trait", "union"],
        }),
    }),
    inner_tests: Some(("#[cfg(test)]", "mod ")),
    generated: &[".generated.rs", "_generated.rs"],
    ..Language::PLAIN
};
