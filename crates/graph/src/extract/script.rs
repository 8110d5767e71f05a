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
    builder::{FactBuilder, SyntaxRules},
    syntax::{list_named_children, make_member},
};
use crate::facts::{BoundValue, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};
use expected::{
    expect_argument, expect_instance, visit_arguments, visit_expected, visit_returned,
    wrap_expected,
};
use functions::{visit_method, visit_named_function};
use modules::{visit_export, visit_import};
use patterns::{bind_pattern, refer_to_member, visit_loop};
use types::{visit_alias, visit_enum, visit_field_definition, visit_namespace, visit_type};
use variables::{visit_assignment, visit_declarator};

pub(super) static SYNTAX: SyntaxRules = SyntaxRules {
    module_system: ModuleSystem::Script,
    visit_node,
    read_node: expressions::read_node,
    member_kind: "member_expression",
    member_field: "property",
};

fn visit_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.kind() {
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
        "function_expression"
        | "arrow_function"
        | "generator_function"
        | "object"
        | "as_expression"
        | "satisfies_expression" => visit_expected(builder, node, None),
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            visit_method(builder, node, None);
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
        "object_type" => builder.visit_members(node, |builder| builder.visit_children(node)),
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
        refer_to_member(builder, ReferenceKind::Type, holder.as_ref(), name);
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
    if let Some(function) = node.child_by_field_name(field) {
        builder.visit_used(function, ReferenceKind::Call);
    }
    builder.visit_field(node, "type_arguments");
    match (node.child_by_field_name("arguments"), node.child_by_field_name(field)) {
        (Some(arguments), Some(function)) if arguments.kind() == "arguments" => {
            visit_arguments(builder, arguments, function);
        }
        (Some(arguments), _) => builder.visit(arguments),
        _ => {}
    }
}

/// Visits a `return`, whose value has the type that its function is annotated with.
fn visit_return(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(value) = node.named_child(0) else { return };
    let result = builder.enclosing_function().and_then(|function| function.result.clone());
    let expected = result.map(|result| ShortExpression::Awaited(Box::new(expect_instance(result))));
    visit_returned(builder, value, expected.as_ref());
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
    refer_to_member(builder, ReferenceKind::Write, properties, *name);
    let text = builder.text(*name);
    let expected =
        properties.and_then(|holder| wrap_expected(holder, |holder| make_member(*holder, text)));
    for value in children.iter().skip(1) {
        match value.named_child(0).filter(|_| value.kind() == "jsx_expression") {
            Some(inner) => visit_expected(builder, inner, expected.as_ref()),
            None => builder.visit(*value),
        }
    }
}

/// Returns the text of a string without its quotes.
fn unquote(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}

/// Returns true for expressions that are functions.
fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}
