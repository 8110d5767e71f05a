//! C and the languages that contain it.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{
        Bodies, Construct, Defines, Grammar, Lexis, Name, Parser, Rule, container, definition,
        lead, rule, scope, transparent, value, wrapper,
    },
};

pub(super) const ALL: &[&Language] = &[&C, &CPP, &CUDA, &OBJECTIVE_C];

const BODIES: Bodies = Bodies::Braces {
    lexis: Lexis::C,
    // What is tried may be opened for what catches.
    containers: &["class", "enum", "extern", "namespace", "struct", "try", "union"],
};

pub static C: Language = Language {
    name: "c",
    extensions: &["c", "h"],
    asked_extensions: &["c", "h"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::C,
        separator: "::",
        rules: &[
            lead("comment"),
            rule("function_definition", Construct::Definition, Name::Declarator),
            container("struct_specifier").defining(Defines::WithBody),
            container("union_specifier").defining(Defines::WithBody),
            container("enum_specifier").defining(Defines::WithBody),
            rule("type_definition", Construct::Definition, Name::Declarator),
            rule("declaration", Construct::Value, Name::Declarator).defining(Defines::Variables),
            value("preproc_def"),
            value("preproc_function_def"),
            transparent("linkage_specification"),
            transparent("preproc_ifdef"),
            transparent("preproc_if"),
            transparent("preproc_else"),
            transparent("preproc_elif"),
        ],
        unread: &[],
        heritage: &[],
        bodies: Some(BODIES),
    }),
    generated: &[".pb.h"],
    ..Language::PLAIN
};

static CPP_GRAMMAR: Grammar = Grammar {
    parser: Parser::Cpp,
    separator: "::",
    rules: CPP_RULES,
    unread: &[],
    heritage: &["base_class_clause"],
    bodies: Some(BODIES),
};

const CPP_RULES: &[Rule] = &[
    lead("comment"),
    lead("access_specifier"),
    lead("attribute_declaration"),
    rule("function_definition", Construct::Definition, Name::Declarator),
    container("class_specifier").defining(Defines::WithBody),
    container("struct_specifier").defining(Defines::WithBody),
    container("union_specifier").defining(Defines::WithBody),
    container("enum_specifier").defining(Defines::WithBody),
    definition("concept_definition"),
    rule("type_definition", Construct::Definition, Name::Declarator),
    value("alias_declaration"),
    rule("declaration", Construct::Value, Name::Declarator).defining(Defines::Variables),
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

pub static CPP: Language = Language {
    name: "cpp",
    extensions: &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "inl"],
    asked_extensions: &["cc", "cpp", "hpp"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&CPP_GRAMMAR),
    generated: &[".pb.cc"],
    ..Language::PLAIN
};

pub static CUDA: Language = Language {
    name: "cuda",
    extensions: &["cu", "cuh"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&CPP_GRAMMAR),
    ..Language::PLAIN
};

pub static OBJECTIVE_C: Language = Language {
    name: "objective-c",
    extensions: &["m", "mm"],
    comments: Comments::SLASHES,
    generated: &[".pbobjc.h", ".pbobjc.m"],
    ..Language::PLAIN
};

/// Whether a header of C uses words that only C++ has.
pub(crate) fn looks_like_cpp(header: &str) -> bool {
    const STARTS: &[&str] =
        &["class ", "namespace ", "template <", "template<", "using ", "public:", "private:"];
    header.lines().map(str::trim_start).any(|line| {
        STARTS.iter().any(|start| line.starts_with(start))
            || (!line.starts_with("//") && !line.starts_with('*') && line.contains("std::"))
    })
}
