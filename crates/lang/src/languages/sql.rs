//! SQL.

use crate::{
    Language, LanguageKind, StructureReader, comment::CommentSyntax, language::SqlKeywords,
};

pub(super) const ALL: &[&Language] = &[&SQL];

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
