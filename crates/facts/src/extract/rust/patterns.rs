//! Reads patterns of Rust and the statements that bind them.

use tree_sitter::Node;

use super::super::{
    builder::FactBuilder,
    syntax::{list_named_children, make_member},
    typed::use_node,
};
use crate::{BoundValue, ReferenceKind, ScopeKind, ShortExpression};

/// Variants whose value is what a container holds.
const HELD_VARIANTS: [&str; 3] = ["Some", "Ok", "Ready"];

/// Maximum names of a scope that a `let` is compared with.
const MAX_COMPARED: usize = 200;

/// Visits the statements of a block. A `let` that hides a name begins a scope of its own.
pub(super) fn visit_block(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let statements = list_named_children(node);
    builder
        .visit_in_scope(ScopeKind::Block, None, |builder| visit_statements(builder, &statements));
}

fn visit_statements(builder: &mut FactBuilder<'_>, statements: &[Node<'_>]) {
    for (place, statement) in statements.iter().enumerate() {
        let any_pattern = statement.child_by_field_name("pattern");
        let pattern = any_pattern.filter(|_| statement.kind() == "let_declaration");
        if let Some(pattern) = pattern
            && let source = read_let(builder, *statement)
            && hides_name(builder, pattern, source.as_ref())
        {
            visit_let_parts(builder, *statement);
            let rest = statements.get(place + 1..).unwrap_or_default();
            builder.descend(|builder| {
                builder.visit_in_scope(ScopeKind::Block, None, |builder| {
                    let outer = source.map(|source| ShortExpression::Outer(Box::new(source)));
                    bind_pattern(builder, pattern, outer.as_ref());
                    visit_statements(builder, rest);
                });
            });
            return;
        }
        builder.visit(*statement);
    }
}

/// Returns true if a pattern is a name that the current scope binds, or that its value begins with.
fn hides_name(
    builder: &FactBuilder<'_>,
    pattern: Node<'_>,
    source: Option<&ShortExpression>,
) -> bool {
    let name = builder.text(pattern).trim_start_matches("mut ");
    if source.and_then(find_first_name) == Some(name) {
        return true;
    }
    builder.scope(builder.scope_index()).is_some_and(|scope| {
        scope.bindings.iter().rev().take(MAX_COMPARED).any(|binding| binding.name == name)
    })
}

pub(super) fn visit_let(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    visit_let_parts(builder, node);
    if let Some(pattern) = node.child_by_field_name("pattern") {
        let source = read_let(builder, node);
        bind_hiding(builder, pattern, source);
    }
}

fn visit_let_parts(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for field in ["type", "value", "alternative"] {
        builder.visit_field(node, field);
    }
}

/// Reads the value of a `let`: an instance of its type, else its value.
fn read_let(builder: &FactBuilder<'_>, node: Node<'_>) -> Option<ShortExpression> {
    match node.child_by_field_name("type") {
        Some(kind) => Some(make_instance(builder.read(kind))),
        None => builder.read_field(node, "value"),
    }
}

fn make_instance(kind: ShortExpression) -> ShortExpression {
    ShortExpression::Call(Box::new(kind), Vec::new())
}

/// Visits `let a = b` of a condition.
pub(super) fn visit_condition(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "value");
    if let Some(pattern) = node.child_by_field_name("pattern") {
        let source = builder.read_field(node, "value");
        bind_hiding(builder, pattern, source);
    }
}

/// Binds a pattern to a value, which may have the name that the pattern binds.
fn bind_hiding(builder: &mut FactBuilder<'_>, pattern: Node<'_>, source: Option<ShortExpression>) {
    let outer_source = source.map(|source| match find_first_name(&source) {
        Some(name) if builder.text(pattern).contains(name) => {
            ShortExpression::Outer(Box::new(source))
        }
        _ => source,
    });
    bind_pattern(builder, pattern, outer_source.as_ref());
}

fn find_first_name(expression: &ShortExpression) -> Option<&str> {
    match expression {
        ShortExpression::Name(name) => Some(name),
        ShortExpression::Member(inner, _)
        | ShortExpression::Call(inner, _)
        | ShortExpression::Item(inner, _)
        | ShortExpression::Awaited(inner)
        | ShortExpression::Part(inner, _) => find_first_name(inner),
        _ => None,
    }
}

pub(super) fn visit_match(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "value");
    let value = builder.read_field(node, "value");
    let source = value.map(|value| ShortExpression::Outer(Box::new(value)));
    let arms = node.child_by_field_name("body").map(list_named_children).unwrap_or_default();
    for arm in arms.into_iter().filter(|arm| arm.kind() == "match_arm") {
        builder.visit_in_scope(ScopeKind::Block, None, |builder| {
            if let Some(pattern) = arm.child_by_field_name("pattern") {
                if let Some(inner) = pattern.named_child(0) {
                    bind_pattern(builder, inner, source.as_ref());
                }
                builder.visit_field(pattern, "condition");
            }
            builder.visit_field(arm, "value");
        });
    }
}

