//! Reads variables, objects and assignments of scripts.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    functions::visit_function_body,
    is_function,
    modules::{assign_export, find_required_module},
    patterns::bind_pattern,
    unquote,
};
use crate::facts::{DefinitionIndex, DefinitionKind, ReferenceKind, ScopeKind, ShortExpression};

pub(super) fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    if !matches!(left.kind(), "object_pattern" | "array_pattern") {
        builder.visit_used(left, ReferenceKind::Write);
    }
    if left.kind() == "member_expression" {
        define_assigned_member(builder, node, left);
    }
    builder.visit_field(node, "right");
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
    if name.kind() != "identifier" {
        builder.visit_field(node, "value");
        let source = value.map(|value| builder.read(value));
        bind_pattern(builder, name, source.as_ref());
        return;
    }
    if let Some(module) = value.and_then(|value| find_required_module(builder, value)) {
        builder.bind_import(builder.text(name), module, None);
        return;
    }
    let annotation = builder.read_field(node, "type");
    let nodes = DefinitionNodes { name, definition: node };
    define_value(builder, DefinitionKind::Variable, nodes, annotation);
}

/// Defines a name as the function, object or other value of its definition.
fn define_value(
    builder: &mut FactBuilder<'_>,
    kind: DefinitionKind,
    nodes: DefinitionNodes<'_>,
    annotation: Option<ShortExpression>,
) {
    let value = nodes.definition.child_by_field_name("value");
    let is_function = value.is_some_and(is_function);
    let kind = if is_function { DefinitionKind::Function } else { kind };
    let defined = builder.define(kind, unquote(builder.text(nodes.name)), nodes);
    match value {
        Some(value) if is_function => visit_function_body(builder, value, defined),
        Some(value) if is_object(value) => {
            builder.add_type(defined, annotation, None);
            builder.descend(|builder| visit_object(builder, value, defined));
        }
        Some(value) => {
            builder.add_type(defined, annotation, Some(builder.read(value)));
            builder.visit(value);
        }
        None => builder.add_type(defined, annotation, None),
    }
}

fn is_object(node: Node<'_>) -> bool {
    match node.kind() {
        "object" => true,
        "as_expression" | "satisfies_expression" | "parenthesized_expression" => {
            node.named_child(0).is_some_and(|inner| inner.kind() == "object")
        }
        _ => false,
    }
}

/// Visits an object whose members are found through the name that holds it.
fn visit_object(builder: &mut FactBuilder<'_>, value: Node<'_>, holder: Option<DefinitionIndex>) {
    let mut object = value;
    if value.kind() != "object" {
        for asserted_type in list_named_children(value).into_iter().skip(1) {
            builder.visit(asserted_type);
        }
        let Some(inner) = value.named_child(0) else { return };
        object = inner;
    }
    builder.visit_in_scope(ScopeKind::Type, holder, |builder| {
        for child in list_named_children(object) {
            let key = child.child_by_field_name("key").filter(|_| child.kind() == "pair");
            match key {
                Some(name) if name.kind() != "computed_property_name" => {
                    let nodes = DefinitionNodes { name, definition: child };
                    define_value(builder, DefinitionKind::Field, nodes, None);
                }
                _ => builder.visit(child),
            }
        }
    });
}
