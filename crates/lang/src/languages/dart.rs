//! Dart.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{
        BRACE_WORDS, DefinitionStyle, LayoutRules, container_keyword, definition_keyword,
        value_keyword,
    },
};

pub(super) const ALL: &[&Language] = &[&DART];

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
