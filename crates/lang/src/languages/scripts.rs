//! Scripting, statistics and editor languages.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{DefinitionStyle, END_WORDS, LayoutRules, definition_keyword, self_named_definition},
};

pub(super) const ALL: &[&Language] = &[&JULIA, &LUA, &MATLAB, &PERL, &PROLOG, &R, &TCL, &VIM];

pub static JULIA: Language = Language {
    name: "julia",
    extensions: &["jl"],
    comments: CommentSyntax { line: &["#"], block: &[("#=", "=#"), ("\"\"\"", "\"\"\"")] },
    ..Language::PLAIN
};

pub static LUA: Language = Language {
    name: "lua",
    extensions: &["lua"],
    asked_extensions: &["lua"],
    shebangs: &["lua", "luajit"],
    comments: CommentSyntax { line: &["--"], block: &[("--[[", "]]")] },
    reader: StructureReader::Layout(&LayoutRules {
        spans: &[("[[", "]]"), ("[==[", "]==]")],
        continues: END_WORDS,
        modifiers: &["local"],
        words: &[definition_keyword("function")],
        shows: DefinitionStyle::Assigned,
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static MATLAB: Language = Language {
    name: "matlab",
    extensions: &["mlx"],
    comments: CommentSyntax { line: &["%"], block: &[] },
    ..Language::PLAIN
};

pub static PERL: Language = Language {
    name: "perl",
    extensions: &["pl", "pm", "t"],
    shebangs: &["perl"],
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&LayoutRules {
        separator: "::",
        attributes: &["=head", "=cut"],
        continues: &["else", "elsif"],
        words: &[
            definition_keyword("sub"),
            self_named_definition("BEGIN"),
            self_named_definition("END"),
        ],
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static PROLOG: Language = Language {
    name: "prolog",
    extensions: &["pro"],
    comments: CommentSyntax { line: &["%"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static R: Language = Language {
    name: "r",
    extensions: &["r", "rmd"],
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&LayoutRules {
        continues: &["else"],
        shows: DefinitionStyle::Assigned,
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static TCL: Language = Language {
    name: "tcl",
    extensions: &["tcl"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static VIM: Language = Language {
    name: "vim",
    extensions: &["vim"],
    comments: CommentSyntax { line: &["\"", "#"], block: &[] },
    ..Language::PLAIN
};
