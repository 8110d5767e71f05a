//! Lisps.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{DefinitionStyle, LayoutRules},
};

pub(super) const ALL: &[&Language] = &[&CLOJURE, &LISP, &RACKET, &SCHEME];

const COMMENTS: CommentSyntax = CommentSyntax { line: &[";"], block: &[] };

static LISTS: LayoutRules = LayoutRules {
    // Also a comment, but it does not belong to the following definition.
    spans: &[("#|", "|#")],
    shows: DefinitionStyle::Lists(&["fn", "fun", "module", "struct", "library"]),
    ..LayoutRules::PLAIN
};

pub static CLOJURE: Language = Language {
    name: "clojure",
    extensions: &["clj", "cljs", "cljc", "edn"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static LISP: Language = Language {
    name: "lisp",
    extensions: &["lisp", "lsp", "cl", "el"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static RACKET: Language = Language {
    name: "racket",
    extensions: &["rkt"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static SCHEME: Language = Language {
    name: "scheme",
    extensions: &["scm", "ss"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};
