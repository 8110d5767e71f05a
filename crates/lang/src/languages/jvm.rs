//! Languages of the Java virtual machine.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, GrammarRules, LexicalSyntax, ParserId, container_node, definition_node,
        lead_node, scope_node,
    },
    layout::{
        BRACE_WORDS, DefinitionStyle, LONG_STRINGS, LayoutRules, container_keyword,
        definition_keyword, self_named_container, self_named_definition, value_keyword,
    },
};

pub(super) const ALL: &[&Language] = &[&GROOVY, &JAVA, &KOTLIN, &SCALA];

pub static GROOVY: Language = Language {
    name: "groovy",
    extensions: &["groovy", "gradle", "gvy"],
    file_names: &["Jenkinsfile"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["@"],
        spans: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        continues: BRACE_WORDS,
        modifiers: &[
            "public", "private", "protected", "abstract", "final", "static", "synchronized",
        ],
        words: &[
            container_keyword("class"),
            container_keyword("interface"),
            container_keyword("trait"),
            container_keyword("enum"),
            definition_keyword("def"),
            definition_keyword("task"),
        ],
        shows: DefinitionStyle::Calls,
        ..LayoutRules::PLAIN
    }),
    ..Language::PLAIN
};

pub static JAVA: Language = Language {
    name: "java",
    extensions: &["java"],
    asked_extensions: &["java"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Java,
        separator: ".",
        rules: &[
            lead_node("line_comment"),
            lead_node("block_comment"),
            container_node("class_declaration"),
            container_node("interface_declaration"),
            container_node("enum_declaration"),
            container_node("record_declaration"),
            container_node("annotation_type_declaration"),
            definition_node("method_declaration"),
            definition_node("constructor_declaration"),
            definition_node("compact_constructor_declaration"),
            scope_node("module_declaration"),
        ],
        unread: &[],
        heritage: &["superclass", "super_interfaces", "extends_interfaces", "type_list"],
        bodies: Some(BodySyntax::Braces {
            lexis: LexicalSyntax::Java,
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
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["@"],
        spans: LONG_STRINGS,
        continues: BRACE_WORDS,
        modifiers: &[
            "public", "private", "protected", "internal", "open", "abstract", "final", "override",
            "suspend", "inline", "operator", "infix", "tailrec", "external", "data", "enum",
            "sealed", "annotation", "inner", "value", "lateinit", "const", "expect", "actual",
            "crossinline",
        ],
        words: &[
            definition_keyword("fun"),
            container_keyword("class"),
            container_keyword("interface"),
            container_keyword("object"),
            self_named_container("companion"),
            self_named_definition("constructor"),
            self_named_definition("init"),
            value_keyword("val"),
            value_keyword("var"),
            value_keyword("typealias"),
        ],
        ..LayoutRules::PLAIN
    }),
    test_paths: &["test.kt"],
    ..Language::PLAIN
};

pub static SCALA: Language = Language {
    name: "scala",
    extensions: &["scala", "sc", "sbt"],
    asked_extensions: &["scala"],
    comments: CommentSyntax::SLASHES,
    reader: StructureReader::Layout(&LayoutRules {
        attributes: &["@"],
        spans: LONG_STRINGS,
        continues: &["else", "catch", "finally", "end", "yield"],
        modifiers: &[
            "private", "protected", "override", "final", "sealed", "abstract", "implicit", "lazy",
            "case", "inline", "transparent", "open", "opaque", "infix",
        ],
        words: &[
            definition_keyword("def"),
            container_keyword("class"),
            container_keyword("trait"),
            container_keyword("object"),
            container_keyword("enum"),
            container_keyword("given"),
            value_keyword("val"),
            value_keyword("var"),
            value_keyword("type"),
        ],
        ..LayoutRules::PLAIN
    }),
    test_paths: &["spec.scala"],
    ..Language::PLAIN
};
