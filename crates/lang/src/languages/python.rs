//! Python and Starlark.

use crate::{
    Language, Reader,
    comment::Comments,
    grammar::{Bodies, Grammar, Parser, container, definition, label, lead, wrapper},
};

pub(super) const ALL: &[&Language] = &[&PYTHON, &STARLARK];

/// What documents code is a string, on a line of its own.
const COMMENTS: Comments =
    Comments { line: &["#"], block: &[("\"\"\"", "\"\"\""), ("'''", "'''")] };

pub static PYTHON: Language = Language {
    name: "python",
    extensions: &["py", "pyi", "pyx", "pxd", "pyw"],
    asked_extensions: &["py"],
    file_names: &["SConstruct", "SConscript"],
    shebangs: &["python", "pypy", "uv"],
    comments: COMMENTS,
    reader: Reader::Grammar(&Grammar {
        parser: Parser::Python,
        separator: ".",
        rules: &[
            lead("comment"),
            lead("decorator"),
            definition("function_definition"),
            container("class_definition"),
            wrapper("decorated_definition"),
            label("assignment", "left"),
        ],
        unread: &[],
        heritage: &["argument_list"],
        bodies: Some(Bodies::Indentation),
    }),
    generated: &["_pb2.py", "_pb2.pyi", "_pb2_grpc.py"],
    declarations: &[".pyi"],
    test_starts: &["test_"],
    ..Language::PLAIN
};

pub static STARLARK: Language = Language {
    name: "starlark",
    extensions: &["bzl", "star", "bazel"],
    file_names: &["BUILD", "WORKSPACE", "BUILD.bazel", "WORKSPACE.bazel", "MODULE.bazel"],
    comments: COMMENTS,
    ..Language::PLAIN
};
