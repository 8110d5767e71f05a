//! Reads the facts of JavaScript and TypeScript.

mod expected;
mod expressions;
mod functions;
mod modules;
mod patterns;
mod types;
mod variables;

use tree_sitter::Node;

use super::{
    builder::{FactBuilder, NodeRole, SyntaxRules},
    syntax::{list_named_children, make_member},
};
use crate::{BoundValue, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};
use expected::{MAX_PARAMETERS, expect_argument, expect_instance, expect_result, wrap_expected};
use functions::{visit_function_body, visit_method, visit_named_function};
use modules::{visit_export, visit_import};
use patterns::{bind_pattern, expect_member, refer_to_member, visit_loop};
use types::{visit_alias, visit_enum, visit_field_definition, visit_namespace, visit_type};
use variables::{visit_assignment, visit_declarator, visit_object, visit_passed_object};

pub(super) static SYNTAX: SyntaxRules = SyntaxRules {
    module_system: ModuleSystem::Script,
    classify: |_| NodeRole::Children,
    visit_node,
    read_node: expressions::read_node,
    member_kind: "member_expression",
    member_field: "property",
};

fn visit_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let context = builder.take_next_value();
    let expected = context.expected.as_ref();
    match node.kind() {
        "object" if context.is_returned => visit_object(builder, node, None, expected),
        "object" => visit_passed_object(builder, node, expected),
        "parenthesized_expression" => {
            builder.set_next_value(context);
            builder.visit_children(node);
        }
        "array" => {
            let item = expected.and_then(|array| {
                wrap_expected(array, |array| ShortExpression::Item(array, Vec::new()))
            });
            for element in list_named_children(node) {
                builder.visit_expected(element, item.clone());
            }
        }
        "as_expression" | "satisfies_expression" => visit_assertion(builder, node),
        "identifier" | "member_expression" => builder.visit_used(node, ReferenceKind::Read),
        "shorthand_property_identifier" => {
            builder.add_reference(ReferenceKind::Read, builder.read_name(node), node);
        }
        "call_expression" => visit_call(builder, node, "function"),
        "new_expression" => visit_call(builder, node, "constructor"),
        "assignment_expression" | "augmented_assignment_expression" => {
            visit_assignment(builder, node);
        }
        "variable_declarator" => visit_declarator(builder, node),
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            visit_named_function(builder, node, None);
        }
        "function_expression" | "arrow_function" | "generator_function" => {
            visit_function_body(builder, node, None, expected);
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            visit_method(builder, node, expected);
        }
        "import_statement" => visit_import(builder, node),
        "export_statement" => visit_export(builder, node),
        "statement_block" | "switch_body" | "for_statement" => builder.visit_block(node),
        "for_in_statement" => visit_loop(builder, node),
        "catch_clause" => builder.visit_in_scope(ScopeKind::Block, None, |builder| {
            if let Some(parameter) = node.child_by_field_name("parameter") {
                bind_pattern(builder, parameter, None);
            }
            builder.visit_field(node, "body");
        }),
        "return_statement" => visit_return(builder, node),
        "jsx_opening_element" | "jsx_self_closing_element" => visit_element(builder, node),
        "jsx_closing_element" => {
            if let Some(name) = node.child_by_field_name("name") {
                visit_component(builder, name, ReferenceKind::Read);
            }
        }
        "required_parameter" | "optional_parameter" => builder.visit_field(node, "type"),
        "comment" | "string" | "regex" | "property_identifier" | "statement_identifier" => {}
        _ => visit_type_node(builder, node),
    }
}

/// Visits a node that declares or names a type, or the children of any other.
fn visit_type_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.kind() {
        "type_identifier" => {
            builder.add_reference(ReferenceKind::Type, builder.read_name(node), node);
        }
        "nested_type_identifier" => visit_nested_type(builder, node),
        "public_field_definition" | "property_signature" => visit_field_definition(builder, node),
        "class_declaration" | "abstract_class_declaration" | "class" | "interface_declaration" => {
            visit_type(builder, node);
        }
        "object_type" => builder.visit_members(node, None, |builder| builder.visit_children(node)),
        "lookup_type" => visit_lookup(builder, node),
        "enum_declaration" => visit_enum(builder, node),
        "type_alias_declaration" => visit_alias(builder, node),
        "internal_module" | "module" => visit_namespace(builder, node),
        "type_parameter" => {
            if let Some(name) = node.child_by_field_name("name") {
                builder.bind(builder.text(name), BoundValue::Unknown);
            }
            builder.visit_field(node, "constraint");
            builder.visit_field(node, "value");
        }
        _ => builder.visit_children(node),
    }
}

