//! PHP.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, GrammarRules, LexicalSyntax, ParserId, container_node, definition_node,
        lead_node, transparent_node,
    },
};

pub(super) const ALL: &[&Language] = &[&PHP];

pub static PHP: Language = Language {
    name: "php",
    extensions: &["php", "phtml", "php5", "php7"],
    asked_extensions: &["php"],
    shebangs: &["php"],
    comments: CommentSyntax { line: &["//", "#"], block: &[("/*", "*/")] },
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Php,
        separator: "::",
        rules: &[
            lead_node("comment"),
            lead_node("attribute_list"),
            container_node("class_declaration"),
            container_node("interface_declaration"),
            container_node("trait_declaration"),
            container_node("enum_declaration"),
            definition_node("function_definition"),
            definition_node("method_declaration"),
            transparent_node("namespace_definition"),
        ],
        unread: &[],
        heritage: &["base_clause", "class_interface_clause"],
        bodies: Some(BodySyntax::Braces {
            lexis: LexicalSyntax::Php,
            containers: &["class", "enum", "interface", "namespace", "trait", "try"],
        }),
    }),
    test_paths: &["test.php"],
    ..Language::PLAIN
};
