//! Data, settings, schemas and SQL.

use crate::{
    Language, LanguageKind, StructureReader,
    comment::CommentSyntax,
    language::{HeadingStyle, SqlKeywords},
    layout::{DefinitionStyle, LayoutRules},
};

use super::pages::MARKUP;

pub(super) const ALL: &[&Language] = &[
    &DIFF, &GRAPHQL, &INI, &JSON, &NOTEBOOK, &PRISMA, &PROTOBUF, &SOLIDITY, &SQL, &THRIFT, &TOML,
    &XML, &YAML,
];

static KEYS: LayoutRules = LayoutRules { shows: DefinitionStyle::Keys, ..LayoutRules::PLAIN };

pub static DIFF: Language = Language {
    name: "diff",
    extensions: &["diff", "patch"],
    reader: StructureReader::Lines,
    ..Language::PLAIN
};

pub static INI: Language = Language {
    name: "ini",
    extensions: &["ini", "cfg", "conf", "properties", "editorconfig"],
    kind: LanguageKind::Settings,
    comments: CommentSyntax { line: &["#", ";", "!"], block: &[] },
    reader: StructureReader::Headings(HeadingStyle::Tables),
    ..Language::PLAIN
};

pub static NOTEBOOK: Language = Language {
    name: "notebook",
    extensions: &["ipynb"],
    asked_extensions: &["ipynb"],
    reader: StructureReader::Notebook,
    ..Language::PLAIN
};

pub static JSON: Language = Language {
    name: "json",
    extensions: &["json", "jsonc", "json5", "jsonl", "ndjson", "webmanifest"],
    asked_extensions: &["json"],
    kind: LanguageKind::Data,
    comments: CommentSyntax { line: &["//"], block: &[] },
    reader: StructureReader::Layout(&KEYS),
    ..Language::PLAIN
};

pub static TOML: Language = Language {
    name: "toml",
    extensions: &["toml"],
    asked_extensions: &["toml"],
    kind: LanguageKind::Settings,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Headings(HeadingStyle::Tables),
    ..Language::PLAIN
};

pub static XML: Language = Language {
    name: "xml",
    extensions: &["xml", "xsd", "xsl", "xslt", "csproj", "vbproj", "fsproj", "props", "targets"],
    kind: LanguageKind::Data,
    comments: CommentSyntax { line: &[], block: &[("<!--", "-->")] },
    reader: StructureReader::Layout(&MARKUP),
    ..Language::PLAIN
};

pub static YAML: Language = Language {
    name: "yaml",
    extensions: &["yaml", "yml"],
    asked_extensions: &["yaml", "yml"],
    kind: LanguageKind::Data,
    comments: CommentSyntax::HASH,
    reader: StructureReader::Layout(&KEYS),
    ..Language::PLAIN
};

pub static GRAPHQL: Language = Language {
    name: "graphql",
    extensions: &["graphql", "gql"],
    comments: CommentSyntax::HASH,
    ..Language::PLAIN
};

pub static PRISMA: Language = Language {
    name: "prisma",
    extensions: &["prisma"],
    comments: CommentSyntax { line: &["//"], block: &[] },
    ..Language::PLAIN
};

pub static PROTOBUF: Language = Language {
    name: "protobuf",
    extensions: &["proto"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static SOLIDITY: Language = Language {
    name: "solidity",
    extensions: &["sol"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static THRIFT: Language = Language {
    name: "thrift",
    extensions: &["thrift"],
    comments: CommentSyntax { line: &["//", "#"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};

pub static SQL: Language = Language {
    name: "sql",
    extensions: &["sql", "psql", "plsql"],
    asked_extensions: &["sql"],
    kind: LanguageKind::Script,
    comments: CommentSyntax { line: &["--"], block: &[("/*", "*/")] },
    reader: StructureReader::Sql(&SqlKeywords {
        separator: ".",
        verbs: &[
            "ALTER", "BEGIN", "CALL", "COMMENT", "COMMIT", "COPY", "CREATE", "DECLARE", "DELETE",
            "DELIMITER", "DROP", "EXEC", "EXPLAIN", "GO", "GRANT", "INSERT", "LOCK", "MERGE",
            "PRAGMA", "REPLACE", "REVOKE", "ROLLBACK", "SELECT", "SET", "TRUNCATE", "UNLOCK",
            "UPDATE", "USE", "WITH",
        ],
        nameless_verbs: &["SELECT", "WITH", "SET"],
        edge_verbs: &["CREATE", "ALTER", "GRANT", "DROP", "DELIMITER"],
        kinds: &[
            "TABLE", "VIEW", "FUNCTION", "PROCEDURE", "PROC", "TRIGGER", "INDEX", "TYPE",
            "SEQUENCE", "SCHEMA", "DATABASE", "DOMAIN", "POLICY", "PACKAGE", "EXTENSION", "ROLE",
            "USER", "INTO", "COLUMN", "AGGREGATE", "EVENT",
        ],
        between: &["IF", "NOT", "EXISTS", "CONCURRENTLY", "ONLY", "BODY"],
        routines: &["FUNCTION", "PROCEDURE", "PROC", "TRIGGER", "PACKAGE", "EVENT"],
        inner_ends: &["IF", "LOOP", "WHILE", "CASE", "FOR", "REPEAT"],
    }),
    ..Language::PLAIN
};
