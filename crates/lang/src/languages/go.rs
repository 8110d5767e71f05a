//! Go and its modules.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{
        Bodies, Construct, Grammar, Lexis, Name, Parser, container, definition, lead, rule, value,
        wrapper,
    },
};

pub(super) const ALL: &[&Language] = &[&GO, &GO_MODULE];

pub static GO: Language = Language {
    name: "go",
    extensions: &["go"],
    asked_extensions: &["go"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Go,
        separator: ".",
        rules: &[
            lead("comment"),
            definition("function_declaration"),
            rule("method_declaration", Construct::Definition, Name::Receiver),
            container("type_spec"),
            definition("type_alias"),
            wrapper("type_declaration"),
            value("const_spec"),
            value("var_spec"),
            wrapper("const_declaration"),
            wrapper("var_declaration"),
        ],
        unread: &[],
        heritage: &[],
        bodies: Some(Bodies::Braces {
            lexis: Lexis::Go,
            containers: &["interface", "struct", "type"],
        }),
    }),
    generated: &[".gen.go", ".generated.go", ".pb.go", ".pb.gw.go", "_generated.go"],
    ..Language::PLAIN
};

pub static GO_MODULE: Language = Language {
    name: "go-module",
    file_names: &["go.mod", "go.work"],
    comments: Comments { line: &["//"], block: &[] },
    ..Language::PLAIN
};
