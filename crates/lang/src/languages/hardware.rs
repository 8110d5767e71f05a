//! Hardware description languages.

use crate::{Language, comment::CommentSyntax};

pub(super) const ALL: &[&Language] = &[&VERILOG, &VHDL];

pub static VERILOG: Language = Language {
    name: "verilog",
    extensions: &["v", "vh", "sv", "svh"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static VHDL: Language = Language {
    name: "vhdl",
    extensions: &["vhd", "vhdl"],
    comments: CommentSyntax { line: &["--"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};
