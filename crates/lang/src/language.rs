//! Everything that is known of one language.

use crate::{
    comment::{self, CommentSyntax},
    grammar::GrammarRules,
    layout::LayoutRules,
};

/// A language. Each is one constant of [`crate::languages`].
#[derive(Debug)]
pub struct Language {
    /// Lower-case, such as `rust`: what records and clients see.
    pub name: &'static str,
    /// Without the dot, lower-case.
    pub extensions: &'static [&'static str],
    /// Those of them by which a word of a question is a file's name: `main.rs`, but not `this.props`.
    pub asked_extensions: &'static [&'static str],
    /// Whole names of files.
    pub file_names: &'static [&'static str],
    /// Starts of names of files.
    pub file_name_starts: &'static [&'static str],
    /// Programs that a first line with `#!` names.
    pub shebangs: &'static [&'static str],
    pub kind: LanguageKind,
    pub comments: CommentSyntax,
    pub reader: StructureReader,
    /// Starts of names of tests, lower-case, besides those that mean a test in any language.
    pub test_starts: &'static [&'static str],
    /// Ends of names of tests, lower-case, besides those that mean a test in any language.
    pub test_paths: &'static [&'static str],
    /// The line that stands before tests in a file of code, and what the next line starts with; they go on to the
    /// end of the file.
    pub inner_tests: Option<(&'static str, &'static str)>,
    /// Ends of names that only generators and minifiers give, lower-case.
    pub generated: &'static [&'static str],
    /// Ends of names of files that only declare what is defined elsewhere, lower-case.
    pub declarations: &'static [&'static str],
}

/// What a language is for.
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
    /// Text, where long lines are ordinary.
    Prose,
}

/// How the structure of a text is read.
#[derive(Debug, Clone, Copy)]
pub enum StructureReader {
    /// By a parser.
    Grammar(&'static GrammarRules),
    /// By indentation and the words that definitions start with.
    Layout(&'static LayoutRules),
    /// By the layout and words that many languages share.
    AnyLayout,
    /// By its headings.
    Headings(HeadingStyle),
    /// Statement by statement.
    Sql(&'static SqlKeywords),
    /// Markup, by headings if there are some and else by layout, with scripts and styles of other
    /// languages between tags.
    Page { headings: Option<HeadingStyle>, layout: &'static LayoutRules },
    /// As the code of a notebook, in the language that it names.
    Notebook,
    /// By blank lines alone.
    Lines,
}

/// How headings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadingStyle {
    /// `## Usage`, or underlined.
    Markdown,
    /// Underlined; the first kind of line that is met is the highest.
    Underlined,
    /// `== Usage`.
    Asciidoc,
    /// `\section{Usage}`.
    Latex,
    /// `[dependencies]`.
    Tables,
    /// `FROM rust AS build`.
    Stages,
    /// `<h2>Usage</h2>`.
    Markup,
    /// `.SH USAGE`, or `.Sh`.
    Requests,
}

impl HeadingStyle {
    /// Returns what stands between the names of a qualified symbol.
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

/// The words of SQL, upper-case.
#[derive(Debug)]
pub struct SqlKeywords {
    /// Stands between the names of a qualified symbol.
    pub separator: &'static str,
    /// Words that start a statement.
    pub verbs: &'static [&'static str],
    /// Verbs that change nothing with a name.
    pub nameless_verbs: &'static [&'static str],
    /// Verbs that start a statement even in a routine, at the left edge.
    pub edge_verbs: &'static [&'static str],
    /// Kinds of things that have names.
    pub kinds: &'static [&'static str],
    /// Words between the kind and the name.
    pub between: &'static [&'static str],
    /// Kinds that hold statements.
    pub routines: &'static [&'static str],
    /// What ends within a routine by a word of its own: `END IF`.
    pub inner_ends: &'static [&'static str],
}

impl Language {
    /// A language of which nothing is known; others say what differs.
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

    /// Returns how many lines of a text stand before the tests in it; `None` if there are none.
    pub fn lines_before_tests(&self, text: &str) -> Option<usize> {
        let (mark, start) = self.inner_tests?;
        let next = text.lines().skip(1);
        text.lines()
            .zip(next)
            .position(|(line, next)| line == mark && next.starts_with(start) && next.ends_with('{'))
    }

    /// Returns whether a line starts or continues a comment of the language. Of pages and prose,
    /// which may hold any language, each form of comment counts.
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
