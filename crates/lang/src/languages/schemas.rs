//! Languages that define messages, tables and contracts.

use crate::{Language, comment::CommentSyntax};

pub(super) const ALL: &[&Language] = &[&GRAPHQL, &PRISMA, &PROTOBUF, &SOLIDITY, &THRIFT];

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
