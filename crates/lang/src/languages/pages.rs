//! Markup, pages that contain scripts and styles, and style sheets.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    language::HeadingStyle,
    layout::{DefinitionStyle, LayoutRules},
};

pub(super) const ALL: &[&Language] =
    &[&ASTRO, &CSS, &HANDLEBARS, &HTML, &LESS, &SASS, &SVELTE, &VUE];

pub(super) static MARKUP: LayoutRules = LayoutRules::PLAIN;

const MARKUP_COMMENTS: CommentSyntax = CommentSyntax { line: &[], block: &[("<!--", "-->")] };

const PAGE: StructureReader = StructureReader::Page { headings: None, layout: &MARKUP };

pub static ASTRO: Language = Language {
    name: "astro",
    extensions: &["astro"],
    comments: MARKUP_COMMENTS,
    reader: PAGE,
    ..Language::PLAIN
};

pub static HANDLEBARS: Language = Language {
    name: "handlebars",
    extensions: &["hbs", "handlebars", "mustache"],
    comments: MARKUP_COMMENTS,
    reader: StructureReader::Layout(&MARKUP),
    ..Language::PLAIN
};

pub static HTML: Language = Language {
    name: "html",
    extensions: &["html", "htm", "xhtml", "jinja", "jinja2", "j2", "njk", "erb", "ejs"],
    asked_extensions: &["html"],
    kind: LanguageKind::Page,
    comments: MARKUP_COMMENTS,
    reader: StructureReader::Page { headings: Some(HeadingStyle::Markup), layout: &MARKUP },
    ..Language::PLAIN
};

pub static SVELTE: Language = Language {
    name: "svelte",
    extensions: &["svelte"],
    comments: MARKUP_COMMENTS,
    reader: PAGE,
    ..Language::PLAIN
};

pub static VUE: Language = Language {
    name: "vue",
    extensions: &["vue"],
    comments: MARKUP_COMMENTS,
    reader: PAGE,
    ..Language::PLAIN
};

static SELECTORS: LayoutRules =
    LayoutRules { separator: " / ", shows: DefinitionStyle::Selectors, ..LayoutRules::PLAIN };

pub static CSS: Language = Language {
    name: "css",
    extensions: &["css"],
    asked_extensions: &["css"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&SELECTORS),
    generated: &[".bundle.css", ".chunk.css", ".min.css"],
    ..Language::PLAIN
};

pub static LESS: Language = Language {
    name: "less",
    extensions: &["less"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&SELECTORS),
    ..Language::PLAIN
};

pub static SASS: Language = Language {
    name: "sass",
    extensions: &["sass", "scss"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&SELECTORS),
    ..Language::PLAIN
};
