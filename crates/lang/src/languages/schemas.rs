//! Languages that describe messages, tables and contracts.

use crate::{Language, comment::Comments};

pub(super) const ALL: &[&Language] = &[&GRAPHQL, &PRISMA, &PROTOBUF, &SOLIDITY, &THRIFT];

pub static GRAPHQL: Language = Language {
    name: "graphql",
    extensions: &["graphql", "gql"],
    comments: Comments::HASH,
    ..Language::PLAIN
};

pub static PRISMA: Language = Language {
    name: "prisma",
    extensions: &["prisma"],
    comments: Comments { line: &["//"], block: &[] },
    ..Language::PLAIN
};

pub static PROTOBUF: Language = Language {
    name: "protobuf",
    extensions: &["proto"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};

pub static SOLIDITY: Language = Language {
    name: "solidity",
    extensions: &["sol"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};

pub static THRIFT: Language = Language {
    name: "thrift",
    extensions: &["thrift"],
    comments: Comments { line: &["//", "#"], block: &[("/*", "*/")] },
    ..Language::PLAIN
};
