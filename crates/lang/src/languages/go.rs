//! Go and its modules.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, ConstructKind, GrammarRules, LexicalSyntax, NameSource, ParserId,
        container_node, definition_node, lead_node, node_rule, value_node, wrapper_node,
    },
};

pub(super) const ALL: &[&Language] = &[&GO, &GO_MODULE];

pub static GO: Language = Language {
    name: "go",
    extensions: &["go"],
    asked_extensions: &["go"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Go,
        separator: ".",
        rules: &[
            lead_node("comment"),
            definition_node("function_declaration"),
            node_rule("method_declaration", ConstructKind::Definition, NameSource::Receiver),
            container_node("type_spec"),
            definition_node("type_alias"),
            wrapper_node("type_declaration"),
            value_node("const_spec"),
            value_node("var_spec"),
            wrapper_node("const_declaration"),
            wrapper_node("var_declaration"),
        ],
        unread: &[],
        heritage: &[],
        bodies: Some(BodySyntax::Braces {
            lexis: LexicalSyntax::Go,
            containers: &["interface", "struct", "type"],
        }),
    }),
    generated: &[".gen.go", ".generated.go", ".pb.go", ".pb.gw.go", "_generated.go"],
    ..Language::PLAIN
};

pub static GO_MODULE: Language = Language {
    name: "go-module",
    file_names: &["go.mod", "go.work"],
    comments: CommentSyntax { line: &["//"], block: &[] },
    ..Language::PLAIN
};
