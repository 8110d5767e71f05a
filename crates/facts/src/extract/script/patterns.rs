//! Reads destructuring and loops of scripts.

use tree_sitter::Node;

use super::{
    super::{
        builder::FactBuilder,
        syntax::{list_named_children, make_member},
    },
    expected::wrap_expected,
    unquote,
};
use crate::{BoundValue, ReferenceKind, ScopeKind, ShortExpression};

/// Visits `for (const name of source)` and `for (const name in source)`.
pub(super) fn visit_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        builder.visit_field(node, "right");
        match node.child_by_field_name("left") {
            Some(left) if left.kind() == "identifier" => {
                let is_of = builder.field_text(node, "operator") == "of";
                let source = builder.read_field(node, "right").filter(|_| is_of);
                let value = source.map_or(BoundValue::Unknown, BoundValue::Element);
                builder.bind(builder.text(left), value);
            }
            Some(left) => bind_pattern(builder, left, None),
            None => {}
        }
        builder.visit_field(node, "body");
    });
}

/// Binds the names of a pattern; to members of `source` where it is known.
pub(super) fn bind_pattern(
    builder: &mut FactBuilder<'_>,
    pattern: Node<'_>,
    source: Option<&ShortExpression>,
) {
    builder.descend(|builder| bind_parts(builder, pattern, source));
}

fn bind_parts(builder: &mut FactBuilder<'_>, pattern: Node<'_>, source: Option<&ShortExpression>) {
    match pattern.kind() {
        "identifier" => builder.bind(builder.text(pattern), BoundValue::Unknown),
        "shorthand_property_identifier_pattern" => {
            let name = builder.text(pattern);
            refer_to_member(builder, source, pattern);
            builder.bind(name, bind_member(source, name));
        }
        "object_assignment_pattern" | "assignment_pattern" => {
            builder.visit_field(pattern, "right");
            if let Some(left) = pattern.child_by_field_name("left") {
                bind_pattern(builder, left, source);
            }
        }
        "pair_pattern" => {
            let key = unquote(builder.field_text(pattern, "key"));
            if let Some(key) = pattern.child_by_field_name("key") {
                refer_to_member(builder, source, key);
            }
            let Some(value) = pattern.child_by_field_name("value") else { return };
            if value.kind() == "identifier" {
                builder.bind(builder.text(value), bind_member(source, key));
            } else {
                let member = source
                    .and_then(|source| wrap_expected(source, |source| make_member(*source, key)));
                bind_pattern(builder, value, member.as_ref());
            }
        }
        "object_pattern" => {
            for child in list_named_children(pattern) {
                bind_pattern(builder, child, source);
            }
        }
        "array_pattern" | "rest_pattern" => {
            for child in list_named_children(pattern) {
                bind_pattern(builder, child, None);
            }
        }
        _ => {}
    }
}

/// Refers to the member of `source` that a node names.
pub(super) fn refer_to_member(
    builder: &mut FactBuilder<'_>,
    source: Option<&ShortExpression>,
    name: Node<'_>,
) {
    if let Some(source) = source {
        let target = make_member(source.clone(), unquote(builder.text(name)));
        builder.add_reference(ReferenceKind::Read, target, name);
    }
}

/// Refers to the member of an expected value that a node names, and returns what it is.
pub(super) fn expect_member(
    builder: &mut FactBuilder<'_>,
    name: Node<'_>,
    expected: Option<&ShortExpression>,
) -> Option<ShortExpression> {
    let text = unquote(builder.text(name));
    let member = wrap_expected(expected?, |holder| make_member(*holder, text))?;
    builder.add_reference(ReferenceKind::Write, member.clone(), name);
    Some(member)
}

fn bind_member(source: Option<&ShortExpression>, name: &str) -> BoundValue {
    match source {
        Some(source) => BoundValue::Assigned(make_member(source.clone(), name)),
        None => BoundValue::Unknown,
    }
}
