//! Data and settings.

use crate::{
    Kind, Language, Reader,
    comment::Comments,
    language::Headings,
    layout::{Layout, Style},
};

use super::pages::MARKUP;

pub(super) const ALL: &[&Language] = &[&DIFF, &INI, &JSON, &NOTEBOOK, &TOML, &XML, &YAML];

static KEYS: Layout = Layout { shows: Style::Keys, ..Layout::PLAIN };

pub static DIFF: Language = Language {
    name: "diff",
    extensions: &["diff", "patch"],
    reader: Reader::Lines,
    ..Language::PLAIN
};

pub static INI: Language = Language {
    name: "ini",
    extensions: &["ini", "cfg", "conf", "properties", "editorconfig"],
    kind: Kind::Settings,
    comments: Comments { line: &["#", ";", "!"], block: &[] },
    reader: Reader::Headings(Headings::Tables),
    ..Language::PLAIN
};

pub static NOTEBOOK: Language = Language {
    name: "notebook",
    extensions: &["ipynb"],
    asked_extensions: &["ipynb"],
    reader: Reader::Notebook,
    ..Language::PLAIN
};

pub static JSON: Language = Language {
    name: "json",
    extensions: &["json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest"],
    asked_extensions: &["json"],
    kind: Kind::Data,
    comments: Comments { line: &["//"], block: &[] },
    reader: Reader::Layout(&KEYS),
    ..Language::PLAIN
};

pub static TOML: Language = Language {
    name: "toml",
    extensions: &["toml"],
    asked_extensions: &["toml"],
    kind: Kind::Settings,
    comments: Comments::HASH,
    reader: Reader::Headings(Headings::Tables),
    ..Language::PLAIN
};

pub static XML: Language = Language {
    name: "xml",
    extensions: &["xml", "xsd", "xsl", "xslt", "csproj", "vbproj", "fsproj", "props", "targets"],
    kind: Kind::Data,
    comments: Comments { line: &[], block: &[("<!--", "-->")] },
    reader: Reader::Layout(&MARKUP),
    ..Language::PLAIN
};

pub static YAML: Language = Language {
    name: "yaml",
    extensions: &["yaml", "yml"],
    asked_extensions: &["yaml", "yml"],
    kind: Kind::Data,
    comments: Comments::HASH,
    reader: Reader::Layout(&KEYS),
    ..Language::PLAIN
};
