//! Languages that describe machines and services.

use crate::{
    Kind, Language, Reader,
    comment::Comments,
    layout::{Layout, block, container},
};

pub(super) const ALL: &[&Language] = &[&PUPPET, &TERRAFORM];

pub static PUPPET: Language =
    Language { name: "puppet", extensions: &["epp"], comments: Comments::HASH, ..Language::PLAIN };

pub static TERRAFORM: Language = Language {
    name: "terraform",
    extensions: &["tf", "hcl"],
    kind: Kind::Settings,
    comments: Comments { line: &["#", "//"], block: &[("/*", "*/")] },
    reader: Reader::Layout(&Layout {
        words: &[
            container("resource"),
            container("data"),
            container("module"),
            container("variable"),
            container("output"),
            container("provider"),
            block("locals"),
            block("terraform"),
            container("job"),
            container("group"),
            container("source"),
            container("target"),
        ],
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};
