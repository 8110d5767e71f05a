//! Rules for languages that are read by their layout: lines that start definitions.

use crate::grammar::ConstructKind;

#[derive(Debug)]
pub struct LayoutRules {
    pub separator: &'static str,
    /// Starts of lines that belong to the following definition, besides comments: attributes.
    pub attributes: &'static [&'static str],
    /// Delimiters of text whose indentation has no meaning, besides comments: long strings.
    pub spans: &'static [(&'static str, &'static str)],
    /// Words at the start of a line that continue the previous block. Brackets do so as well.
    pub continues: &'static [&'static str],
    pub modifiers: &'static [&'static str],
    pub words: &'static [DefinitionKeyword],
    pub shows: DefinitionStyle,
}

#[derive(Debug)]
pub struct DefinitionKeyword {
    pub text: &'static str,
    pub construct: ConstructKind,
    pub naming: KeywordNaming,
    /// True if the name is defined here. `extension A` only adds to a definition elsewhere.
    pub defines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordNaming {
    Next,
    Itself,
    /// The rest of the line, up to the start of the body.
    Rest,
}

/// Form of definitions that no keyword starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionStyle {
    /// The language has only keywords.
    Words,
    /// `Widget build(context) {`: a block after a name with parameters.
    Calls,
    /// `M.open = function() … end`: an assigned function.
    Assigned,
    /// `name arguments = …` at the start of a line, with further equations of the same name.
    Equations,
    /// `key:` with nested lines.
    Keys,
    /// `selector { … }`.
    Selectors,
    /// `target: needed`, with a recipe on the next lines.
    Targets,
    /// `(defun name …)`: a list that starts with a word in `def` or with one of these words.
    Lists(&'static [&'static str]),
}

/// Words before `(` that do not name a definition, in languages with [`DefinitionStyle::Calls`].
pub const CONTROL: &[&str] = &[
    "assert", "await", "case", "catch", "do", "else", "elsif", "expect", "for", "foreach", "group",
    "if", "in", "new", "return", "super", "switch", "synchronized", "test", "throw", "try",
    "until", "when", "while", "with", "yield",
];

const fn keyword(
    text: &'static str,
    construct: ConstructKind,
    naming: KeywordNaming,
) -> DefinitionKeyword {
    DefinitionKeyword { text, construct, naming, defines: true }
}

pub(crate) const fn definition_keyword(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Definition, KeywordNaming::Next)
}

pub(crate) const fn container_keyword(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Container, KeywordNaming::Next)
}

pub(crate) const fn value_keyword(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Value, KeywordNaming::Next)
}

/// Returns a keyword with a name that is glue: the first line of a module that fills its file.
pub(crate) const fn label_keyword(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Label, KeywordNaming::Next)
}

/// Returns the keyword of a definition whose only name is the keyword.
pub(crate) const fn self_named_definition(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Definition, KeywordNaming::Itself)
}

/// Returns the keyword of a container whose only name is the keyword.
pub(crate) const fn self_named_container(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Container, KeywordNaming::Itself)
}

pub(crate) const fn line_named_container(text: &'static str) -> DefinitionKeyword {
    keyword(text, ConstructKind::Container, KeywordNaming::Rest)
}

impl DefinitionKeyword {
    pub(crate) const fn into_extension(self) -> Self {
        Self { defines: false, ..self }
    }
}

impl LayoutRules {
    /// Rules with only indentation and brackets.
    pub(crate) const PLAIN: Self = Self {
        separator: ".",
        attributes: &[],
        spans: &[],
        continues: &[],
        modifiers: &[],
        words: &[],
        shows: DefinitionStyle::Words,
    };
}

pub(crate) const BRACE_WORDS: &[&str] = &["else", "catch", "finally", "while"];
pub(crate) const END_WORDS: &[&str] =
    &["end", "else", "elseif", "elsif", "elif", "rescue", "ensure", "after", "catch", "until"];
/// Delimiters of strings that may span lines in many languages.
pub(crate) const LONG_STRINGS: &[(&str, &str)] = &[("\"\"\"", "\"\"\"")];

/// Keywords that start definitions in many languages, for languages without their own layout.
pub static ANY: LayoutRules = LayoutRules {
    attributes: &["@", "#["],
    continues: &["end", "else", "elseif", "elsif", "elif", "catch", "finally", "endif"],
    modifiers: &[
        "abstract", "async", "const", "data", "default", "export", "extend", "extern", "final",
        "inline", "internal", "local", "open", "override", "private", "protected", "pub", "public",
        "sealed", "static", "type", "virtual", "mutable", "recursive", "pure", "elemental",
    ],
    words: &[
        container_keyword("class"),
        container_keyword("interface"),
        container_keyword("struct"),
        container_keyword("enum"),
        container_keyword("union"),
        container_keyword("trait"),
        container_keyword("contract"),
        container_keyword("library"),
        container_keyword("message"),
        container_keyword("service"),
        container_keyword("model"),
        container_keyword("entity"),
        container_keyword("architecture"),
        container_keyword("package"),
        container_keyword("module"),
        container_keyword("input"),
        container_keyword("fragment"),
        definition_keyword("function"),
        definition_keyword("func"),
        definition_keyword("def"),
        definition_keyword("fn"),
        definition_keyword("proc"),
        definition_keyword("macro"),
        definition_keyword("method"),
        definition_keyword("subroutine"),
        definition_keyword("task"),
        definition_keyword("rpc"),
        definition_keyword("sub"),
        value_keyword("let"),
        value_keyword("type"),
    ],
    ..LayoutRules::PLAIN
};
