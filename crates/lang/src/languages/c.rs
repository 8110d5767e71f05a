//! C and the languages that contain it.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, ConstructKind, DefinitionCondition, GrammarRules, LexicalSyntax, NameSource,
        NodeRule, ParserId, container_node, definition_node, lead_node, node_rule, scope_node,
        transparent_node, value_node, wrapper_node,
    },
};

pub(super) const ALL: &[&Language] = &[&C, &CPP, &CUDA, &OBJECTIVE_C];

const BODIES: BodySyntax = BodySyntax::Braces {
    lexis: LexicalSyntax::C,
    // The parser may open a `try` block because of its `catch` block.
    containers: &["class", "enum", "extern", "namespace", "struct", "try", "union"],
};

pub static C: Language = Language {
    name: "c",
    extensions: &["c", "h"],
    asked_extensions: &["c", "h"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::C,
        separator: "::",
        rules: &[
            lead_node("comment"),
            node_rule("function_definition", ConstructKind::Definition, NameSource::Declarator),
            container_node("struct_specifier").with_condition(DefinitionCondition::WithBody),
            container_node("union_specifier").with_condition(DefinitionCondition::WithBody),
            container_node("enum_specifier").with_condition(DefinitionCondition::WithBody),
            node_rule("type_definition", ConstructKind::Definition, NameSource::Declarator),
            node_rule("declaration", ConstructKind::Value, NameSource::Declarator)
                .with_condition(DefinitionCondition::Variables),
            value_node("preproc_def"),
            value_node("preproc_function_def"),
            transparent_node("linkage_specification"),
            transparent_node("preproc_ifdef"),
            transparent_node("preproc_if"),
            transparent_node("preproc_else"),
            transparent_node("preproc_elif"),
        ],
        unread: &[],
        heritage: &[],
        bodies: Some(BODIES),
    }),
    generated: &[".pb.h"],
    ..Language::PLAIN
};

static CPP_GRAMMAR: GrammarRules = GrammarRules {
    parser: ParserId::Cpp,
    separator: "::",
    rules: CPP_RULES,
    unread: &[],
    heritage: &["base_class_clause"],
    bodies: Some(BODIES),
};

const CPP_RULES: &[NodeRule] = &[
    lead_node("comment"),
    lead_node("access_specifier"),
    lead_node("attribute_declaration"),
    node_rule("function_definition", ConstructKind::Definition, NameSource::Declarator),
    container_node("class_specifier").with_condition(DefinitionCondition::WithBody),
    container_node("struct_specifier").with_condition(DefinitionCondition::WithBody),
    container_node("union_specifier").with_condition(DefinitionCondition::WithBody),
    container_node("enum_specifier").with_condition(DefinitionCondition::WithBody),
    definition_node("concept_definition"),
    node_rule("type_definition", ConstructKind::Definition, NameSource::Declarator),
    value_node("alias_declaration"),
    node_rule("declaration", ConstructKind::Value, NameSource::Declarator)
        .with_condition(DefinitionCondition::Variables),
    value_node("preproc_def"),
    value_node("preproc_function_def"),
    wrapper_node("template_declaration"),
    scope_node("namespace_definition"),
    transparent_node("linkage_specification"),
    transparent_node("preproc_ifdef"),
    transparent_node("preproc_if"),
    transparent_node("preproc_else"),
    transparent_node("preproc_elif"),
];

pub static CPP: Language = Language {
    name: "cpp",
    extensions: &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "inl"],
    asked_extensions: &["cc", "cpp", "hpp"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&CPP_GRAMMAR),
    generated: &[".pb.cc"],
    ..Language::PLAIN
};

pub static CUDA: Language = Language {
    name: "cuda",
    extensions: &["cu", "cuh"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&CPP_GRAMMAR),
    ..Language::PLAIN
};

pub static OBJECTIVE_C: Language = Language {
    name: "objective-c",
    extensions: &["m", "mm"],
    comments: CommentSyntax::SLASHES,
    generated: &[".pbobjc.h", ".pbobjc.m"],
    ..Language::PLAIN
};

/// Returns whether a C header uses words that only C++ has.
pub(crate) fn looks_like_cpp(header: &str) -> bool {
    const STARTS: &[&str] =
        &["class ", "namespace ", "template <", "template<", "using ", "public:", "private:"];
    header.lines().map(str::trim_start).any(|line| {
        STARTS.iter().any(|start| line.starts_with(start))
            || (!line.starts_with("//") && !line.starts_with('*') && line.contains("std::"))
    })
}
