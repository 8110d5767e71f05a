//! Reads expressions and annotations of Python.

use tree_sitter::Node;

use super::super::{
    builder::{FactBuilder, MAX_NAME_BYTES},
    syntax::{ExpressionReader, list_named_children, make_member},
};
use crate::{ReferenceKind, ShortExpression};

/// Visits an annotation, whose names are uses of types.
pub(super) fn visit_annotation(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for child in list_named_children(node) {
        match child.kind() {
            "identifier" | "attribute" => builder.visit_used(child, ReferenceKind::Type),
            "type" => visit_annotation(builder, child),
            "string" => visit_quoted_type(builder, child),
            _ => builder.descend(|builder| visit_annotation(builder, child)),
        }
    }
}

/// Refers to the names in a quoted annotation.
fn visit_quoted_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let text = builder.text(node);
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let mut rest = text.trim_start_matches(is_part);
    while let Some(start) = rest.find(is_part) {
        let path = rest.get(start..).unwrap_or_default();
        let end = path.find(|letter| !is_part(letter)).unwrap_or(path.len());
        let (path, after) = path.split_at(end);
        let offset =
            text.len() - after.len() - path.len() + path.rfind('.').map_or(0, |dot| dot + 1);
        builder.add_reference_at(ReferenceKind::Type, read_quoted_type(path), node, offset);
        rest = after;
    }
}

pub(super) fn read_annotation_field(
    builder: &FactBuilder<'_>,
    node: Node<'_>,
) -> Option<ShortExpression> {
    node.child_by_field_name("type").map(|annotation| read_annotation(builder, annotation))
}

/// Reads an annotation as an expression. A string is read as the name of a type.
pub(super) fn read_annotation(builder: &FactBuilder<'_>, node: Node<'_>) -> ShortExpression {
    let mut inner = node;
    while inner.kind() == "type" {
        let Some(child) = inner.named_child(0) else { return ShortExpression::Unknown };
        inner = child;
    }
    match inner.kind() {
        "string" => read_quoted_type(builder.text(inner)),
        _ => builder.read(inner),
    }
}

/// Reads the name of a type in a string; unknown if the string has anything else.
fn read_quoted_type(text: &str) -> ShortExpression {
    let path = text.trim_matches(['"', '\'']);
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    if path.len() > MAX_NAME_BYTES || !path.split('.').all(is_name) {
        return ShortExpression::Unknown;
    }
    let mut parts = path.split('.');
    let first = parts.next().unwrap_or_default();
    parts.fold(ShortExpression::Name(first.to_owned()), make_member)
}

pub(super) fn read_node(
    builder: &FactBuilder<'_>,
    node: Node<'_>,
    depth: usize,
) -> ShortExpression {
    let reader = ExpressionReader { builder, depth };
    if matches!(node.kind(), "attribute" | "subscript")
        && let Some(kind) = builder.find_narrowed(node)
    {
        return kind;
    }
    match node.kind() {
        "identifier" => builder.read_narrowed(node),
        "attribute" => reader
            .read_member(node.child_by_field_name("object"), builder.field_text(node, "attribute")),
        "call" if builder.field_text(node, "function") == "super" => ShortExpression::Super,
        "call" => reader.read_call(node.child_by_field_name("function"), node),
        "subscript" => {
            let items: Vec<Node<'_>> =
                node.children_by_field_name("subscript", &mut node.walk()).collect();
            let value = node.child_by_field_name("value");
            match items.as_slice() {
                [item] if item.kind() == "integer" => {
                    let place = builder.text(*item).parse().unwrap_or(u8::MAX);
                    ShortExpression::Part(Box::new(reader.read_part(value)), place)
                }
                _ => reader.read_item(value, items),
            }
        }
        "generic_type" => {
            let arguments = node.named_child(1).map(list_named_children).unwrap_or_default();
            reader.read_item(node.named_child(0), arguments)
        }
        "type" | "parenthesized_expression" | "as_pattern" => reader.read_part(node.named_child(0)),
        "string" => read_string(builder, node),
        "await" => reader.read_awaited(node),
        "conditional_expression" => reader.read_either(node.named_child(0), node.named_child(2)),
        "boolean_operator" | "binary_operator" | "union_type" => {
            if matches!(builder.field_text(node, "operator"), "or" | "|" | "") {
                reader.read_either(node.named_child(0), node.named_child(1))
            } else {
                ShortExpression::Unknown
            }
        }
        "named_expression" => reader.read_part(node.child_by_field_name("value")),
        "tuple" | "expression_list" => reader.read_tuple(list_named_children(node)),
        "integer"
        | "float"
        | "true"
        | "false"
        | "none"
        | "list"
        | "dictionary"
        | "set"
        | "list_comprehension"
        | "dictionary_comprehension"
        | "set_comprehension"
        | "generator_expression"
        | "comparison_operator"
        | "not_operator"
        | "concatenated_string" => ShortExpression::Outside,
        _ => ShortExpression::Unknown,
    }
}

/// Reads a string: a type where one is expected, else a literal.
fn read_string(builder: &FactBuilder<'_>, node: Node<'_>) -> ShortExpression {
    let is_annotation = node
        .parent()
        .is_some_and(|parent| matches!(parent.kind(), "type" | "type_parameter" | "generic_type"));
    match read_quoted_type(builder.text(node)) {
        ShortExpression::Unknown => ShortExpression::Outside,
        quoted if is_annotation => quoted,
        _ => ShortExpression::Outside,
    }
}
