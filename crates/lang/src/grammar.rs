//! Rules for parsed languages: the nodes of syntax trees that are more than glue.

/// Rules for a parsed language.
#[derive(Debug)]
pub struct GrammarRules {
    pub parser: ParserId,
    pub separator: &'static str,
    /// Node kinds that are more than glue.
    pub rules: &'static [NodeRule],
    /// Node kinds whose text is not parsed. The words of its lines show what it defines.
    pub unread: &'static [&'static str],
    /// Node kinds below a type, or below one another, that list the types it extends or implements;
    /// and fields of types that contain such a node.
    pub heritage: &'static [&'static str],
    /// Method of finding the bodies of functions without a parser. `None` if they are not found.
    pub bodies: Option<BodySyntax>,
}

/// Identifies a parser. `codeinfo-chunk` provides each parser.
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
    pub const COUNT: usize = Self::Typescript as usize + 1;
}

#[derive(Debug, Clone, Copy)]
pub enum BodySyntax {
    Braces {
        lexis: LexicalSyntax,
        /// Keywords before a brace that contains definitions.
        containers: &'static [&'static str],
    },
    Indentation,
}

/// Syntax of comments and strings, which may contain braces, and of the ends of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexicalSyntax {
    C,
    Csharp,
    Go,
    Java,
    Php,
    Rust,
    Script,
}

/// Meaning of a node kind.
#[derive(Debug, Clone, Copy)]
pub struct NodeRule {
    pub kind: &'static str,
    pub construct: ConstructKind,
    pub name: NameSource,
    pub defines: DefinitionCondition,
}

/// Condition under which a node defines its name, and does not only declare it or add to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionCondition {
    Always,
    /// Nodes with a body: `struct a {…}`, but not `struct a;`.
    WithBody,
    /// Nodes of variables that are defined here: neither prototypes nor `extern` variables.
    Variables,
    /// No node: `impl A` adds to a definition elsewhere.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstructKind {
    /// Function or method. One chunk if it fits.
    Definition,
    /// Type or section that consists of definitions. One chunk if it is small.
    Container,
    /// Namespace or module. Always split; its name prefixes the names inside.
    Scope,
    /// Constant or variable. Named if it spans several lines.
    Value,
    /// Wrapper of another definition, such as `export` or decorators, whose name it takes.
    Wrapper,
    /// Nameless and always split: `extern "C"`, `#ifdef`.
    Transparent,
    /// Named glue: a variable in a language without declarations.
    Label,
    /// Comment or attribute. Belongs to the following definition.
    Lead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    Field(&'static str),
    /// The given field, after pointers, parameters and arguments: C's `*f(int)`.
    Declarator,
    /// The field `name`, qualified by the type of the receiver: Go's `func (s *Server) Close`.
    Receiver,
    /// The text of the first line: a heading.
    Heading,
    /// The field `name`, if the value is a node of one of these kinds, or at the top of the file.
    Function(&'static [&'static str]),
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
    /// Returns the rule for a node kind, or `None` for glue.
    pub fn find_rule(&self, kind: &str) -> Option<&'static NodeRule> {
        self.rules.iter().find(|rule| rule.kind == kind)
    }
}
