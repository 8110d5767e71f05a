//! Languages that say how something is built.

use crate::{
    Kind, Language, Reader,
    comment::Comments,
    language::Headings,
    layout::{Layout, Style, definition},
};

pub(super) const ALL: &[&Language] = &[&CMAKE, &DOCKERFILE, &JUST, &MAKEFILE, &MESON, &NIX];

static TARGETS: Layout = Layout {
    attributes: &[".PHONY"],
    continues: &["else", "endif"],
    words: &[definition("define")],
    shows: Style::Targets,
    ..Layout::PLAIN
};

pub static CMAKE: Language = Language {
    name: "cmake",
    extensions: &["cmake"],
    file_names: &["CMakeLists.txt"],
    comments: Comments::HASH,
    ..Language::PLAIN
};

pub static DOCKERFILE: Language = Language {
    name: "dockerfile",
    extensions: &["dockerfile"],
    file_names: &["Dockerfile", "Containerfile"],
    file_name_starts: &["Dockerfile.", "Containerfile."],
    kind: Kind::Script,
    comments: Comments::HASH,
    reader: Reader::Headings(Headings::Stages),
    ..Language::PLAIN
};

pub static JUST: Language = Language {
    name: "just",
    file_names: &["justfile", "Justfile"],
    comments: Comments::HASH,
    reader: Reader::Layout(&TARGETS),
    ..Language::PLAIN
};

pub static MAKEFILE: Language = Language {
    name: "makefile",
    extensions: &["mk", "mak"],
    file_names: &["Makefile", "makefile", "GNUmakefile"],
    kind: Kind::Script,
    comments: Comments::HASH,
    reader: Reader::Layout(&TARGETS),
    ..Language::PLAIN
};

pub static MESON: Language =
    Language { name: "meson", extensions: &["meson"], comments: Comments::HASH, ..Language::PLAIN };

pub static NIX: Language = Language {
    name: "nix",
    extensions: &["nix"],
    comments: Comments { line: &["#"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};
