//! Languages of the Erlang virtual machine.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{
        DefinitionStyle, END_WORDS, LONG_STRINGS, LayoutRules, container_keyword,
        definition_keyword, line_named_container, self_named_definition,
    },
};

pub(super) const ALL: &[&Language] = &[&ELIXIR, &ERLANG];

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
