//! Text for people.

use crate::{
    Language, LanguageKind, StructureReader, comment::CommentSyntax, language::HeadingStyle,
};

pub(super) const ALL: &[&Language] =
    &[&ASCIIDOC, &LATEX, &MARKDOWN, &RESTRUCTURED_TEXT, &ROFF, &TEXT];

pub static ASCIIDOC: Language = Language {
    name: "asciidoc",
    extensions: &["adoc", "asciidoc"],
    kind: LanguageKind::Prose,
    comments: CommentSyntax { line: &["//"], block: &[] },
    reader: StructureReader::Headings(HeadingStyle::Asciidoc),
    ..Language::PLAIN
};

pub static LATEX: Language = Language {
    name: "latex",
    extensions: &["tex", "sty", "cls", "bib"],
    kind: LanguageKind::Prose,
    comments: CommentSyntax { line: &["%"], block: &[] },
    reader: StructureReader::Headings(HeadingStyle::Latex),
    ..Language::PLAIN
};

pub static MARKDOWN: Language = Language {
    name: "markdown",
    extensions: &["md", "markdown", "mdx", "mkd", "ronn"],
    asked_extensions: &["md"],
    kind: LanguageKind::Prose,
    comments: CommentSyntax { line: &[], block: &[("<!--", "-->")] },
    reader: StructureReader::Headings(HeadingStyle::Markdown),
    ..Language::PLAIN
};

pub static RESTRUCTURED_TEXT: Language = Language {
    name: "restructuredtext",
    extensions: &["rst"],
    kind: LanguageKind::Prose,
    comments: CommentSyntax { line: &[".."], block: &[] },
    reader: StructureReader::Headings(HeadingStyle::Underlined),
    ..Language::PLAIN
};

/// Manual pages. [`is_manual`] finds most of them.
pub static ROFF: Language = Language {
    name: "roff",
    extensions: &["man", "mdoc", "roff", "troff"],
    kind: LanguageKind::Prose,
    comments: CommentSyntax { line: &[".\\\"", "'\\\""], block: &[] },
    reader: StructureReader::Headings(HeadingStyle::Requests),
    ..Language::PLAIN
};

/// Returns whether a path leads to a manual page, such as `man/jq.1`; elsewhere `.1` is a version.
pub(crate) fn is_manual(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    let is_section = |text: &str| matches!(text.as_bytes(), [b'1'..=b'8']);
    let section = folder.strip_prefix("man");
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && is_section(end))
        && (matches!(folder, "man" | "manpages" | "manual") || section.is_some_and(is_section))
}

pub static TEXT: Language = Language {
    name: "text",
    extensions: &["txt", "text"],
    file_names: &["README", "LICENSE", "NOTICE", "CHANGELOG", "AUTHORS", "COPYING"],
    kind: LanguageKind::Prose,
    reader: StructureReader::Lines,
    ..Language::PLAIN
};
