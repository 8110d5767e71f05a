//! Rust.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, ConstructKind, DefinitionCondition, GrammarRules, LexicalSyntax, NameSource,
        ParserId, container_node, definition_node, lead_node, node_rule, scope_node,
        transparent_node, value_node,
    },
};

pub(super) const ALL: &[&Language] = &[&RUST];

pub static RUST: Language = Language {
    name: "rust",
    extensions: &["rs"],
    asked_extensions: &["rs"],
    shebangs: &["rust-script"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Rust,
        separator: "::",
        rules: &[
            lead_node("line_comment"),
            lead_node("block_comment"),
            lead_node("attribute_item"),
            definition_node("function_item"),
            definition_node("function_signature_item"),
            container_node("struct_item"),
            container_node("enum_item"),
            container_node("union_item"),
            container_node("trait_item"),
            definition_node("macro_definition"),
            node_rule("impl_item", ConstructKind::Container, NameSource::Field("type"))
                .with_condition(DefinitionCondition::Never),
            scope_node("mod_item"),
            transparent_node("foreign_mod_item"),
            value_node("const_item"),
            value_node("static_item"),
            value_node("type_item"),
        ],
        unread: &["macro_invocation"],
        heritage: &["trait", "trait_bounds"],
        bodies: Some(BodySyntax::Braces {
            lexis: LexicalSyntax::Rust,
            containers: &["enum", "extern", "impl", "mod", "struct", "trait", "union"],
        }),
    }),
    inner_tests: Some(("#[cfg(test)]", "mod ")),
    generated: &[".generated.rs", "_generated.rs"],
    ..Language::PLAIN
};
