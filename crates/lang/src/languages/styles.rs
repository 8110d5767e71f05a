//! Style sheets.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{DefinitionStyle, LayoutRules},
};

pub(super) const ALL: &[&Language] = &[&CSS, &LESS, &SASS];

static SELECTORS: LayoutRules =
    LayoutRules { separator: " / ", shows: DefinitionStyle::Selectors, ..LayoutRules::PLAIN };

pub static CSS: Language = Language {
    name: "css",
    extensions: &["css"],
    asked_extensions: &["css"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&SELECTORS),
    generated: &[".bundle.css", ".chunk.css", ".min.css"],
    ..Language::PLAIN
};

pub static LESS: Language = Language {
    name: "less",
    extensions: &["less"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&SELECTORS),
    ..Language::PLAIN
};

pub static SASS: Language = Language {
    name: "sass",
    extensions: &["sass", "scss"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&SELECTORS),
    ..Language::PLAIN
};
