//! Reads the facts of JavaScript and TypeScript.

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
use crate::facts::{BoundValue, ModuleSystem, ReferenceKind, ScopeKind};
use functions::{visit_function_body, visit_method, visit_named_function};
use modules::{visit_export, visit_import};
use patterns::{bind_pattern, visit_loop};
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
            visit_named_function(builder, node);
        }
        "function_expression" | "arrow_function" | "generator_function" => {
            visit_function_body(builder, node, None);
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            visit_method(builder, node);
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
        "return_statement" => builder.visit_return(node),
        "pair" => visit_pair(builder, node),
        "jsx_opening_element" | "jsx_self_closing_element" => visit_element(builder, node),
        "jsx_closing_element"
        | "comment"
        | "string"
        | "regex"
        | "property_identifier"
        | "statement_identifier" => {}
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
    builder.visit_field(node, "arguments");
}

/// Visits a member of an object that no variable holds.
fn visit_pair(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let key = node.child_by_field_name("key");
    if let Some(key) = key.filter(|key| key.kind() == "computed_property_name") {
        builder.visit(key);
    }
    builder.visit_field(node, "value");
}

/// Visits the name of a component as a call, then its attributes.
fn visit_element(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(name) = node.child_by_field_name("name") {
        let is_component = builder.text(name).starts_with(char::is_uppercase);
        if name.kind() == "member_expression" || (name.kind() == "identifier" && is_component) {
            builder.visit_used(name, ReferenceKind::Call);
        }
    }
    for child in list_named_children(node) {
        match child.kind() {
            "jsx_attribute" => {
                for value in list_named_children(child).into_iter().skip(1) {
                    builder.visit(value);
                }
            }
            "jsx_expression" => builder.visit(child),
            _ => {}
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
