//! Languages of build files and of infrastructure.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    language::HeadingStyle,
    layout::{
        DefinitionStyle, LayoutRules, container_keyword, definition_keyword, self_named_container,
    },
};

pub(super) const ALL: &[&Language] =
    &[&CMAKE, &DOCKERFILE, &JUST, &MAKEFILE, &MESON, &NIX, &PUPPET, &TERRAFORM];

static TARGETS: LayoutRules = LayoutRules {
    attributes: &[".PHONY"],
    continues: &["else", "endif"],
    words: &[definition_keyword("define")],
    shows: DefinitionStyle::Targets,
    ..LayoutRules::PLAIN
};

pub static CMAKE: Language = Language {
    name: "cmake",
    extensions: &["cmake"],
    file_names: &["CMakeLists.txt"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static DOCKERFILE: Language = Language {
    name: "dockerfile",
    extensions: &["dockerfile"],
    file_names: &["Dockerfile", "Containerfile"],
    file_name_starts: &["Dockerfile.", "Containerfile."],
    kind: LanguageKind::Script,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Headings(HeadingStyle::Stages),
    ..Language::PLAIN
};

pub static JUST: Language = Language {
    name: "just",
    file_names: &["justfile", "Justfile"],
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&TARGETS),
    ..Language::PLAIN
};

pub static MAKEFILE: Language = Language {
    name: "makefile",
    extensions: &["mk", "mak"],
    file_names: &["Makefile", "makefile", "GNUmakefile"],
    kind: LanguageKind::Script,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&TARGETS),
    ..Language::PLAIN
};

pub static MESON: Language = Language {
    name: "meson",
    extensions: &["meson"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static NIX: Language = Language {
    name: "nix",
    extensions: &["nix"],
    comments: CommentSyntax { line: &["#"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static PUPPET: Language = Language {
    name: "puppet",
    extensions: &["epp"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static TERRAFORM: Language = Language {
    name: "terraform",
    extensions: &["tf", "hcl"],
    kind: LanguageKind::Settings,
    comments: CommentSyntax { line: &["#", "//"], block: &[("/*", "*/")] },
    reader: StructureReader::Layout(&LayoutRules {
        words: &[
            container_keyword("resource"),
            container_keyword("data"),
            container_keyword("module"),
            container_keyword("variable"),
            container_keyword("output"),
            container_keyword("provider"),
            self_named_container("locals"),
            self_named_container("terraform"),
            container_keyword("job"),
            container_keyword("group"),
            container_keyword("source"),
            container_keyword("target"),
        ],
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};
