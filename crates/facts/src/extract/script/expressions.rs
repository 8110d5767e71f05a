//! Reads expressions and types of scripts.

use tree_sitter::Node;

use super::super::{
    builder::FactBuilder,
    syntax::{ExpressionReader, list_named_children},
};
use super::{expected::MAX_PARAMETERS, unquote};
use crate::ShortExpression;

pub(super) fn read_node(
    builder: &FactBuilder<'_>,
    node: Node<'_>,
    depth: usize,
) -> ShortExpression {
    let reader = ExpressionReader { builder, depth };
    match node.kind() {
        "identifier" | "type_identifier" | "shorthand_property_identifier" => {
            builder.read_name(node)
        }
        "this" | "this_type" => ShortExpression::This,
        "super" => ShortExpression::Super,
        "member_expression" => reader
            .read_member(node.child_by_field_name("object"), builder.field_text(node, "property")),
        "nested_type_identifier" | "nested_identifier" => read_nested_name(&reader, node),
        "new_expression" => {
            let constructor = reader.read_part(node.child_by_field_name("constructor"));
            ShortExpression::Call(Box::new(constructor), Vec::new())
        }
        "call_expression" => reader.read_call(node.child_by_field_name("function"), node),
        "generic_type" => {
            let list = node.child_by_field_name("type_arguments");
            let arguments = list.map(list_named_children).unwrap_or_default();
            reader.read_item(node.child_by_field_name("name"), arguments)
        }
        "array_type" => reader.read_container("Array", node),
        "union_type" | "intersection_type" => {
            reader.read_either(node.named_child(0), node.named_child(1))
        }
        "object_type" | "object" => builder.read_members(node),
        "lookup_type" => read_lookup(&reader, node),
        "type_query" => reader.read_container("type", node),
        "function_type" => read_signature(&reader, node),
        "binary_expression" => match builder.field_text(node, "operator") {
            "||" | "??" => reader.read_either(node.named_child(0), node.named_child(1)),
            _ => ShortExpression::Unknown,
        },
        "ternary_expression" | "conditional_type" => reader.read_either(
            node.child_by_field_name("consequence"),
            node.child_by_field_name("alternative"),
        ),
        "as_expression" => read_assertion(&reader, node),
        "await_expression" => reader.read_awaited(node),
        "subscript_expression" => {
            let object = reader.read_part(node.child_by_field_name("object"));
            ShortExpression::Item(Box::new(object), Vec::new())
        }
        "type_annotation"
        | "parenthesized_expression"
        | "non_null_expression"
        | "satisfies_expression"
        | "parenthesized_type"
        | "readonly_type"
        | "class_heritage" => reader.read_part(node.named_child(0)),
        "assignment_expression" => reader.read_part(node.child_by_field_name("right")),
        "string"
        | "number"
        | "true"
        | "false"
        | "null"
        | "undefined"
        | "template_string"
        | "regex"
        | "array"
        | "predefined_type"
        | "literal_type"
        | "arrow_function"
        | "function_expression"
        | "unary_expression" => ShortExpression::Outside,
        _ => ShortExpression::Unknown,
    }
}

fn read_nested_name(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let module = node.child_by_field_name("module").or_else(|| node.child_by_field_name("object"));
    let member = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
    let name = member.map(|member| reader.builder.text(member)).unwrap_or_default();
    reader.read_member(module, name)
}

/// Reads `Type['member']` or `Type[number]`.
fn read_lookup(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let index = node.named_child(1).and_then(|index| index.named_child(0));
    match index.filter(|index| index.kind() == "string") {
        Some(name) => reader.read_member(node.named_child(0), unquote(reader.builder.text(name))),
        None => ShortExpression::Item(Box::new(reader.read_part(node.named_child(0))), Vec::new()),
    }
}

fn read_signature(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let parameters = node.child_by_field_name("parameters").map(list_named_children);
    let types = parameters.unwrap_or_default().into_iter().take(MAX_PARAMETERS);
    let read_types = types.map(|parameter| reader.read_part(parameter.child_by_field_name("type")));
    let result = reader.read_part(node.child_by_field_name("return_type"));
    ShortExpression::Signature(read_types.collect(), Box::new(result))
}

/// Reads `value as Type` as an instance of the type, and `value as const` as the value.
fn read_assertion(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let children = list_named_children(node);
    match children.get(1) {
        Some(kind) => ShortExpression::Typed(Box::new(reader.read_part(Some(*kind)))),
        None => reader.read_part(children.first().copied()),
    }
}
