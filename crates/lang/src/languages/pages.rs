//! Markup, and pages that contain scripts and styles.

use crate::{
    Language, LanguageKind, StructureReader, comment::CommentSyntax, language::HeadingStyle,
    layout::LayoutRules,
};

pub(super) const ALL: &[&Language] = &[&ASTRO, &HANDLEBARS, &HTML, &SVELTE, &VUE];

pub(super) static MARKUP: LayoutRules = LayoutRules::PLAIN;

const COMMENTS: CommentSyntax = CommentSyntax { line: &[], block: &[("<!--", "-->")] };

const PAGE: StructureReader = StructureReader::Page { headings: None, layout: &MARKUP };

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
    reader: StructureReader::Layout(&MARKUP),
    ..Language::PLAIN
};

pub static HTML: Language = Language {
    name: "html",
    extensions: &["html", "htm", "xhtml", "jinja", "jinja2", "j2", "njk", "erb", "ejs"],
    asked_extensions: &["html"],
    kind: LanguageKind::Page,
    comments: COMMENTS,
    reader: StructureReader::Page { headings: Some(HeadingStyle::Markup), layout: &MARKUP },
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
