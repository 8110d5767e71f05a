//! Text for people.

use crate::{Kind, Language, Reader, comment::Comments, language::Headings};

pub(super) const ALL: &[&Language] =
    &[&ASCIIDOC, &LATEX, &MARKDOWN, &RESTRUCTURED_TEXT, &ROFF, &TEXT];

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
    extensions: &["md", "markdown", "mdx", "mkd", "ronn"],
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

/// Pages of manuals, of which most are found by [`is_manual`].
pub static ROFF: Language = Language {
    name: "roff",
    extensions: &["man", "mdoc", "roff", "troff"],
    kind: Kind::Prose,
    comments: Comments { line: &[".\\\"", "'\\\""], block: &[] },
    reader: Reader::Headings(Headings::Requests),
    ..Language::PLAIN
};

/// Whether a path is that of a page of a manual: `man/jq.1`, `man/man5/crontab.5`. Elsewhere such endings are
/// versions and numbers.
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
    kind: Kind::Prose,
    reader: Reader::Lines,
    ..Language::PLAIN
};
