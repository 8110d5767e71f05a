//! Reads variables, objects and assignments of scripts.

use tree_sitter::Node;

use super::{
    super::builder::{DefinitionNodes, FactBuilder},
    expected::{expect_instance, visit_asserted, visit_expected, visit_object},
    functions::visit_function_body,
    is_function,
    modules::{assign_export, bind_required_names, find_required_module},
    patterns::bind_pattern,
    unquote,
};
use crate::facts::{DefinitionKind, ReferenceKind, ShortExpression};

pub(super) fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    if !matches!(left.kind(), "object_pattern" | "array_pattern") {
        builder.visit_used(left, ReferenceKind::Write);
    }
    if left.kind() == "member_expression" {
        define_assigned_member(builder, node, left);
    }
    if let Some(right) = node.child_by_field_name("right") {
        let expected = builder.read(left);
        visit_expected(builder, right, Some(&expected));
    }
}

/// Defines `this.name = …` in its type, and binds `exports.name = …` in the file.
fn define_assigned_member(builder: &mut FactBuilder<'_>, node: Node<'_>, left: Node<'_>) {
    let (Some(object), Some(name)) =
        (left.child_by_field_name("object"), left.child_by_field_name("property"))
    else {
        return;
    };
    let value = builder.read_field(node, "right").unwrap_or(ShortExpression::Unknown);
    if object.kind() != "this" {
        assign_export(builder, builder.text(object), builder.text(name), value);
    } else if let Some(scope) = builder.enclosing_type_body() {
        let nodes = DefinitionNodes { name, definition: node };
        let defined = builder.define_once(scope, builder.text(name), nodes);
        builder.add_type(defined, None, Some(value));
    }
}

/// Visits a variable with its value.
pub(super) fn visit_declarator(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    let Some(name) = node.child_by_field_name("name") else { return };
    let value = node.child_by_field_name("value");
    let required = value.and_then(|value| find_required_module(builder, value));
    if let Some(module) = required
        && name.kind() == "object_pattern"
    {
        return bind_required_names(builder, name, module);
    }
    if name.kind() != "identifier" {
        builder.visit_field(node, "value");
        let source = value.map(|value| builder.read(value));
        bind_pattern(builder, name, source.as_ref());
        return;
    }
    if let Some(module) = required {
        builder.bind_import(builder.text(name), module, None);
        return;
    }
    let annotation = builder.read_field(node, "type");
    let nodes = DefinitionNodes { name, definition: node };
    let expected = annotation.clone().map(expect_instance);
    define_value(builder, DefinitionKind::Variable, nodes, annotation, expected.as_ref());
}

/// Defines a name as the function, object or other value of its definition.
pub(super) fn define_value(
    builder: &mut FactBuilder<'_>,
    kind: DefinitionKind,
    nodes: DefinitionNodes<'_>,
    annotation: Option<ShortExpression>,
    expected: Option<&ShortExpression>,
) {
    let value = nodes.definition.child_by_field_name("value");
    let is_function = value.is_some_and(is_function);
    let kind = if is_function { DefinitionKind::Function } else { kind };
    let defined = builder.define(kind, unquote(builder.text(nodes.name)), nodes);
    let Some(value) = value else { return builder.add_type(defined, annotation, None) };
    if is_function {
        visit_function_body(builder, value, defined, expected);
    } else if value.kind() == "object" {
        builder.add_type(defined, annotation, None);
        builder.descend(|builder| visit_object(builder, value, defined, expected));
    } else if value.kind().ends_with("_expression") && has_object(value) {
        builder.add_type(defined, annotation, None);
        builder.descend(|builder| visit_asserted(builder, value, defined));
    } else {
        builder.add_type(defined, annotation, Some(builder.read(value)));
        visit_expected(builder, value, expected);
    }
}

/// Returns true for an object with an assertion of its type or in parentheses.
fn has_object(node: Node<'_>) -> bool {
    matches!(node.kind(), "as_expression" | "satisfies_expression" | "parenthesized_expression")
        && node.named_child(0).is_some_and(|inner| inner.kind() == "object")
}
