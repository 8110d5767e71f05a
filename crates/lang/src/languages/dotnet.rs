//! Languages of .NET.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{Bodies, Grammar, Lexis, Parser, container, definition, lead, scope, transparent},
};

pub(super) const ALL: &[&Language] = &[&CSHARP, &FSHARP, &VISUAL_BASIC];

pub static CSHARP: Language = Language {
    name: "csharp",
    extensions: &["cs", "csx"],
    asked_extensions: &["cs"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Csharp,
        separator: ".",
        rules: &[
            lead("comment"),
            container("class_declaration"),
            container("struct_declaration"),
            container("record_declaration"),
            container("interface_declaration"),
            container("enum_declaration"),
            definition("delegate_declaration"),
            definition("method_declaration"),
            definition("constructor_declaration"),
            definition("destructor_declaration"),
            definition("local_function_statement"),
            definition("property_declaration"),
            scope("namespace_declaration"),
            transparent("preproc_if"),
        ],
        unread: &[],
        heritage: &["base_list"],
        bodies: Some(Bodies::Braces {
            lexis: Lexis::Csharp,
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
    comments: Comments { line: &["//"], block: &[("(*", "*)")] },
    ..Language::PLAIN
};

pub static VISUAL_BASIC: Language = Language {
    name: "visual-basic",
    extensions: &["vb", "bas"],
    comments: Comments { line: &["'"], block: &[] },
    ..Language::PLAIN
};
