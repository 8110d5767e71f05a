//! Functional languages: Haskell, ML, Lisp, Erlang and their descendants.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{
        DefinitionStyle, END_WORDS, LONG_STRINGS, LayoutRules, container_keyword,
        definition_keyword, label_keyword, line_named_container, self_named_definition,
    },
};

pub(super) const ALL: &[&Language] =
    &[&CLOJURE, &ELIXIR, &ELM, &ERLANG, &HASKELL, &LISP, &OCAML, &PURESCRIPT, &RACKET, &SCHEME];

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

const HASKELL_COMMENTS: CommentSyntax = CommentSyntax { line: &["--"], block: &[("{-", "-}")] };
pub static ELM: Language = Language {
    name: "elm",
    extensions: &["elm"],
    comments: HASKELL_COMMENTS,
    reader: StructureReader::Layout(&EQUATIONS),
    ..Language::PLAIN
};

pub static HASKELL: Language = Language {
    name: "haskell",
    extensions: &["hs", "lhs", "hsc"],
    asked_extensions: &["hs"],
    comments: HASKELL_COMMENTS,
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
    comments: HASKELL_COMMENTS,
    reader: StructureReader::Layout(&EQUATIONS),
    ..Language::PLAIN
};

pub static ELIXIR: Language = Language {
    name: "elixir",
    extensions: &["ex", "exs", "heex", "eex"],
    asked_extensions: &["ex", "exs"],
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["@doc", "@spec", "@impl", "@typedoc", "@deprecated", "@tag", "@since"],
        spans: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        continues: END_WORDS,
        words: &[
            container_keyword("defmodule"),
            container_keyword("defprotocol"),
            line_named_container("defimpl").into_extension(),
            definition_keyword("def"),
            definition_keyword("defp"),
            definition_keyword("defmacro"),
            definition_keyword("defmacrop"),
            definition_keyword("defguard"),
            definition_keyword("defdelegate"),
            self_named_definition("defstruct"),
            self_named_definition("defexception"),
            container_keyword("describe"),
            definition_keyword("test"),
        ],
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static ERLANG: Language = Language {
    name: "erlang",
    extensions: &["erl", "hrl"],
    comments: CommentSyntax { line: &["%"], block: &[] },
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["-spec", "-doc"],
        spans: LONG_STRINGS,
        continues: &["end", "after", "catch", "of"],
        shows: DefinitionStyle::Equations,
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

const LISP_COMMENTS: CommentSyntax = CommentSyntax { line: &[";"], block: &[] };

static LISTS: LayoutRules = LayoutRules {
    // Also a comment, but it does not belong to the following definition.
    spans: &[("#|", "|#")],
    shows: DefinitionStyle::Lists(&["fn", "fun", "module", "struct", "library"]),
    ..LayoutRules::PLAIN
};

pub static CLOJURE: Language = Language {
    name: "clojure",
    extensions: &["clj", "cljs", "cljc", "edn"],
    comments: LISP_COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static LISP: Language = Language {
    name: "lisp",
    extensions: &["lisp", "lsp", "cl", "el"],
    comments: LISP_COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static RACKET: Language = Language {
    name: "racket",
    extensions: &["rkt"],
    comments: LISP_COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};

pub static SCHEME: Language = Language {
    name: "scheme",
    extensions: &["scm", "ss"],
    comments: LISP_COMMENTS,
    reader: StructureReader::Layout(&LISTS),
    ..Language::PLAIN
};
