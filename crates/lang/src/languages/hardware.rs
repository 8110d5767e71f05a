//! Languages that describe circuits.

use crate::{Language, comment::Comments};

pub(super) const ALL: &[&Language] = &[&VERILOG, &VHDL];

pub static VERILOG: Language = Language {
    name: "verilog",
    extensions: &["v", "vh", "sv", "svh"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};

pub static VHDL: Language = Language {
    name: "vhdl",
    extensions: &["vhd", "vhdl"],
    comments: Comments { line: &["--"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};
