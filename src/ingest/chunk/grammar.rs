//! What the chunker needs to know of each parsed language, as data.

use tree_sitter::Language;

/// A parsed language.
pub(super) struct Grammar {
    pub(super) language: Language,
    /// Stands between the names of a qualified symbol.
    pub(super) separator: &'static str,
    /// Node kinds that are more than glue.
    pub(super) rules: &'static [Rule],
}

/// What a node kind means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) role: Role,
    pub(super) name: Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
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
    /// A comment or attribute: belongs to what follows.
    Lead,
}

/// Where a node has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// In this field.
    Field(&'static str),
    /// In this field, behind pointers, parameters and arguments: C's `*f(int)`.
    Declarator,
    /// In `name`, qualified by the type of the receiver: Go's `func (s *Server) Close`.
    Receiver,
    /// The text of its first line: a heading.
    Heading,
    /// In `name`, but only where the value is a function or class, or at the top of the file.
    Function,
    /// In the definition inside.
    Inner,
    None,
}

const fn rule(kind: &'static str, role: Role, name: Name) -> Rule {
    Rule { kind, role, name }
}

const fn definition(kind: &'static str) -> Rule {
    rule(kind, Role::Definition, Name::Field("name"))
}

const fn container(kind: &'static str) -> Rule {
    rule(kind, Role::Container, Name::Field("name"))
}

const fn scope(kind: &'static str) -> Rule {
    rule(kind, Role::Scope, Name::Field("name"))
}

const fn value(kind: &'static str) -> Rule {
    rule(kind, Role::Value, Name::Field("name"))
}

const fn wrapper(kind: &'static str) -> Rule {
    rule(kind, Role::Wrapper, Name::Inner)
}

const fn transparent(kind: &'static str) -> Rule {
    rule(kind, Role::Transparent, Name::None)
}

const fn lead(kind: &'static str) -> Rule {
    rule(kind, Role::Lead, Name::None)
}

impl Grammar {
    /// Returns the grammar of a language by its lower-case name, if it is parsed.
    pub(super) fn of(language: &str) -> Option<Self> {
        let (language, separator, rules) = match language {
            "bash" => (tree_sitter_bash::LANGUAGE.into(), ".", BASH),
            "c" => (tree_sitter_c::LANGUAGE.into(), "::", C),
            "cpp" | "cuda" => (tree_sitter_cpp::LANGUAGE.into(), "::", CPP),
            "csharp" => (tree_sitter_c_sharp::LANGUAGE.into(), ".", CSHARP),
            "go" => (tree_sitter_go::LANGUAGE.into(), ".", GO),
            "java" => (tree_sitter_java::LANGUAGE.into(), ".", JAVA),
            "javascript" => (tree_sitter_javascript::LANGUAGE.into(), ".", JAVASCRIPT),
            "php" => (tree_sitter_php::LANGUAGE_PHP.into(), "::", PHP),
            "python" => (tree_sitter_python::LANGUAGE.into(), ".", PYTHON),
            "ruby" => (tree_sitter_ruby::LANGUAGE.into(), "::", RUBY),
            "rust" => (tree_sitter_rust::LANGUAGE.into(), "::", RUST),
            "tsx" => (tree_sitter_typescript::LANGUAGE_TSX.into(), ".", JAVASCRIPT),
            "typescript" => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), ".", JAVASCRIPT),
            _ => return None,
        };
        Some(Self { language, separator, rules })
    }

    pub(super) fn rule(&self, kind: &str) -> Option<&'static Rule> {
        self.rules.iter().find(|rule| rule.kind == kind)
    }
}

const RUST: &[Rule] = &[
    lead("line_comment"),
    lead("block_comment"),
    lead("attribute_item"),
    definition("function_item"),
    definition("function_signature_item"),
    container("struct_item"),
    container("enum_item"),
    container("union_item"),
    container("trait_item"),
    definition("macro_definition"),
    rule("impl_item", Role::Container, Name::Field("type")),
    scope("mod_item"),
    transparent("foreign_mod_item"),
    value("const_item"),
    value("static_item"),
    value("type_item"),
];

