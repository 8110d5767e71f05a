//! Shell languages.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    grammar::{GrammarRules, ParserId, definition_node, lead_node},
};

pub(super) const ALL: &[&Language] = &[&AWK, &BASH, &BATCH, &FISH, &POWERSHELL];

pub static AWK: Language = Language {
    name: "awk",
    extensions: &["awk"],
    shebangs: &["awk", "gawk"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static BASH: Language = Language {
    name: "bash",
    extensions: &["sh", "bash", "zsh", "ksh", "bats"],
    asked_extensions: &["sh", "bash"],
    file_names: &["PKGBUILD", "APKBUILD"],
    shebangs: &["sh", "bash", "zsh", "ksh", "dash", "ash"],
    kind: LanguageKind::Script,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Bash,
        separator: ".",
        rules: &[lead_node("comment"), definition_node("function_definition")],
        unread: &[],
        heritage: &[],
        bodies: None,
    }),
    ..Language::PLAIN
};

pub static BATCH: Language = Language {
    name: "batch",
    extensions: &["bat", "cmd"],
    kind: LanguageKind::Script,
    comments: CommentSyntax { line: &["::", "rem ", "REM ", "@rem ", "@REM "], block: &[] },
    ..Language::PLAIN
};

pub static FISH: Language = Language {
    name: "fish",
    extensions: &["fish"],
    shebangs: &["fish"],
    kind: LanguageKind::Script,
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static POWERSHELL: Language = Language {
    name: "powershell",
    extensions: &["ps1", "psm1", "psd1"],
    kind: LanguageKind::Script,
    comments: CommentSyntax { line: &["#"], block: &[("<#", "#>")] },
    ..Language::PLAIN
};
