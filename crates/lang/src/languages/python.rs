//! Python and Starlark.

use crate::{
    Language, StructureReader,
    comment::CommentSyntax,
    grammar::{
        BodySyntax, GrammarRules, ParserId, container_node, definition_node, label_node, lead_node,
        wrapper_node,
    },
};

pub(super) const ALL: &[&Language] = &[&PYTHON, &STARLARK];

/// Documentation of code: a string on its own line.
const COMMENTS: CommentSyntax =
    CommentSyntax { line: &["#"], block: &[("\"\"\"", "\"\"\""), ("'''", "'''")] };

pub static PYTHON: Language = Language {
    name: "python",
    extensions: &["py", "pyi", "pyx", "pxd", "pyw"],
    asked_extensions: &["py"],
    file_names: &["SConstruct", "SConscript"],
    shebangs: &["python", "pypy", "uv"],
    comments: COMMENTS,
    reader: StructureReader::Grammar(&GrammarRules {
        parser: ParserId::Python,
        separator: ".",
        rules: &[
            lead_node("comment"),
            lead_node("decorator"),
            definition_node("function_definition"),
            container_node("class_definition"),
            wrapper_node("decorated_definition"),
            label_node("assignment", "left"),
        ],
        unread: &[],
        heritage: &["argument_list"],
        bodies: Some(BodySyntax::Indentation),
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
