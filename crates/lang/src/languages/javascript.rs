//! JavaScript and TypeScript.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{
        Bodies, Construct, Grammar, Lexis, Name, Parser, Rule, container, definition, lead, rule,
        scope, value, wrapper,
    },
};

pub(super) const ALL: &[&Language] = &[&JAVASCRIPT, &TSX, &TYPESCRIPT];

const BODIES: Bodies = Bodies::Braces {
    lexis: Lexis::Script,
    containers: &["class", "enum", "global", "interface", "module", "namespace", "try"],
};

/// A variable, field or property is a definition when it holds one of these.
const VALUE: Name = Name::Function(&[
    "arrow_function",
    "function_expression",
    "function",
    "generator_function",
    "class",
]);

const RULES: &[Rule] = &[
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
    rule("variable_declarator", Construct::Definition, VALUE),
    rule("public_field_definition", Construct::Definition, VALUE),
    rule("field_definition", Construct::Definition, VALUE),
    rule("pair", Construct::Definition, VALUE),
    rule("assignment_expression", Construct::Definition, VALUE),
    wrapper("lexical_declaration"),
    wrapper("variable_declaration"),
    wrapper("export_statement"),
    wrapper("ambient_declaration"),
    wrapper("expression_statement"),
    scope("internal_module"),
    scope("module"),
];

const HERITAGE: &[&str] =
    &["class_heritage", "extends_clause", "implements_clause", "extends_type_clause"];

const fn grammar(parser: Parser) -> Grammar {
    Grammar {
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
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&grammar(Parser::Javascript)),
    generated: &[".bundle.js", ".chunk.js", ".generated.js", ".min.js", ".min.mjs", "_pb.js"],
    ..Language::PLAIN
};

pub static TSX: Language = Language {
    name: "tsx",
    extensions: &["tsx"],
    asked_extensions: &["tsx"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&grammar(Parser::Tsx)),
    generated: &[".generated.tsx"],
    ..Language::PLAIN
};

pub static TYPESCRIPT: Language = Language {
    name: "typescript",
    extensions: &["ts", "mts", "cts"],
    asked_extensions: &["ts"],
    shebangs: &["ts-node", "tsx", "deno"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&grammar(Parser::Typescript)),
    generated: &[".generated.ts", "_pb.ts"],
    declarations: &[".d.ts"],
    ..Language::PLAIN
};