const PYTHON: &[Rule] = &[
    lead("comment"),
    lead("decorator"),
    definition("function_definition"),
    container("class_definition"),
    wrapper("decorated_definition"),
];

const JAVASCRIPT: &[Rule] = &[
    lead("comment"),
    lead("decorator"),
    definition("function_declaration"),
    definition("generator_function_declaration"),
    container("class_declaration"),
    container("abstract_class_declaration"),
    container("interface_declaration"),
    container("enum_declaration"),
    definition("method_definition"),
    value("method_signature"),
    value("abstract_method_signature"),
    value("function_signature"),
    value("type_alias_declaration"),
    rule("variable_declarator", Role::Definition, Name::Function),
    rule("public_field_definition", Role::Definition, Name::Function),
    rule("field_definition", Role::Definition, Name::Function),
    rule("pair", Role::Definition, Name::Function),
    rule("assignment_expression", Role::Definition, Name::Function),
    wrapper("lexical_declaration"),
    wrapper("variable_declaration"),
    wrapper("export_statement"),
    wrapper("ambient_declaration"),
    wrapper("expression_statement"),
    scope("internal_module"),
    scope("module"),
];

const GO: &[Rule] = &[
    lead("comment"),
    definition("function_declaration"),
    rule("method_declaration", Role::Definition, Name::Receiver),
    container("type_spec"),
    definition("type_alias"),
    wrapper("type_declaration"),
    value("const_spec"),
    value("var_spec"),
    wrapper("const_declaration"),
    wrapper("var_declaration"),
];

const JAVA: &[Rule] = &[
    lead("line_comment"),
    lead("block_comment"),
    container("class_declaration"),
    container("interface_declaration"),
    container("enum_declaration"),
    container("record_declaration"),
    container("annotation_type_declaration"),
    definition("method_declaration"),
    definition("constructor_declaration"),
    definition("compact_constructor_declaration"),
    scope("module_declaration"),
];

const C: &[Rule] = &[
    lead("comment"),
    rule("function_definition", Role::Definition, Name::Declarator),
    container("struct_specifier"),
    container("union_specifier"),
    container("enum_specifier"),
    rule("type_definition", Role::Definition, Name::Declarator),
    rule("declaration", Role::Value, Name::Declarator),
    value("preproc_def"),
    value("preproc_function_def"),
    transparent("linkage_specification"),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
];

const CPP: &[Rule] = &[
    lead("comment"),
    lead("access_specifier"),
    lead("attribute_declaration"),
    rule("function_definition", Role::Definition, Name::Declarator),
    container("class_specifier"),
    container("struct_specifier"),
    container("union_specifier"),
    container("enum_specifier"),
    definition("concept_definition"),
    rule("type_definition", Role::Definition, Name::Declarator),
    value("alias_declaration"),
    rule("declaration", Role::Value, Name::Declarator),
    value("preproc_def"),
    value("preproc_function_def"),
    wrapper("template_declaration"),
    scope("namespace_definition"),
    transparent("linkage_specification"),
    transparent("preproc_ifdef"),
    transparent("preproc_if"),
    transparent("preproc_else"),
    transparent("preproc_elif"),
];

const CSHARP: &[Rule] = &[
    lead("comment"),
    container("class_declaration"),
    container("struct_declaration"),
    container("record_declaration"),
    container("interface_declaration"),
    container("enum_declaration"),
    definition("delegate_declaration"),
    definition("method_declaration"),
    definition("constructor_declaration"),
    definition("destructor_declaration"),
    definition("local_function_statement"),
    definition("property_declaration"),
    scope("namespace_declaration"),
    transparent("preproc_if"),
];

const RUBY: &[Rule] = &[
    lead("comment"),
    container("class"),
    definition("method"),
    definition("singleton_method"),
    scope("module"),
    transparent("singleton_class"),
];

const PHP: &[Rule] = &[
    lead("comment"),
    lead("attribute_list"),
    container("class_declaration"),
    container("interface_declaration"),
    container("trait_declaration"),
    container("enum_declaration"),
    definition("function_definition"),
    definition("method_declaration"),
    transparent("namespace_definition"),
];

const BASH: &[Rule] = &[lead("comment"), definition("function_definition")];
