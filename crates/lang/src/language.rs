//! Description of a language.

use crate::{
    comment::{self, CommentSyntax},
    grammar::GrammarRules,
    layout::LayoutRules,
};

/// Each language is one constant of [`crate::languages`].
#[derive(Debug)]
pub struct Language {
    /// Name in lower case, such as `rust`, as records and clients use it.
    pub name: &'static str,
    /// Extensions without the dot, in lower case.
    pub extensions: &'static [&'static str],
    /// Extensions by which a word of a question is a file name: `main.rs`, but not `this.props`.
    pub asked_extensions: &'static [&'static str],
    pub file_names: &'static [&'static str],
    pub file_name_starts: &'static [&'static str],
    /// Programs in a first line with `#!`.
    pub shebangs: &'static [&'static str],
    pub kind: LanguageKind,
    pub comments: CommentSyntax,
    pub reader: StructureReader,
    /// Starts of the names of tests in lower case, besides those that mark tests in any language.
    pub test_starts: &'static [&'static str],
    /// Endings of the names of tests in lower case, besides those that mark tests in any language.
    pub test_paths: &'static [&'static str],
    /// Line before the tests, which extend to the end of the file, and the start of the next line.
    pub inner_tests: Option<(&'static str, &'static str)>,
    /// Endings of names that only generators and minifiers use, in lower case.
    pub generated: &'static [&'static str],
    /// Endings of names of files with declarations only, in lower case.
    pub declarations: &'static [&'static str],
}

/// Purpose of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LanguageKind {
    /// Programs: names are followed by expressions.
    Code,
    /// Commands with literal values among them: shells, build files, SQL.
    Script,
    /// Names and literal values that programs exchange.
    Data,
    /// Names and literal values that people set.
    Settings,
    /// Markup around text.
    Page,
    /// Text with long lines.
    Prose,
}

/// Method of reading the structure of a text.
#[derive(Debug, Clone, Copy)]
pub enum StructureReader {
    Grammar(&'static GrammarRules),
    /// By indentation and the keywords of definitions.
    Layout(&'static LayoutRules),
    /// By the layout and keywords that many languages share.
    AnyLayout,
    Headings(HeadingStyle),
    Sql(&'static SqlKeywords),
    /// Markup, by headings or else by layout, with scripts and styles of other languages in tags.
    Page {
        headings: Option<HeadingStyle>,
        layout: &'static LayoutRules,
    },
    Notebook,
    /// By blank lines alone.
    Lines,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadingStyle {
    /// `## Usage`, or underlined.
    Markdown,
    /// Underlined. The first kind of underline in the text is the highest level.
    Underlined,
    /// `== Usage`.
    Asciidoc,
    /// `\section{Usage}`.
    Latex,
    Tables,
    /// `FROM rust AS build`.
    Stages,
    /// `<h2>Usage</h2>`.
    Markup,
    /// `.SH USAGE`, or `.Sh`.
    Requests,
}

impl HeadingStyle {
    pub fn separator(self) -> &'static str {
        match self {
            Self::Tables | Self::Stages => ".",
            Self::Markdown
            | Self::Underlined
            | Self::Asciidoc
            | Self::Latex
            | Self::Markup
            | Self::Requests => " > ",
        }
    }
}

/// Keywords of SQL in upper case.
#[derive(Debug)]
pub struct SqlKeywords {
    pub separator: &'static str,
    /// Keywords that start a statement.
    pub verbs: &'static [&'static str],
    /// Verbs of statements without a named object.
    pub nameless_verbs: &'static [&'static str],
    /// Verbs that start a statement at the left edge, even in a routine.
    pub edge_verbs: &'static [&'static str],
    /// Kinds of named objects.
    pub kinds: &'static [&'static str],
    /// Words between the kind and the name.
    pub between: &'static [&'static str],
    /// Kinds of objects that contain statements.
    pub routines: &'static [&'static str],
    /// Constructs in a routine with their own end, such as `END IF`.
    pub inner_ends: &'static [&'static str],
}

impl Language {
    /// Description without facts. Each language overrides what differs.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        extensions: &[],
        asked_extensions: &[],
        file_names: &[],
        file_name_starts: &[],
        shebangs: &[],
        kind: LanguageKind::Code,
        comments: CommentSyntax::NONE,
        reader: StructureReader::AnyLayout,
        test_starts: &[],
        test_paths: &[],
        inner_tests: None,
        generated: &[],
        declarations: &[],
    };

    /// Returns the number of lines before the tests in a text, or `None` if it has no tests.
    pub fn lines_before_tests(&self, text: &str) -> Option<usize> {
        let (mark, start) = self.inner_tests?;
        let next = text.lines().skip(1);
        text.lines()
            .zip(next)
            .position(|(line, next)| line == mark && next.starts_with(start) && next.ends_with('{'))
    }

    /// Returns whether a line starts or continues a comment: of any language in pages and prose.
    pub fn is_comment(&self, line: &str) -> bool {
        let is_mixed =
            matches!(self.reader, StructureReader::Page { .. }) || self.kind == LanguageKind::Prose;
        if is_mixed || self.comments.is_empty() {
            comment::is_comment(line)
        } else {
            self.comments.is_comment_line(line)
        }
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Language {}
