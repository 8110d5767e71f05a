//! Haskell, ML and their descendants.

use crate::{
    Language, Reader,
    comment::Comments,
    language::Definitions,
    layout::{Layout, Style, container, whole},
};

pub(super) const ALL: &[&Language] = &[&ELM, &HASKELL, &OCAML, &PURESCRIPT];

static EQUATIONS: Layout = Layout {
    attributes: &["#if", "#else", "#endif"],
    continues: &["then", "else"],
    words: &[
        container("data"),
        container("newtype"),
        container("type"),
        whole("class"),
        whole("instance"),
        whole("deriving"),
    ],
    shows: Style::Equations,
    ..Layout::PLAIN
};

const COMMENTS: Comments = Comments { line: &["--"], block: &[("{-", "-}")] };

const DEFINITIONS: Definitions = Definitions {
    words: &["class", "data", "module", "newtype", "type"],
    extending: &["instance"],
    elaborating: &[],
};

pub static ELM: Language = Language {
    name: "elm",
    extensions: &["elm"],
    comments: COMMENTS,
    definitions: Definitions::of(&["module", "type"]),
    reader: Reader::Layout(&EQUATIONS),
    ..Language::PLAIN
};

pub static HASKELL: Language = Language {
    name: "haskell",
    extensions: &["hs", "lhs", "hsc"],
    asked_extensions: &["hs"],
    comments: COMMENTS,
    definitions: DEFINITIONS,
    reader: Reader::Layout(&EQUATIONS),
    test_paths: &["spec.hs"],
    ..Language::PLAIN
};

pub static OCAML: Language = Language {
    name: "ocaml",
    extensions: &["ml", "mli", "mll", "mly"],
    comments: Comments { line: &[], block: &[("(*", "*)")] },
    definitions: Definitions::of(&["class", "module", "type", "val"]),
    ..Language::PLAIN
};

pub static PURESCRIPT: Language = Language {
    name: "purescript",
    extensions: &["purs"],
    comments: COMMENTS,
    definitions: DEFINITIONS,
    reader: Reader::Layout(&EQUATIONS),
    ..Language::PLAIN
};
