//! Compiled languages that do not descend from C, and languages of hardware and graphics.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, ConstructKind, DefinitionCondition, GrammarRules, LexicalSyntax, NameSource,
        ParserId, container_node, definition_node, lead_node, node_rule, scope_node,
        transparent_node, value_node, wrapper_node,
    },
    layout::{
        BRACE_WORDS, DefinitionStyle, LONG_STRINGS, LayoutRules, container_keyword,
        definition_keyword, self_named_definition, value_keyword,
    },
};

pub(super) const ALL: &[&Language] = &[
    &ADA, &ASSEMBLY, &COBOL, &D, &DART, &FORTRAN, &GLSL, &GO, &GO_MODULE, &HLSL, &NIM, &ODIN,
    &PASCAL, &RUST, &SWIFT, &VERILOG, &VHDL, &WGSL, &ZIG,
];

pub static ADA: Language = Language {
    name: "ada",
    extensions: &["adb", "ads"],
    comments: CommentSyntax { line: &["--"], block: &[] },
    ..Language::PLAIN
};

pub static ASSEMBLY: Language = Language {
    name: "assembly",
    extensions: &["s", "asm"],
    comments: CommentSyntax { line: &["//", "#", ";", "@"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static COBOL: Language = Language {
    name: "cobol",
    extensions: &["cob", "cbl"],
    comments: CommentSyntax { line: &["*"], block: &[] },
    ..Language::PLAIN
};

pub static D: Language = Language {
    name: "d",
    extensions: &["d"],
    comments: CommentSyntax { line: &["//"], block: &[("/*", "*/"), ("/+", "+/")] },
    ..Language::PLAIN
};

pub static FORTRAN: Language = Language {
    name: "fortran",
    extensions: &["f", "f77", "f90", "f95", "f03", "for"],
    comments: CommentSyntax { line: &["!", "*"], block: &[] },
    ..Language::PLAIN
};

pub static NIM: Language = Language {
    name: "nim",
    extensions: &["nim", "nims"],
    comments: CommentSyntax { line: &["#"], block: &[("#[", "]#")] },
    ..Language::PLAIN
};

pub static ODIN: Language = Language {
    name: "odin",
    extensions: &["odin"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static PASCAL: Language = Language {
    name: "pascal",
    extensions: &["pas", "pp", "dpr"],
    comments: CommentSyntax { line: &["//"], block: &[("(*", "*)"), ("{", "}")] },
    ..Language::PLAIN
};

pub static ZIG: Language = Language {
    name: "zig",
    extensions: &["zig", "zon"],
    asked_extensions: &["zig"],
    comments: CommentSyntax { line: &["//"], block: &[] },
    reader: StructureReader::Layout(&LayoutRules {
        continues: &["else", "catch"],
        modifiers: &["pub", "export", "extern", "inline", "noinline", "threadlocal", "comptime"],
        words: &[
            definition_keyword("fn"),
            value_keyword("const"),
            value_keyword("var"),
            definition_keyword("test"),
            self_named_definition("usingnamespace"),
        ],
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static DART: Language = Language {
    name: "dart",
    extensions: &["dart"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["@"],
        spans: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        continues: BRACE_WORDS,
        modifiers: &[
            "abstract", "base", "sealed", "final", "static", "external", "covariant", "late",
            "const", "interface",
        ],
        words: &[
            container_keyword("class"),
            container_keyword("mixin"),
            container_keyword("enum"),
            container_keyword("extension"),
            value_keyword("typedef"),
            definition_keyword("get"),
            definition_keyword("set"),
            definition_keyword("factory"),
        ],
        shows: DefinitionStyle::Calls,
        ..LayoutRules::PLAIN
    }),
    generated: &[".freezed.dart", ".g.dart"],
    ..Language::PLAIN
};

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

pub static VERILOG: Language = Language {
    name: "verilog",
    extensions: &["v", "vh", "sv", "svh"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static VHDL: Language = Language {
    name: "vhdl",
    extensions: &["vhd", "vhdl"],
    comments: CommentSyntax { line: &["--"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

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

pub static GLSL: Language = Language {
    name: "glsl",
    extensions: &["glsl", "vert", "frag", "comp", "geom"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static HLSL: Language = Language {
    name: "hlsl",
    extensions: &["hlsl", "fx"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static WGSL: Language = Language {
    name: "wgsl",
    extensions: &["wgsl"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static SWIFT: Language = Language {
    name: "swift",
    extensions: &["swift"],
    asked_extensions: &["swift"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["@", "#if", "#else", "#elseif", "#endif"],
        spans: LONG_STRINGS,
        continues: BRACE_WORDS,
        modifiers: &[
            "public", "private", "fileprivate", "internal", "open", "package", "final", "override",
            "static", "mutating", "nonmutating", "indirect", "lazy", "weak", "unowned", "required",
            "convenience", "dynamic", "prefix", "postfix", "infix", "async", "nonisolated",
            "isolated", "distributed",
        ],
        words: &[
            definition_keyword("func"),
            container_keyword("class"),
            container_keyword("struct"),
            container_keyword("enum"),
            container_keyword("protocol"),
            container_keyword("actor"),
            container_keyword("extension").into_extension(),
            self_named_definition("init"),
            self_named_definition("deinit"),
            self_named_definition("subscript"),
            value_keyword("var"),
            value_keyword("let"),
            value_keyword("typealias"),
            definition_keyword("macro"),
        ],
        ..LayoutRules::PLAIN
    }),
    test_paths: &["tests.swift"],
    generated: &[".pb.swift"],
    ..Language::PLAIN
};
