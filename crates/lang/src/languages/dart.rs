//! Dart.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{BRACE_WORDS, Layout, Style, container, definition, value},
};

pub(super) const ALL: &[&Language] = &[&DART];

pub static DART: Language = Language {
    name: "dart",
    extensions: &["dart"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&Layout {
        attributes: &["@"],
        spans: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        continues: BRACE_WORDS,
        modifiers: &[
            "abstract",
            "base",
            "sealed",
            "final",
            "static",
            "external",
            "covariant",
            "late",
            "const",
            "interface",
        ],
        words: &[
            container("class"),
            container("mixin"),
            container("enum"),
            container("extension"),
            value("typedef"),
            definition("get"),
            definition("set"),
            definition("factory"),
        ],
        shows: Style::Calls,
        ..Layout::PLAIN
    }),
    generated: &[".freezed.dart", ".g.dart"],
    ..Language::PLAIN
};
