//! Languages of the Java machine.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{
        Bodies, Grammar, Lexis, Parser, container as container_node, definition as definition_node,
        lead, scope,
    },
    layout::{
        BRACE_WORDS, LONG_STRINGS, Layout, Style, block, container, definition, itself, value,
    },
};

pub(super) const ALL: &[&Language] = &[&GROOVY, &JAVA, &KOTLIN, &SCALA];

pub static GROOVY: Language = Language {
    name: "groovy",
    extensions: &["groovy", "gradle", "gvy"],
    file_names: &["Jenkinsfile"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&Layout {
        attributes: &["@"],
        spans: LONG_STRINGS,
        continues: BRACE_WORDS,
        modifiers: &[
            "public",
            "private",
            "protected",
            "abstract",
            "final",
            "static",
            "synchronized",
        ],
        words: &[
            container("class"),
            container("interface"),
            container("trait"),
            container("enum"),
            definition("def"),
            definition("task"),
        ],
        shows: Style::Calls,
        ..Layout::PLAIN
    }),
    ..Language::PLAIN
};

pub static JAVA: Language = Language {
    name: "java",
    extensions: &["java"],
    asked_extensions: &["java"],
    comments: Comments::SLASHES,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Java,
        separator: ".",
        rules: &[
            lead("line_comment"),
            lead("block_comment"),
            container_node("class_declaration"),
            container_node("interface_declaration"),
            container_node("enum_declaration"),
            container_node("record_declaration"),
            container_node("annotation_type_declaration"),
            definition_node("method_declaration"),
            definition_node("constructor_declaration"),
            definition_node("compact_constructor_declaration"),
            scope("module_declaration"),
        ],
        unread: &[],
        heritage: &["superclass", "super_interfaces", "extends_interfaces", "type_list"],
        bodies: Some(Bodies::Braces {
            lexis: Lexis::Java,
            containers: &["class", "enum", "interface", "module", "record", "try"],
        }),
    }),
    test_paths: &["test.java", "tests.java"],
    generated: &[".generated.java"],
    ..Language::PLAIN
};

pub static KOTLIN: Language = Language {
    name: "kotlin",
    extensions: &["kt", "kts"],
    asked_extensions: &["kt"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&Layout {
        attributes: &["@"],
        spans: LONG_STRINGS,
        continues: BRACE_WORDS,
        modifiers: &[
            "public",
            "private",
            "protected",
            "internal",
            "open",
            "abstract",
            "final",
            "override",
            "suspend",
            "inline",
            "operator",
            "infix",
            "tailrec",
            "external",
            "data",
            "enum",
            "sealed",
            "annotation",
            "inner",
            "value",
            "lateinit",
            "const",
            "expect",
            "actual",
            "crossinline",
        ],
        words: &[
            definition("fun"),
            container("class"),
            container("interface"),
            container("object"),
            block("companion"),
            itself("constructor"),
            itself("init"),
            value("val"),
            value("var"),
            value("typealias"),
        ],
        ..Layout::PLAIN
    }),
    test_paths: &["test.kt"],
    ..Language::PLAIN
};

pub static SCALA: Language = Language {
    name: "scala",
    extensions: &["scala", "sc", "sbt"],
    asked_extensions: &["scala"],
    comments: Comments::SLASHES,
    reader: Reader::Layout(&Layout {
        attributes: &["@"],
        spans: LONG_STRINGS,
        continues: &["else", "catch", "finally", "end", "yield"],
        modifiers: &[
            "private",
            "protected",
            "override",
            "final",
            "sealed",
            "abstract",
            "implicit",
            "lazy",
            "case",
            "inline",
            "transparent",
            "open",
            "opaque",
            "infix",
        ],
        words: &[
            definition("def"),
            container("class"),
            container("trait"),
            container("object"),
            container("enum"),
            container("given"),
            value("val"),
            value("var"),
            value("type"),
        ],
        ..Layout::PLAIN
    }),
    test_paths: &["spec.scala"],
    ..Language::PLAIN
};
