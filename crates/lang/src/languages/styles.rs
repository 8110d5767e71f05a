//! Style sheets.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{Layout, Style},
};

pub(super) const ALL: &[&Language] = &[&CSS, &LESS, &SASS];

static SELECTORS: Layout = Layout { separator: " / ", shows: Style::Selectors, ..Layout::PLAIN };

pub static CSS: Language = Language {
    name: "css",
    extensions: &["css"],
    asked_extensions: &["css"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&SELECTORS),
    generated: &[".bundle.css", ".chunk.css", ".min.css"],
    ..Language::PLAIN
};

pub static LESS: Language = Language {
    name: "less",
    extensions: &["less"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&SELECTORS),
    ..Language::PLAIN
};

pub static SASS: Language = Language {
    name: "sass",
    extensions: &["sass", "scss"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&SELECTORS),
    ..Language::PLAIN
};
