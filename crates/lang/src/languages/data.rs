//! Data and settings.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    language::HeadingStyle,
    layout::{DefinitionStyle, LayoutRules},
};

use super::pages::MARKUP;

pub(super) const ALL: &[&Language] = &[&DIFF, &INI, &JSON, &NOTEBOOK, &TOML, &XML, &YAML];

static KEYS: LayoutRules = LayoutRules { shows: DefinitionStyle::Keys, ..LayoutRules::PLAIN };

pub static DIFF: Language = Language {
    name: "diff",
    extensions: &["diff", "patch"],
    reader: StructureReader::Lines,
    ..Language::PLAIN
};

pub static INI: Language = Language {
    name: "ini",
    extensions: &["ini", "cfg", "conf", "properties", "editorconfig"],
    kind: LanguageKind::Settings,
    comments: CommentSyntax { line: &["#", ";", "!"], block: &[] },
    reader: StructureReader::Headings(HeadingStyle::Tables),
    ..Language::PLAIN
};

pub static NOTEBOOK: Language = Language {
    name: "notebook",
    extensions: &["ipynb"],
    asked_extensions: &["ipynb"],
    reader: StructureReader::Notebook,
    ..Language::PLAIN
};

pub static JSON: Language = Language {
    name: "json",
    extensions: &["json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest"],
    asked_extensions: &["json"],
    kind: LanguageKind::Data,
    comments: CommentSyntax { line: &["//"], block: &[] },
    reader: StructureReader::Layout(&KEYS),
    ..Language::PLAIN
};

pub static TOML: Language = Language {
    name: "toml",
    extensions: &["toml"],
    asked_extensions: &["toml"],
    kind: LanguageKind::Settings,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Headings(HeadingStyle::Tables),
    ..Language::PLAIN
};

pub static XML: Language = Language {
    name: "xml",
    extensions: &["xml", "xsd", "xsl", "xslt", "csproj", "vbproj", "fsproj", "props", "targets"],
    kind: LanguageKind::Data,
    comments: CommentSyntax { line: &[], block: &[("<!--", "-->")] },
    reader: StructureReader::Layout(&MARKUP),
    ..Language::PLAIN
};

pub static YAML: Language = Language {
    name: "yaml",
    extensions: &["yaml", "yml"],
    asked_extensions: &["yaml", "yml"],
    kind: LanguageKind::Data,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&KEYS),
    ..Language::PLAIN
};
