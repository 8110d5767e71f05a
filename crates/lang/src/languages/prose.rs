//! Text for people.

use crate::{Kind, Language, Reader, comment::Comments, language::Headings};

pub(super) const ALL: &[&Language] = &[&ASCIIDOC, &LATEX, &MARKDOWN, &RESTRUCTURED_TEXT, &TEXT];

pub static ASCIIDOC: Language = Language {
    name: "asciidoc",
    extensions: &["adoc", "asciidoc"],
    kind: Kind::Prose,
    comments: Comments { line: &["//"], block: &[] },
    reader: Reader::Headings(Headings::Asciidoc),
    ..Language::PLAIN
};

pub static LATEX: Language = Language {
    name: "latex",
    extensions: &["tex", "sty", "cls", "bib"],
    kind: Kind::Prose,
    comments: Comments { line: &["%"], block: &[] },
    reader: Reader::Headings(Headings::Latex),
    ..Language::PLAIN
};

pub static MARKDOWN: Language = Language {
    name: "markdown",
    extensions: &["md", "markdown", "mdx", "mkd"],
    asked_extensions: &["md"],
    kind: Kind::Prose,
    comments: Comments { line: &[], block: &[("<!--", "-->")] },
    reader: Reader::Headings(Headings::Markdown),
    ..Language::PLAIN
};

pub static RESTRUCTURED_TEXT: Language = Language {
    name: "restructuredtext",
    extensions: &["rst"],
    kind: Kind::Prose,
    comments: Comments { line: &[".."], block: &[] },
    reader: Reader::Headings(Headings::Underlined),
    ..Language::PLAIN
};

pub static TEXT: Language = Language {
    name: "text",
    extensions: &["txt", "text"],
    file_names: &["README", "LICENSE", "NOTICE", "CHANGELOG", "AUTHORS", "COPYING"],
    kind: Kind::Prose,
    reader: Reader::Lines,
    ..Language::PLAIN
};
