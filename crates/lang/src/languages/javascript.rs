//! JavaScript and TypeScript.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, ConstructKind, GrammarRules, LexicalSyntax, NameSource, NodeRule, ParserId,
        container_node, definition_node, lead_node, node_rule, scope_node, value_node,
        wrapper_node,
    },
};

pub(super) const ALL: &[&Language] = &[&JAVASCRIPT, &TSX, &TYPESCRIPT];

const BODIES: BodySyntax = BodySyntax::Braces {
    lexis: LexicalSyntax::Script,
    containers: &["class", "enum", "global", "interface", "module", "namespace", "try"],
};

/// Values that make a variable, field or property a definition.
const VALUE: NameSource = NameSource::Function(&[
    "arrow_function", "function_expression", "function", "generator_function", "class",
]);

const RULES: &[NodeRule] = &[
    lead_node("comment"),
    lead_node("decorator"),
    definition_node("function_declaration"),
    definition_node("generator_function_declaration"),
    container_node("class_declaration"),
    container_node("abstract_class_declaration"),
    container_node("interface_declaration"),
    container_node("enum_declaration"),
    definition_node("method_definition"),
    value_node("method_signature"),
    value_node("abstract_method_signature"),
    value_node("function_signature"),
    value_node("type_alias_declaration"),
    node_rule("variable_declarator", ConstructKind::Definition, VALUE),
    node_rule("public_field_definition", ConstructKind::Definition, VALUE),
    node_rule("field_definition", ConstructKind::Definition, VALUE),
    node_rule("pair", ConstructKind::Definition, VALUE),
    node_rule("assignment_expression", ConstructKind::Definition, VALUE),
    wrapper_node("lexical_declaration"),
    wrapper_node("variable_declaration"),
    wrapper_node("export_statement"),
    wrapper_node("ambient_declaration"),
    wrapper_node("expression_statement"),
    scope_node("internal_module"),
    scope_node("module"),
];

const HERITAGE: &[&str] =
    &["class_heritage", "extends_clause", "implements_clause", "extends_type_clause"];

const fn build_grammar(parser: ParserId) -> GrammarRules {
    GrammarRules {
        parser,
        separator: ".",
        rules: RULES,
        unread: &[],
        heritage: HERITAGE,
        bodies: Some(BODIES),
    }
}
pub static JAVASCRIPT: Language = Language {
    name: "javascript",
    extensions: &["js", "jsx", "mjs", "cjs", "es6"],
    asked_extensions: &["js", "jsx", "mjs"],
    shebangs: &["node", "nodejs", "bun"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&build_grammar(ParserId::Javascript)),
    generated: &[".bundle.js", ".chunk.js", ".generated.js", ".min.js", ".min.mjs", "_pb.js"],
    ..Language::PLAIN
};

pub static TSX: Language = Language {
    name: "tsx",
    extensions: &["tsx"],
    asked_extensions: &["tsx"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&build_grammar(ParserId::Tsx)),
    generated: &[".generated.tsx"],
    ..Language::PLAIN
};

pub static TYPESCRIPT: Language = Language {
    name: "typescript",
    extensions: &["ts", "mts", "cts"],
    asked_extensions: &["ts"],
    shebangs: &["ts-node", "tsx", "deno"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&build_grammar(ParserId::Typescript)),
    generated: &[".generated.ts", "_pb.ts"],
    declarations: &[".d.ts"],
    ..Language::PLAIN
};
