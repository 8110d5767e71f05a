//! Reads the facts of Python.

mod assignments;
mod conditions;
mod definitions;
mod expressions;
mod imports;

use tree_sitter::Node;

use super::{
    builder::{FactBuilder, NodeRole, SyntaxRules},
    syntax::{list_named_children, make_member},
};
use crate::{ModuleSystem, ReferenceKind, ShortExpression};
use assignments::{
    bind_loop, find_receiver, visit_as_pattern, visit_assignment, visit_named_expression,
};
use conditions::{narrow_names, visit_and, visit_if};
use definitions::{visit_class, visit_decorated, visit_function, visit_lambda};
use expressions::visit_annotation;
use imports::{visit_from_import, visit_import};

pub(super) static SYNTAX: SyntaxRules = SyntaxRules {
    module_system: ModuleSystem::Python,
    classify: |_| NodeRole::Children,
    visit_node,
    read_node: expressions::read_node,
    member_kind: "attribute",
    member_field: "attribute",
};

fn visit_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.kind() {
        "identifier" | "attribute" => builder.visit_used(node, ReferenceKind::Read),
        "call" => visit_call(builder, node),
        "keyword_argument" => visit_keyword(builder, node),
        "assignment" => visit_assignment(builder, node),
        "augmented_assignment" => {
            builder.visit_field(node, "right");
            if let Some(left) = node.child_by_field_name("left") {
                builder.visit_used(left, ReferenceKind::Write);
            }
        }
        "named_expression" => visit_named_expression(builder, node),
        "function_definition" => visit_function(builder, node, &[]),
        "class_definition" => visit_class(builder, node),
        "decorated_definition" => visit_decorated(builder, node),
        "lambda" => visit_lambda(builder, node),
        "for_statement" => {
            builder.visit_field(node, "right");
            bind_loop(builder, node);
            builder.visit_field(node, "body");
            builder.visit_field(node, "alternative");
        }
        "list_comprehension"
        | "set_comprehension"
        | "dictionary_comprehension"
        | "generator_expression" => builder.visit_block(node),
        "for_in_clause" => {
            builder.visit_field(node, "right");
            bind_loop(builder, node);
        }
        "if_statement" | "elif_clause" => visit_if(builder, node),
        "assert_statement" => {
            builder.visit_children(node);
            if let Some(condition) = node.named_child(0) {
                narrow_names(builder, condition);
            }
        }
        "boolean_operator" if builder.field_text(node, "operator") == "and" => {
            visit_and(builder, node);
        }
        "as_pattern" => visit_as_pattern(builder, node),
        "import_statement" => visit_import(builder, node),
        "import_from_statement" => visit_from_import(builder, node),
        "return_statement" => visit_return(builder, node),
        "type" => visit_annotation(builder, node),
        "global_statement" => {
            for name in list_named_children(node) {
                builder.add_global_name(builder.text(name));
            }
        }
        "nonlocal_statement" | "comment" | "string_content" => {}
        _ => builder.visit_children(node),
    }
}

/// Visits a `return`, whose value may be the receiver.
fn visit_return(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let value = node.named_child(0);
    let receiver = value.and_then(|value| find_receiver(builder, builder.text(value)));
    if let Some(receiver) = receiver {
        builder.visit_children(node);
        builder.add_returned_value(receiver);
    } else {
        builder.visit_return(node);
    }
}

/// Visits `name=value`, which names a field if a type is called that has no constructor.
fn visit_keyword(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let owner = node.parent().and_then(|arguments| arguments.parent());
    let call = owner.filter(|owner| owner.kind() == "call");
    let function = call.and_then(|call| call.child_by_field_name("function"));
    if let (Some(function), Some(name)) = (function, node.child_by_field_name("name")) {
        let fields = ShortExpression::Keywords(Box::new(builder.read(function)));
        let target = make_member(fields, builder.text(name));
        builder.add_reference(ReferenceKind::Write, target, name);
    }
    builder.visit_field(node, "value");
}

fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(function) = node.child_by_field_name("function") {
        builder.visit_used(function, ReferenceKind::Call);
    }
    builder.visit_field(node, "arguments");
}
