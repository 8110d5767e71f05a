//! Lisps.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{Layout, Style},
};

pub(super) const ALL: &[&Language] = &[&CLOJURE, &LISP, &RACKET, &SCHEME];

const COMMENTS: Comments = Comments { line: &[";"], block: &[] };

static LISTS: Layout = Layout {
    // A comment, too, but one that is no lead of what follows.
    spans: &[("#|", "|#")],
    shows: Style::Lists(&["fn", "fun", "module", "struct", "library"]),
    ..Layout::PLAIN
};

pub static CLOJURE: Language = Language {
    name: "clojure",
    extensions: &["clj", "cljs", "cljc", "edn"],
    comments: COMMENTS,
    reader: Reader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static LISP: Language = Language {
    name: "lisp",
    extensions: &["lisp", "lsp", "cl", "el"],
    comments: COMMENTS,
    reader: Reader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static RACKET: Language = Language {
    name: "racket",
    extensions: &["rkt"],
    comments: COMMENTS,
    reader: Reader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static SCHEME: Language = Language {
    name: "scheme",
    extensions: &["scm", "ss"],
    comments: COMMENTS,
    reader: Reader::Layout(&LISTS),
    ..Language::PLAIN
};
