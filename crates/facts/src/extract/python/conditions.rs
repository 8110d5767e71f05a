//! Reads conditions of Python, and what they say of the types of names.

use tree_sitter::Node;

use super::super::{builder::FactBuilder, syntax::list_named_children};
use crate::ShortExpression;

/// Visits an `if` or `elif`. What type checkers do not read is visible only in its branch.
pub(super) fn visit_if(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(condition) = node.child_by_field_name("condition") else { return };
    builder.visit(condition);
    builder.visit_narrowed(
        |builder| narrow_names(builder, condition),
        |builder| builder.visit_field(node, "consequence"),
    );
    let is_for_checkers =
        builder.text(condition).ends_with("TYPE_CHECKING") && condition.kind() != "not_operator";
    for alternative in node.children_by_field_name("alternative", &mut node.walk()) {
        if is_for_checkers {
            builder.visit_block(alternative);
        } else {
            builder.visit(alternative);
        }
    }
    // `if not isinstance(name, Type): return`
    let last =
        node.child_by_field_name("consequence").and_then(|body| list_named_children(body).pop());
    let is_left = last.is_some_and(|last| {
        matches!(last.kind(), "return_statement" | "raise_statement" | "continue_statement")
    });
    if is_left
        && condition.kind() == "not_operator"
        && let Some(condition) = condition.child_by_field_name("argument")
    {
        narrow_names(builder, condition);
    }
}

/// Visits `left and right`, the latter with the types that the former gives.
pub(super) fn visit_and(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    builder.visit(left);
    builder.visit_narrowed(
        |builder| narrow_names(builder, left),
        |builder| builder.visit_field(node, "right"),
    );
}

/// Gives names the types of `isinstance(name, Type)` in a condition that holds.
pub(super) fn narrow_names(builder: &mut FactBuilder<'_>, condition: Node<'_>) {
    builder.descend(|builder| match condition.kind() {
        "parenthesized_expression" => {
            for inner in list_named_children(condition) {
                narrow_names(builder, inner);
            }
        }
        "boolean_operator" if builder.field_text(condition, "operator") == "and" => {
            for side in list_named_children(condition) {
                narrow_names(builder, side);
            }
        }
        "call" if builder.field_text(condition, "function") == "isinstance" => {
            let arguments = condition.child_by_field_name("arguments").map(list_named_children);
            if let Some([name, types]) = arguments.as_deref()
                && matches!(name.kind(), "identifier" | "attribute" | "subscript")
            {
                let kind = read_types(builder, *types);
                builder.narrow(*name, kind);
            }
        }
        _ => {}
    });
}

/// Reads a type, or the first two of a tuple.
fn read_types(builder: &FactBuilder<'_>, node: Node<'_>) -> ShortExpression {
    match list_named_children(node).as_slice() {
        [one, other, ..] if node.kind() == "tuple" => {
            ShortExpression::Either(Box::new(builder.read(*one)), Box::new(builder.read(*other)))
        }
        _ => builder.read(node),
    }
}
