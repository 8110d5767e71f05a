//! Languages that configure machines and services.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    layout::{LayoutRules, container_keyword, self_named_container},
};

pub(super) const ALL: &[&Language] = &[&PUPPET, &TERRAFORM];

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
