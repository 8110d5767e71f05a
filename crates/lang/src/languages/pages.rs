//! Markup, and pages with scripts and styles in it.

use crate::{Kind, Language, Reader, comment::Comments, language::Headings, layout::Layout};

pub(super) const ALL: &[&Language] = &[&ASTRO, &HANDLEBARS, &HTML, &SVELTE, &VUE];

pub(super) static MARKUP: Layout = Layout::PLAIN;

const COMMENTS: Comments = Comments { line: &[], block: &[("<!--", "-->")] };

const PAGE: Reader = Reader::Page { headings: None, layout: &MARKUP };

pub static ASTRO: Language = Language {
    name: "astro",
    extensions: &["astro"],
    comments: COMMENTS,
    reader: PAGE,
    ..Language::PLAIN
};

pub static HANDLEBARS: Language = Language {
    name: "handlebars",
    extensions: &["hbs", "handlebars", "mustache"],
    comments: COMMENTS,
    reader: Reader::Layout(&MARKUP),
    ..Language::PLAIN
};

pub static HTML: Language = Language {
    name: "html",
    extensions: &["html", "htm", "xhtml", "jinja", "jinja2", "j2", "njk", "erb", "ejs"],
    asked_extensions: &["html"],
    kind: Kind::Page,
    comments: COMMENTS,
    reader: Reader::Page { headings: Some(Headings::Markup), layout: &MARKUP },
    ..Language::PLAIN
};

pub static SVELTE: Language = Language {
    name: "svelte",
    extensions: &["svelte"],
    comments: COMMENTS,
    reader: PAGE,
    ..Language::PLAIN
};

pub static VUE: Language = Language {
    name: "vue",
    extensions: &["vue"],
    comments: COMMENTS,
    reader: PAGE,
    ..Language::PLAIN
};
