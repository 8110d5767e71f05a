//! Languages of scripts, of statistics and of editors.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{END_WORDS, Layout, Style, definition, itself},
};

pub(super) const ALL: &[&Language] = &[&JULIA, &LUA, &MATLAB, &PERL, &PROLOG, &R, &TCL, &VIM];

pub static JULIA: Language = Language {
    name: "julia",
    extensions: &["jl"],
    comments: Comments { line: &["#"], block: &[("#=", "=#"), ("\"\"\"", "\"\"\"")] },
    ..Language::PLAIN
};

pub static LUA: Language = Language {
    name: "lua",
    extensions: &["lua"],
    asked_extensions: &["lua"],
    shebangs: &["lua", "luajit"],
    comments: Comments { line: &["--"], block: &[("--[[", "]]")] },
    reader: Reader::Layout(&Layout {
        spans: &[("[[", "]]"), ("[==[", "]==]")],
        continues: END_WORDS,
        modifiers: &["local"],
        words: &[definition("function")],
        shows: Style::Assigned,
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};

pub static MATLAB: Language = Language {
    name: "matlab",
    extensions: &["mlx"],
    comments: Comments { line: &["%"], block: &[] },
    ..Language::PLAIN
};

pub static PERL: Language = Language {
    name: "perl",
    extensions: &["pl", "pm", "t"],
    shebangs: &["perl"],
    comments: Comments::HASH,
    reader: Reader::Layout(&Layout {
        separator: "::",
        attributes: &["=head", "=cut"],
        continues: &["else", "elsif"],
        words: &[definition("sub"), itself("BEGIN"), itself("END")],
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};

pub static PROLOG: Language = Language {
    name: "prolog",
    extensions: &["pro"],
    comments: Comments { line: &["%"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static R: Language = Language {
    name: "r",
    extensions: &["r", "rmd"],
    comments: Comments::HASH,
    reader: Reader::Layout(&Layout {
        continues: &["else"],
        shows: Style::Assigned,
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};

pub static TCL: Language =
    Language { name: "tcl", extensions: &["tcl"], comments: Comments::HASH, ..Language::PLAIN };

pub static VIM: Language = Language {
    name: "vim",
    extensions: &["vim"],
    comments: Comments { line: &["\"", "#"], block: &[] },
    ..Language::PLAIN
};