pub(super) fn visit_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "value");
    let source = builder.read_field(node, "value").map(|source| {
        let items = ShortExpression::Item(Box::new(source), Vec::new());
        ShortExpression::Outer(Box::new(items))
    });
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        if let Some(pattern) = node.child_by_field_name("pattern") {
            bind_pattern(builder, pattern, source.as_ref());
        }
        builder.visit_field(node, "body");
    });
}

pub(super) fn visit_parameter(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    if let Some(pattern) = node.child_by_field_name("pattern") {
        let source = builder.read_field(node, "type").map(make_instance);
        bind_pattern(builder, pattern, source.as_ref());
    }
}

/// Visits a closure, whose first parameter is a value if its type is not written.
pub(super) fn visit_closure(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    value: Option<&ShortExpression>,
) {
    let mut source = value.map(|value| ShortExpression::Outer(Box::new(value.clone())));
    builder.visit_in_scope(ScopeKind::Function, None, |builder| {
        let parameters = node.child_by_field_name("parameters").map(list_named_children);
        for parameter in parameters.unwrap_or_default() {
            if parameter.kind() == "parameter" {
                visit_parameter(builder, parameter);
            } else {
                bind_pattern(builder, parameter, source.as_ref());
            }
            source = None;
        }
        builder.visit_field(node, "return_type");
        builder.visit_field(node, "body");
    });
}

/// Binds the names of a pattern to the parts of a value, and refers to the types in it.
fn bind_pattern(
    builder: &mut FactBuilder<'_>,
    pattern: Node<'_>,
    source: Option<&ShortExpression>,
) {
    builder.descend(|builder| bind_pattern_parts(builder, pattern, source));
}

fn bind_pattern_parts(
    builder: &mut FactBuilder<'_>,
    pattern: Node<'_>,
    source: Option<&ShortExpression>,
) {
    match pattern.kind() {
        // A name in capitals is a constant or a variant.
        "identifier" if builder.text(pattern).starts_with(char::is_uppercase) => {
            builder.visit(pattern);
        }
        "identifier" | "shorthand_field_identifier" => {
            let bound = source.cloned().map_or(BoundValue::Unknown, BoundValue::Assigned);
            builder.bind(builder.text(pattern), bound);
        }
        "ref_pattern" | "mut_pattern" | "reference_pattern" | "captured_pattern" | "or_pattern" => {
            for part in list_named_children(pattern) {
                if part.kind() != "mutable_specifier" {
                    bind_pattern(builder, part, source);
                }
            }
        }
        "tuple_pattern" => {
            for (place, part) in list_named_children(pattern).into_iter().enumerate() {
                let place = u8::try_from(place).unwrap_or(u8::MAX);
                let value =
                    source.map(|source| ShortExpression::Part(Box::new(source.clone()), place));
                bind_pattern(builder, part, value.as_ref());
            }
        }
        "tuple_struct_pattern" => bind_tuple_struct(builder, pattern, source),
        "struct_pattern" => bind_struct(builder, pattern),
        "slice_pattern" => {
            for part in list_named_children(pattern) {
                bind_pattern(builder, part, None);
            }
        }
        "remaining_field_pattern" | "_" => {}
        _ => builder.visit(pattern),
    }
}

/// Binds the names of `Some(a)` or `A::B(c, d)`.
fn bind_tuple_struct(
    builder: &mut FactBuilder<'_>,
    pattern: Node<'_>,
    source: Option<&ShortExpression>,
) {
    let Some(kind) = pattern.child_by_field_name("type") else { return };
    use_node(builder, kind, ReferenceKind::Read);
    let owner = builder.read(kind);
    let is_held = HELD_VARIANTS.contains(&builder.text(kind));
    let parts = list_named_children(pattern).into_iter().filter(|part| *part != kind);
    for (place, part) in parts.enumerate() {
        let value = if is_held {
            source.map(|source| ShortExpression::Awaited(Box::new(source.clone())))
        } else {
            Some(make_member(owner.clone(), &format!(".{place}")))
        };
        bind_pattern(builder, part, value.as_ref());
    }
}

/// Binds the names of `A { b, c: d }`.
fn bind_struct(builder: &mut FactBuilder<'_>, pattern: Node<'_>) {
    let Some(kind) = pattern.child_by_field_name("type") else { return };
    use_node(builder, kind, ReferenceKind::Type);
    let owner = builder.read(kind);
    for field in list_named_children(pattern).into_iter().filter(|field| *field != kind) {
        let Some(name) = field.child_by_field_name("name") else { continue };
        let value = make_member(owner.clone(), &format!(".{}", builder.text(name)));
        builder.add_reference(ReferenceKind::Read, value.clone(), name);
        bind_pattern(builder, field.child_by_field_name("pattern").unwrap_or(name), Some(&value));
    }
}
