//! PHP.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{Bodies, Grammar, Lexis, Parser, container, definition, lead, transparent},
};

pub(super) const ALL: &[&Language] = &[&PHP];

pub static PHP: Language = Language {
    name: "php",
    extensions: &["php", "phtml", "php5", "php7"],
    asked_extensions: &["php"],
    shebangs: &["php"],
    comments: Comments { line: &["//", "#"], block: &[("/*", "*/")] },
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Php,
        separator: "::",
        rules: &[
            lead("comment"),
            lead("attribute_list"),
            container("class_declaration"),
            container("interface_declaration"),
            container("trait_declaration"),
            container("enum_declaration"),
            definition("function_definition"),
            definition("method_declaration"),
            transparent("namespace_definition"),
        ],
        unread: &[],
        heritage: &["base_clause", "class_interface_clause"],
        bodies: Some(Bodies::Braces {
            lexis: Lexis::Php,
            containers: &["class", "enum", "interface", "namespace", "trait", "try"],
        }),
    }),
    test_paths: &["test.php"],
    ..Language::PLAIN
};
