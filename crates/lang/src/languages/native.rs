//! Compiled languages that are no descendants of C.

use crate::{
    Language, Reader,
    comment::Comments,
    layout::{Layout, definition, itself, value},
};

pub(super) const ALL: &[&Language] =
    &[&ADA, &ASSEMBLY, &COBOL, &D, &FORTRAN, &NIM, &ODIN, &PASCAL, &ZIG];

pub static ADA: Language = Language {
    name: "ada",
    extensions: &["adb", "ads"],
    comments: Comments { line: &["--"], block: &[] },
    ..Language::PLAIN
};

pub static ASSEMBLY: Language = Language {
    name: "assembly",
    extensions: &["s", "asm"],
    comments: Comments { line: &["//", "#", ";", "@"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static COBOL: Language = Language {
    name: "cobol",
    extensions: &["cob", "cbl"],
    comments: Comments { line: &["*"], block: &[] },
    ..Language::PLAIN
};

pub static D: Language = Language {
    name: "d",
    extensions: &["d"],
    comments: Comments { line: &["//"], block: &[("/*", "*/"), ("/+", "+/")] },
    ..Language::PLAIN
};

pub static FORTRAN: Language = Language {
    name: "fortran",
    extensions: &["f", "f77", "f90", "f95", "f03", "for"],
    comments: Comments { line: &["!", "*"], block: &[] },
    ..Language::PLAIN
};

pub static NIM: Language = Language {
    name: "nim",
    extensions: &["nim", "nims"],
    comments: Comments { line: &["#"], block: &[("#[", "]#")] },
    ..Language::PLAIN
};

pub static ODIN: Language = Language {
    name: "odin",
    extensions: &["odin"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};

pub static PASCAL: Language = Language {
    name: "pascal",
    extensions: &["pas", "pp", "dpr"],
    comments: Comments { line: &["//"], block: &[("(*", "*)"), ("{", "}")] },
    ..Language::PLAIN
};

pub static ZIG: Language = Language {
    name: "zig",
    extensions: &["zig", "zon"],
    asked_extensions: &["zig"],
    comments: Comments { line: &["//"], block: &[] },
    reader: Reader::Layout(&Layout {
        continues: &["else", "catch"],
        modifiers: &["pub", "export", "extern", "inline", "noinline", "threadlocal", "comptime"],
        words: &[
            definition("fn"),
            value("const"),
            value("var"),
            definition("test"),
            itself("usingnamespace"),
        ],
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};
