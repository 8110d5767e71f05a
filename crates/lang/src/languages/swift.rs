//! Swift.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{
        BRACE_WORDS, LONG_STRINGS, LayoutRules, container_keyword, definition_keyword,
        self_named_definition, value_keyword,
    },
};

pub(super) const ALL: &[&Language] = &[&SWIFT];

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
