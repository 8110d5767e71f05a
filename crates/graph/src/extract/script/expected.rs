//! Reads values whose type the code around them tells: arguments, results and annotated variables.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::{MAX_EXPRESSION_DEPTH, list_named_children, make_member},
    },
    functions::{MAX_PARAMETERS, visit_function_body, visit_method},
    patterns::refer_to_member,
    unquote,
    variables::define_value,
};
use crate::facts::{
    DefinitionIndex, DefinitionKind, ReferenceKind, ScopeKind, ShortExpression, to_index,
};

/// Visits a value of which another expression has the type.
pub(super) fn visit_expected(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    expected: Option<&ShortExpression>,
) {
    builder.descend(|builder| match node.kind() {
        "object" => visit_object(builder, node, None, expected),
        "arrow_function" | "function_expression" | "generator_function" => {
            visit_function_body(builder, node, None, expected);
        }
        "as_expression" | "satisfies_expression" => visit_asserted(builder, node, None),
        "parenthesized_expression" => {
            for inner in list_named_children(node) {
                visit_expected(builder, inner, expected);
            }
        }
        "array" => {
            let item = expected.and_then(|expected| {
                wrap_expected(expected, |holder| ShortExpression::Item(holder, Vec::new()))
            });
            for inner in list_named_children(node) {
                visit_expected(builder, inner, item.as_ref());
            }
        }
        _ => builder.visit(node),
    });
}

/// Visits a value that a function returns, of which an object has members for its callers.
pub(super) fn visit_returned(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    expected: Option<&ShortExpression>,
) {
    match node.kind() {
        "parenthesized_expression" => {
            if let Some(inner) = node.named_child(0) {
                builder.descend(|builder| visit_returned(builder, inner, expected));
            }
        }
        "object" => builder.descend(|builder| {
            builder.visit_members(node, |builder| visit_entries(builder, node, true, expected));
        }),
        _ => visit_expected(builder, node, expected),
    }
}

/// Visits the arguments of a call of `function`.
pub(super) fn visit_arguments(builder: &mut FactBuilder<'_>, node: Node<'_>, function: Node<'_>) {
    for (place, argument) in list_named_children(node).into_iter().enumerate() {
        let is_typed = matches!(
            argument.kind(),
            "object" | "array" | "arrow_function" | "function_expression"
        );
        if is_typed && place < MAX_PARAMETERS {
            let expected = expect_argument(&builder.read(function), place);
            visit_expected(builder, argument, expected.as_ref());
        } else {
            builder.visit(argument);
        }
    }
}

/// Visits `value as Type` and `value satisfies Type`, an object as what `holder` has.
pub(super) fn visit_asserted(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    holder: Option<DefinitionIndex>,
) {
    let children = list_named_children(node);
    let expected = children.get(1).map(|kind| expect_instance(builder.read(*kind)));
    match children.first() {
        Some(object) if object.kind() == "object" => {
            visit_object(builder, *object, holder, expected.as_ref());
        }
        Some(value) => visit_expected(builder, *value, expected.as_ref()),
        None => {}
    }
    for asserted_type in children.into_iter().skip(1) {
        builder.visit(asserted_type);
    }
}

/// Visits an object, whose members are found through the definition that holds it if there is one.
pub(super) fn visit_object(
    builder: &mut FactBuilder<'_>,
    object: Node<'_>,
    holder: Option<DefinitionIndex>,
    expected: Option<&ShortExpression>,
) {
    builder.visit_in_scope(ScopeKind::Type, holder, |builder| {
        visit_entries(builder, object, holder.is_some(), expected);
    });
}

/// Visits the members of an object, and defines them if there are references to them.
fn visit_entries(
    builder: &mut FactBuilder<'_>,
    object: Node<'_>,
    is_reachable: bool,
    expected: Option<&ShortExpression>,
) {
    for child in list_named_children(object) {
        let name = match child.kind() {
            "pair" => child.child_by_field_name("key"),
            "method_definition" => child.child_by_field_name("name"),
            "shorthand_property_identifier" => Some(child),
            _ => None,
        };
        let name = name.filter(|name| name.kind() != "computed_property_name");
        let member = name.zip(expected).and_then(|(name, expected)| {
            let name = unquote(builder.text(name));
            wrap_expected(expected, |object| make_member(*object, name))
        });
        match (child.kind(), name) {
            ("pair", Some(name)) if is_reachable => {
                let nodes = DefinitionNodes { name, definition: child };
                define_value(builder, DefinitionKind::Field, nodes, None, member.as_ref());
            }
            ("pair", Some(_)) => {
                if let Some(value) = child.child_by_field_name("value") {
                    visit_expected(builder, value, member.as_ref());
                }
            }
            ("method_definition", Some(_)) => visit_method(builder, child, member.as_ref()),
            ("shorthand_property_identifier", Some(name)) if is_reachable => {
                builder.visit(child);
                let nodes = DefinitionNodes { name, definition: child };
                let defined = builder.define(DefinitionKind::Field, builder.text(name), nodes);
                builder.add_type(defined, None, Some(builder.read_name(name)));
            }
            _ => builder.visit(child),
        }
        if let (Some(name), Some(_)) = (name, &member) {
            refer_to_member(builder, ReferenceKind::Write, expected, name);
        }
    }
}

/// Returns a value of an annotated type.
pub(super) fn expect_instance(annotation: ShortExpression) -> ShortExpression {
    ShortExpression::Typed(Box::new(annotation))
}

/// Returns what a function expects as its argument at a place.
pub(super) fn expect_argument(function: &ShortExpression, place: usize) -> Option<ShortExpression> {
    wrap_expected(function, |function| ShortExpression::Argument(function, to_index(place)))
}

/// Wraps an expression, unless it is too deep or unknown.
pub(super) fn wrap_expected(
    inner: &ShortExpression,
    wrap: impl FnOnce(Box<ShortExpression>) -> ShortExpression,
) -> Option<ShortExpression> {
    let mut innermost = inner;
    for _ in 0..MAX_EXPRESSION_DEPTH {
        innermost = match innermost {
            ShortExpression::Member(inner, _)
            | ShortExpression::Call(inner, _)
            | ShortExpression::Item(inner, _)
            | ShortExpression::Awaited(inner)
            | ShortExpression::Typed(inner)
            | ShortExpression::Argument(inner, _) => inner,
            ShortExpression::Unknown | ShortExpression::Outside => return None,
            _ => return Some(wrap(Box::new(inner.clone()))),
        };
    }
    None
}
