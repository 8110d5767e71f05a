//! Haskell, ML and their descendants.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{
        DefinitionStyle, LayoutRules, container_keyword, label_keyword, line_named_container,
    },
};

pub(super) const ALL: &[&Language] = &[&ELM, &HASKELL, &OCAML, &PURESCRIPT];

static EQUATIONS: LayoutRules = LayoutRules {
    attributes: &["#if", "#else", "#endif"],
    continues: &["then", "else"],
    words: &[
        label_keyword("module"),
        container_keyword("data"),
        container_keyword("newtype"),
        container_keyword("type"),
        line_named_container("class"),
        line_named_container("instance").into_extension(),
        line_named_container("deriving").into_extension(),
    ],
    shows: DefinitionStyle::Equations,
    ..LayoutRules::PLAIN
};

const COMMENTS: CommentSyntax = CommentSyntax { line: &["--"], block: &[("{-", "-}")] };
pub static ELM: Language = Language {
    name: "elm",
    extensions: &["elm"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&EQUATIONS),
    ..Language::PLAIN
};

pub static HASKELL: Language = Language {
    name: "haskell",
    extensions: &["hs", "lhs", "hsc"],
    asked_extensions: &["hs"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&EQUATIONS),
    test_paths: &["spec.hs"],
    ..Language::PLAIN
};

pub static OCAML: Language = Language {
    name: "ocaml",
    extensions: &["ml", "mli", "mll", "mly"],
    comments: CommentSyntax { line: &[], block: &[("(*", "*)")] },
    ..Language::PLAIN
};

pub static PURESCRIPT: Language = Language {
    name: "purescript",
    extensions: &["purs"],
    comments: COMMENTS,
    reader: StructureReader::Layout(&EQUATIONS),
    ..Language::PLAIN
};
