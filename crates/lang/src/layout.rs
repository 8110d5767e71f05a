//! What is known of languages that are read by their layout: which lines start a definition.

use crate::grammar::ConstructKind;

/// How the lines of a language are read.
#[derive(Debug)]
pub struct LayoutRules {
    /// Stands between the names of a qualified symbol.
    pub separator: &'static str,
    /// Starts of lines that belong to what follows, besides comments: attributes.
    pub attributes: &'static [&'static str],
    /// What may go over lines whose indentation means nothing, besides comments: long strings.
    pub spans: &'static [(&'static str, &'static str)],
    /// Words at the start of a line that continue the block above; brackets do so, too.
    pub continues: &'static [&'static str],
    /// Words that may stand before the word of a definition.
    pub modifiers: &'static [&'static str],
    /// Words that start a definition.
    pub words: &'static [DefinitionKeyword],
    pub shows: DefinitionStyle,
}

/// A word that starts a definition.
#[derive(Debug)]
pub struct DefinitionKeyword {
    pub text: &'static str,
    pub construct: ConstructKind,
    pub naming: KeywordNaming,
    /// Whether what is named is defined here; `extension A` adds to what is defined elsewhere.
    pub defines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordNaming {
    /// What follows the word.
    Next,
    /// The word itself.
    Itself,
    /// The rest of the line, up to where the body starts.
    Rest,
}

/// How definitions look that no word starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionStyle {
    /// There are none.
    Words,
    /// `Widget build(context) {`: a block below a name with parameters.
    Calls,
    /// `M.open = function() … end`: a function is assigned.
    Assigned,
    /// `name arguments = …` at the start of a line; further equations of a name belong together.
    Equations,
    /// `key:` with more below it.
    Keys,
    /// `selector { … }`.
    Selectors,
    /// `target: needed`, with a recipe below.
    Targets,
    /// `(defun name …)`: a list that starts with a word in `def` or with one of these.
    Lists(&'static [&'static str]),
}

/// Words before `(` that do not name a definition, in languages where [`Style::Calls`] shows some.
pub const CONTROL: &[&str] = &[
    "assert",
    "await",
    "case",
    "catch",
    "do",
    "else",
    "elsif",
    "expect",
    "for",
    "foreach",
    "group",
    "if",
    "in",
    "new",
    "return",
    "super",
    "switch",
    "synchronized",
    "test",
    "throw",
    "try",
    "until",
    "when",
    "while",
    "with",
    "yield",
];

pub(crate) const fn definition_keyword(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Definition,
        naming: KeywordNaming::Next,
        defines: true,
    }
}

pub(crate) const fn container_keyword(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Container,
        naming: KeywordNaming::Next,
        defines: true,
    }
}

pub(crate) const fn value_keyword(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Value,
        naming: KeywordNaming::Next,
        defines: true,
    }
}

/// What has a name and is glue all the same: the first line of a module that fills its file.
pub(crate) const fn label_keyword(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Label,
        naming: KeywordNaming::Next,
        defines: true,
    }
}

/// A definition that has no other name than its word.
pub(crate) const fn self_named_definition(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Definition,
        naming: KeywordNaming::Itself,
        defines: true,
    }
}

/// A container that has no other name than its word.
pub(crate) const fn self_named_container(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Container,
        naming: KeywordNaming::Itself,
        defines: true,
    }
}

/// A container named by the rest of its line.
pub(crate) const fn line_named_container(text: &'static str) -> DefinitionKeyword {
    DefinitionKeyword {
        text,
        construct: ConstructKind::Container,
        naming: KeywordNaming::Rest,
        defines: true,
    }
}

impl DefinitionKeyword {
    /// A word that adds to what is defined elsewhere.
    pub(crate) const fn extends(self) -> Self {
        Self { defines: false, ..self }
    }
}

impl LayoutRules {
    /// Nothing but indentation and brackets.
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
/// Strings that may go over lines in many languages.
pub(crate) const LONG_STRINGS: &[(&str, &str)] = &[("\"\"\"", "\"\"\"")];

/// What definitions start with in many languages, for those that have no layout of their own.
pub static ANY: LayoutRules = LayoutRules {
    attributes: &["@", "#["],
    continues: &["end", "else", "elseif", "elsif", "elif", "catch", "finally", "endif"],
    modifiers: &[
        "abstract",
        "async",
        "const",
        "data",
        "default",
        "export",
        "extend",
        "extern",
        "final",
        "inline",
        "internal",
        "local",
        "open",
        "override",
        "private",
        "protected",
        "pub",
        "public",
        "sealed",
        "static",
        "type",
        "virtual",
        "mutable",
        "recursive",
        "pure",
        "elemental",
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
