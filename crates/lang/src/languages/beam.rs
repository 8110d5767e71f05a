//! Languages of the Erlang machine.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{END_WORDS, LONG_STRINGS, Layout, Style, container, definition, itself, whole},
};

pub(super) const ALL: &[&Language] = &[&ELIXIR, &ERLANG];

pub static ELIXIR: Language = Language {
    name: "elixir",
    extensions: &["ex", "exs", "heex", "eex"],
    asked_extensions: &["ex", "exs"],
    comments: Comments::HASH,
    reader: Reader::Layout(&Layout {
        attributes: &["@doc", "@spec", "@impl", "@typedoc", "@deprecated", "@tag", "@since"],
        spans: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        continues: END_WORDS,
        words: &[
            container("defmodule"),
            container("defprotocol"),
            whole("defimpl").extending(),
            definition("def"),
            definition("defp"),
            definition("defmacro"),
            definition("defmacrop"),
            definition("defguard"),
            definition("defdelegate"),
            itself("defstruct"),
            itself("defexception"),
            container("describe"),
            definition("test"),
        ],
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};

pub static ERLANG: Language = Language {
    name: "erlang",
    extensions: &["erl", "hrl"],
    comments: Comments { line: &["%"], block: &[] },
    reader: Reader::Layout(&Layout {
        attributes: &["-spec", "-doc"],
        spans: LONG_STRINGS,
        continues: &["end", "after", "catch", "of"],
        shows: Style::Equations,
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};
