//! Reads variables, objects and assignments of scripts.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    expected::expect_instance,
    functions::visit_function_body,
    has_context, is_function,
    modules::{assign_export, bind_required_names, find_required_module},
    patterns::{bind_pattern, expect_member},
    unquote,
};
use crate::{DefinitionIndex, DefinitionKind, ReferenceKind, ScopeKind, ShortExpression};

pub(super) fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    if !matches!(left.kind(), "object_pattern" | "array_pattern") {
        builder.visit_used(left, ReferenceKind::Write);
    }
    if left.kind() == "member_expression" {
        define_assigned_member(builder, node, left);
    }
    if let Some(right) = node.child_by_field_name("right") {
        let expected = has_context(right).then(|| builder.read(left));
        builder.visit_expected(right, expected);
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
    } else if let Some(object) = find_object(value) {
        let asserted_type = value.named_child(1).filter(|_| object != value);
        let asserted = asserted_type.map(|asserted| expect_instance(builder.read(asserted)));
        builder.add_type(defined, annotation, None);
        let known_type = asserted.as_ref().or(expected);
        builder.descend(|builder| visit_object(builder, object, defined, known_type));
        if let Some(asserted_type) = asserted_type {
            builder.visit(asserted_type);
        }
    } else {
        builder.add_type(defined, annotation, Some(builder.read(value)));
        builder.visit_expected(value, expected.cloned());
    }
}

/// Returns an object, also with an assertion of its type or in parentheses.
fn find_object(node: Node<'_>) -> Option<Node<'_>> {
    let object = match node.kind() {
        "as_expression" | "satisfies_expression" | "parenthesized_expression" => {
            node.named_child(0)?
        }
        _ => node,
    };
    (object.kind() == "object").then_some(object)
}

/// Visits an object that a definition holds or a function returns, and defines its members.
pub(super) fn visit_object(
    builder: &mut FactBuilder<'_>,
    object: Node<'_>,
    holder: Option<DefinitionIndex>,
    expected: Option<&ShortExpression>,
) {
    builder.visit_members(object, holder, |builder| {
        for child in list_named_children(object) {
            let name = find_entry_name(child);
            let member = name.and_then(|name| expect_member(builder, name, expected));
            match (child.kind(), name) {
                ("pair", Some(name)) => {
                    let nodes = DefinitionNodes { name, definition: child };
                    define_value(builder, DefinitionKind::Field, nodes, None, member.as_ref());
                }
                ("shorthand_property_identifier", Some(name)) => {
                    builder.visit(child);
                    let nodes = DefinitionNodes { name, definition: child };
                    let defined = builder.define(DefinitionKind::Field, builder.text(name), nodes);
                    builder.add_type(defined, None, Some(builder.read_name(name)));
                }
                _ => builder.visit_expected(child, member),
            }
        }
    });
}

/// Visits an object that is passed on, whose members no reference leads to.
pub(super) fn visit_passed_object(
    builder: &mut FactBuilder<'_>,
    object: Node<'_>,
    expected: Option<&ShortExpression>,
) {
    builder.visit_in_scope(ScopeKind::Type, None, |builder| {
        for child in list_named_children(object) {
            let name = find_entry_name(child);
            let member = name.and_then(|name| expect_member(builder, name, expected));
            match child.child_by_field_name("value") {
                Some(value) if child.kind() == "pair" && name.is_some() => {
                    builder.visit_expected(value, member);
                }
                _ => builder.visit_expected(child, member),
            }
        }
    });
}

fn find_entry_name(entry: Node<'_>) -> Option<Node<'_>> {
    let name = match entry.kind() {
        "pair" => entry.child_by_field_name("key"),
        "method_definition" => entry.child_by_field_name("name"),
        "shorthand_property_identifier" => Some(entry),
        _ => None,
    };
    name.filter(|name| name.kind() != "computed_property_name")
}