/// Visits `Type['member']`.
fn visit_lookup(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_children(node);
    let name = node.named_child(1).and_then(|index| index.named_child(0));
    let holder = node.named_child(0).map(|holder| builder.read(holder));
    if let Some(name) = name.filter(|name| name.kind() == "string") {
        refer_to_member(builder, holder.as_ref(), name);
    }
}

fn visit_nested_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (Some(module), Some(name)) =
        (node.child_by_field_name("module"), node.child_by_field_name("name"))
    else {
        return;
    };
    builder.visit(module);
    let target = make_member(builder.read(module), builder.text(name));
    builder.add_reference(ReferenceKind::Type, target, name);
}

fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>, field: &str) {
    let Some(function) = node.child_by_field_name(field) else { return };
    builder.visit_used(function, ReferenceKind::Call);
    builder.visit_field(node, "type_arguments");
    let Some(arguments) = node.child_by_field_name("arguments") else { return };
    if arguments.kind() != "arguments" {
        return builder.visit(arguments);
    }
    for (place, argument) in list_named_children(arguments).into_iter().enumerate() {
        let is_typed = place < MAX_PARAMETERS && has_context(argument);
        let expected = is_typed.then(|| expect_argument(&builder.read(function), place));
        builder.visit_expected(argument, expected.flatten());
    }
}

/// Returns true for a value of which the code around it may tell the type.
fn has_context(node: Node<'_>) -> bool {
    is_function(node) || matches!(node.kind(), "object" | "array" | "parenthesized_expression")
}

/// Visits `value as Type` and `value satisfies Type`.
fn visit_assertion(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(value) = node.named_child(0) else { return };
    let asserted_type = node.named_child(1);
    let expected = asserted_type.map(|asserted| expect_instance(builder.read(asserted)));
    builder.visit_expected(value, expected);
    if let Some(asserted_type) = asserted_type {
        builder.visit(asserted_type);
    }
}

/// Visits a `return`, whose value has the type that its function is annotated with.
fn visit_return(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(value) = node.named_child(0) else { return };
    let result = builder.enclosing_function().and_then(|function| function.result.clone());
    let expected = expect_result(result.as_ref(), None);
    builder.visit_returned(value, expected);
    builder.add_returned_value(builder.read(value));
}

/// Visits the name of a component as a call, then its attributes.
fn visit_element(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = node.child_by_field_name("name");
    let is_component = name.is_some_and(|name| visit_component(builder, name, ReferenceKind::Call));
    let component = name.filter(|_| is_component).map(|name| builder.read(name));
    let properties = component.and_then(|component| expect_argument(&component, 0));
    for child in list_named_children(node) {
        match child.kind() {
            "jsx_attribute" => visit_attribute(builder, child, properties.as_ref()),
            "jsx_expression" => builder.visit(child),
            _ => {}
        }
    }
}

/// Visits the name of an element if it is that of a component, and returns true then.
fn visit_component(builder: &mut FactBuilder<'_>, name: Node<'_>, kind: ReferenceKind) -> bool {
    let is_name = name.kind() == "identifier" && builder.text(name).starts_with(char::is_uppercase);
    let is_component = is_name || name.kind() == "member_expression";
    if is_component {
        builder.visit_used(name, kind);
    }
    is_component
}

/// Visits an attribute of a component with some properties.
fn visit_attribute(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    properties: Option<&ShortExpression>,
) {
    let children = list_named_children(node);
    let Some(name) = children.first() else { return };
    let expected = expect_member(builder, *name, properties);
    if let Some(value) = children.get(1) {
        let inner = value.named_child(0).filter(|_| value.kind() == "jsx_expression");
        builder.visit_expected(inner.unwrap_or(*value), expected);
    }
}

fn unquote(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}
