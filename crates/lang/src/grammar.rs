//! What is known of parsed languages: which nodes of their trees are more than glue.

/// A parsed language.
#[derive(Debug)]
pub struct GrammarRules {
    pub parser: ParserId,
    /// Stands between the names of a qualified symbol.
    pub separator: &'static str,
    /// Node kinds that are more than glue.
    pub rules: &'static [NodeRule],
    /// Node kinds whose text is not parsed, so that the words of its lines say what it defines.
    pub unread: &'static [&'static str],
    /// Node kinds below a type, or below one another, that list the types it extends or implements, and
    /// fields of types that hold one.
    pub heritage: &'static [&'static str],
    /// How the bodies of functions are found without a parser; `None` where they are not.
    pub bodies: Option<BodySyntax>,
}

/// The parsers there are. `codeinfo-chunk` brings each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParserId {
    Bash,
    C,
    Cpp,
    Csharp,
    Go,
    Java,
    Javascript,
    Php,
    Python,
    Ruby,
    Rust,
    Tsx,
    Typescript,
}

impl ParserId {
    /// How many there are.
    pub const COUNT: usize = Self::Typescript as usize + 1;
}

/// How the bodies of functions are found.
#[derive(Debug, Clone, Copy)]
pub enum BodySyntax {
    Braces {
        lexis: LexicalSyntax,
        /// Words before a brace by which definitions follow in it.
        containers: &'static [&'static str],
    },
    /// By indentation below a colon, as in Python.
    Indentation,
}

/// How comments and strings look, which may hold braces, and where statements end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexicalSyntax {
    C,
    Csharp,
    Go,
    Java,
    Php,
    Rust,
    /// JavaScript and TypeScript.
    Script,
}

/// What a node kind means.
#[derive(Debug, Clone, Copy)]
pub struct NodeRule {
    pub kind: &'static str,
    pub construct: ConstructKind,
    pub name: NameSource,
    pub defines: DefinitionCondition,
}

/// Which nodes of a kind define their name, and do not only declare it or add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionCondition {
    Always,
    /// Those that have a body: `struct a {…}`, but not `struct a;`.
    WithBody,
    /// Those of variables that stand here: neither prototypes nor anything `extern`.
    Variables,
    /// None: `impl A` adds to what is defined elsewhere.
    Never,
}

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstructKind {
    /// A function or method: one chunk where it fits.
    Definition,
    /// A type or a section, made of definitions: one chunk where it is small.
    Container,
    /// A namespace or module: always opened, its name leads the names inside.
    Scope,
    /// A constant or variable: named where it spans several lines.
    Value,
    /// Something around another definition, such as `export` or decorators: takes its name.
    Wrapper,
    /// Always opened, has no name: `extern "C"`, `#ifdef`.
    Transparent,
    /// Has a name, and is glue all the same: a variable of a language that declares none.
    Label,
    /// A comment or attribute: belongs to what follows.
    Lead,
}

/// Where a node has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    /// In this field.
    Field(&'static str),
    /// In this field, after pointers, parameters and arguments: C's `*f(int)`.
    Declarator,
    /// In `name`, qualified by the type of the receiver: Go's `func (s *Server) Close`.
    Receiver,
    /// The text of its first line: a heading.
    Heading,
    /// In `name`, but only where the value is a node of one of these kinds, or at the top of the file.
    Function(&'static [&'static str]),
    /// In the definition inside.
    Inner,
    None,
}

pub(crate) const fn node_rule(
    kind: &'static str,
    construct: ConstructKind,
    name: NameSource,
) -> NodeRule {
    NodeRule { kind, construct, name, defines: DefinitionCondition::Always }
}

pub(crate) const fn definition_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Definition, NameSource::Field("name"))
}

pub(crate) const fn container_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Container, NameSource::Field("name"))
}

pub(crate) const fn scope_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Scope, NameSource::Field("name"))
}

pub(crate) const fn value_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Value, NameSource::Field("name"))
}

pub(crate) const fn label_node(kind: &'static str, field: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Label, NameSource::Field(field))
}

pub(crate) const fn wrapper_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Wrapper, NameSource::Inner)
}

pub(crate) const fn transparent_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Transparent, NameSource::None)
}

pub(crate) const fn lead_node(kind: &'static str) -> NodeRule {
    node_rule(kind, ConstructKind::Lead, NameSource::None)
}

impl NodeRule {
    pub(crate) const fn with_condition(self, defines: DefinitionCondition) -> Self {
        Self { defines, ..self }
    }
}

impl GrammarRules {
    /// Returns what a node kind means; `None` for glue.
    pub fn find_rule(&self, kind: &str) -> Option<&'static NodeRule> {
        self.rules.iter().find(|rule| rule.kind == kind)
    }
}
