//! Haskell, ML and their descendants.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{Layout, Style, container, label, whole},
};

pub(super) const ALL: &[&Language] = &[&ELM, &HASKELL, &OCAML, &PURESCRIPT];

static EQUATIONS: Layout = Layout {
    attributes: &["#if", "#else", "#endif"],
    continues: &["then", "else"],
    words: &[
        label("module"),
        container("data"),
        container("newtype"),
        container("type"),
        whole("class"),
        whole("instance").extending(),
        whole("deriving").extending(),
    ],
    shows: Style::Equations,
    ..Layout::PLAIN
};

const COMMENTS: Comments = Comments { line: &["--"], block: &[("{-", "-}")] };
pub static ELM: Language = Language {
    name: "elm",
    extensions: &["elm"],
    comments: COMMENTS,
    reader: Reader::Layout(&EQUATIONS),
    ..Language::PLAIN
};

pub static HASKELL: Language = Language {
    name: "haskell",
    extensions: &["hs", "lhs", "hsc"],
    asked_extensions: &["hs"],
    comments: COMMENTS,
    reader: Reader::Layout(&EQUATIONS),
    test_paths: &["spec.hs"],
    ..Language::PLAIN
};

pub static OCAML: Language = Language {
    name: "ocaml",
    extensions: &["ml", "mli", "mll", "mly"],
    comments: Comments { line: &[], block: &[("(*", "*)")] },
    ..Language::PLAIN
};

pub static PURESCRIPT: Language = Language {
    name: "purescript",
    extensions: &["purs"],
    comments: COMMENTS,
    reader: Reader::Layout(&EQUATIONS),
    ..Language::PLAIN
};
