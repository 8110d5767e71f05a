//! Swift.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{BRACE_WORDS, LONG_STRINGS, Layout, container, definition, itself, value},
};

pub(super) const ALL: &[&Language] = &[&SWIFT];

pub static SWIFT: Language = Language {
    name: "swift",
    extensions: &["swift"],
    asked_extensions: &["swift"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&Layout {
        attributes: &["@", "#if", "#else", "#elseif", "#endif"],
        spans: LONG_STRINGS,
        continues: BRACE_WORDS,
        modifiers: &[
            "public",
            "private",
            "fileprivate",
            "internal",
            "open",
            "package",
            "final",
            "override",
            "static",
            "mutating",
            "nonmutating",
            "indirect",
            "lazy",
            "weak",
            "unowned",
            "required",
            "convenience",
            "dynamic",
            "prefix",
            "postfix",
            "infix",
            "async",
            "nonisolated",
            "isolated",
            "distributed",
        ],
        words: &[
            definition("func"),
            container("class"),
            container("struct"),
            container("enum"),
            container("protocol"),
            container("actor"),
            container("extension").extending(),
            itself("init"),
            itself("deinit"),
            itself("subscript"),
            value("var"),
            value("let"),
            value("typealias"),
            definition("macro"),
        ],
        ..Layout::PLAIN
    }),
    test_paths: &["tests.swift"],
    generated: &[".pb.swift"],
    ..Language::PLAIN
};
