//! Languages of .NET.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, GrammarRules, LexicalSyntax, ParserId, container_node, definition_node,
        lead_node, scope_node, transparent_node,
    },
};

pub(super) const ALL: &[&Language] = &[&CSHARP, &FSHARP, &VISUAL_BASIC];

pub static CSHARP: Language = Language {
    name: "csharp",
    extensions: &["cs", "csx"],
    asked_extensions: &["cs"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Csharp,
        separator: ".",
        rules: &[
            lead_node("comment"),
            container_node("class_declaration"),
            container_node("struct_declaration"),
            container_node("record_declaration"),
            container_node("interface_declaration"),
            container_node("enum_declaration"),
            definition_node("delegate_declaration"),
            definition_node("method_declaration"),
            definition_node("constructor_declaration"),
            definition_node("destructor_declaration"),
            definition_node("local_function_statement"),
            definition_node("property_declaration"),
            scope_node("namespace_declaration"),
            transparent_node("preproc_if"),
        ],
        unread: &[],
        heritage: &["base_list"],
        bodies: Some(BodySyntax::Braces {
            lexis: LexicalSyntax::Csharp,
            containers: &["class", "enum", "interface", "namespace", "record", "struct", "try"],
        }),
    }),
    test_paths: &["tests.cs"],
    generated: &[".designer.cs", ".g.cs", ".g.i.cs", ".generated.cs"],
    ..Language::PLAIN
};

pub static FSHARP: Language = Language {
    name: "fsharp",
    extensions: &["fs", "fsi", "fsx"],
    comments: CommentSyntax { line: &["//"], block: &[("(*", "*)")] },
    ..Language::PLAIN
};

pub static VISUAL_BASIC: Language = Language {
    name: "visual-basic",
    extensions: &["vb", "bas"],
    comments: CommentSyntax { line: &["'"], block: &[] },
    ..Language::PLAIN
};
