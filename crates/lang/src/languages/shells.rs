//! Languages of command lines.

use crate::{
    Kind, Language, Reader,
    comment::Comments,
    grammar::{Grammar, Parser, definition, lead},
};

pub(super) const ALL: &[&Language] = &[&AWK, &BASH, &BATCH, &FISH, &POWERSHELL];

pub static AWK: Language = Language {
    name: "awk",
    extensions: &["awk"],
    shebangs: &["awk", "gawk"],
    comments: Comments::HASH,
    ..Language::PLAIN
};

pub static BASH: Language = Language {
    name: "bash",
    extensions: &["sh", "bash", "zsh", "ksh", "bats"],
    asked_extensions: &["sh", "bash"],
    file_names: &["PKGBUILD", "APKBUILD"],
    shebangs: &["sh", "bash", "zsh", "ksh", "dash", "ash"],
    kind: Kind::Script,
    comments: Comments::HASH,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Bash,
        separator: ".",
        rules: &[lead("comment"), definition("function_definition")],
        unread: &[],
        heritage: &[],
        bodies: None,
    }),
    ..Language::PLAIN
};

pub static BATCH: Language = Language {
    name: "batch",
    extensions: &["bat", "cmd"],
    kind: Kind::Script,
    comments: Comments { line: &["::", "rem ", "REM ", "@rem ", "@REM "], block: &[] },
    ..Language::PLAIN
};

pub static FISH: Language = Language {
    name: "fish",
    extensions: &["fish"],
    shebangs: &["fish"],
    kind: Kind::Script,
    comments: Comments::HASH,
    ..Language::PLAIN
};

pub static POWERSHELL: Language = Language {
    name: "powershell",
    extensions: &["ps1", "psm1", "psd1"],
    kind: Kind::Script,
    comments: Comments { line: &["#"], block: &[("<#", "#>")] },
    ..Language::PLAIN
};
