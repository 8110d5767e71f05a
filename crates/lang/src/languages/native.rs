//! Compiled languages that do not descend from C.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    layout::{LayoutRules, definition_keyword, self_named_definition, value_keyword},
};

pub(super) const ALL: &[&Language] =
    &[&ADA, &ASSEMBLY, &COBOL, &D, &FORTRAN, &NIM, &ODIN, &PASCAL, &ZIG];

pub static ADA: Language = Language {
    name: "ada",
    extensions: &["adb", "ads"],
    comments: CommentSyntax { line: &["--"], block: &[] },
    ..Language::PLAIN
};

pub static ASSEMBLY: Language = Language {
    name: "assembly",
    extensions: &["s", "asm"],
    comments: CommentSyntax { line: &["//", "#", ";", "@"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static COBOL: Language = Language {
    name: "cobol",
    extensions: &["cob", "cbl"],
    comments: CommentSyntax { line: &["*"], block: &[] },
    ..Language::PLAIN
};

pub static D: Language = Language {
    name: "d",
    extensions: &["d"],
    comments: CommentSyntax { line: &["//"], block: &[("/*", "*/"), ("/+", "+/")] },
    ..Language::PLAIN
};

pub static FORTRAN: Language = Language {
    name: "fortran",
    extensions: &["f", "f77", "f90", "f95", "f03", "for"],
    comments: CommentSyntax { line: &["!", "*"], block: &[] },
    ..Language::PLAIN
};

pub static NIM: Language = Language {
    name: "nim",
    extensions: &["nim", "nims"],
    comments: CommentSyntax { line: &["#"], block: &[("#[", "]#")] },
    ..Language::PLAIN
};

pub static ODIN: Language = Language {
    name: "odin",
    extensions: &["odin"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static PASCAL: Language = Language {
    name: "pascal",
    extensions: &["pas", "pp", "dpr"],
    comments: CommentSyntax { line: &["//"], block: &[("(*", "*)"), ("{", "}")] },
    ..Language::PLAIN
};

pub static ZIG: Language = Language {
    name: "zig",
    extensions: &["zig", "zon"],
    asked_extensions: &["zig"],
    comments: CommentSyntax { line: &["//"], block: &[] },
    reader: StructureReader::Layout(&LayoutRules {
        continues: &["else", "catch"],
        modifiers: &["pub", "export", "extern", "inline", "noinline", "threadlocal", "comptime"],
        words: &[
            definition_keyword("fn"),
            value_keyword("const"),
            value_keyword("var"),
            definition_keyword("test"),
            self_named_definition("usingnamespace"),
        ],
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};
