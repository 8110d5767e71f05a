//! Reads assignments, loops and other bindings of Python.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    expressions::read_annotation_field,
};
use crate::{BoundValue, ReferenceKind, ScopeKind, ShortExpression};

pub(super) fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    builder.visit_field(node, "right");
    let Some(left) = node.child_by_field_name("left") else { return };
    match left.kind() {
        "identifier" => assign_name(builder, node, left),
        "attribute" => assign_attribute(builder, node, left),
        "pattern_list" | "tuple_pattern" | "list_pattern" => assign_each(builder, node, left),
        _ => builder.visit(left),
    }
}

/// Defines a name of a file or class, and binds one of a function.
fn assign_name(builder: &mut FactBuilder<'_>, node: Node<'_>, name: Node<'_>) {
    let value = builder.read_field(node, "right");
    let annotation = read_annotation_field(builder, node);
    let scope = builder.scope_index();
    if matches!(builder.scope_kind(scope), Some(ScopeKind::File | ScopeKind::Type)) {
        let nodes = DefinitionNodes { name, definition: node };
        let definition = builder.define_once(scope, builder.text(name), nodes);
        builder.add_type(definition, annotation, value);
        return;
    }
    let bound = match (annotation, value) {
        (Some(annotation), _) => BoundValue::Typed(annotation),
        (None, Some(value)) => BoundValue::Assigned(value),
        (None, None) => BoundValue::Unknown,
    };
    builder.bind(builder.text(name), bound);
}

/// Refers to an attribute, and defines it if it is one of the receiver: `self.name = value`.
fn assign_attribute(builder: &mut FactBuilder<'_>, node: Node<'_>, attribute: Node<'_>) {
    let value = builder.read_field(node, "right");
    let annotation = read_annotation_field(builder, node);
    define_attribute(builder, attribute, annotation, value);
}

/// Refers to an attribute with a type, and defines it if it is one of the receiver.
fn define_attribute(
    builder: &mut FactBuilder<'_>,
    attribute: Node<'_>,
    annotation: Option<ShortExpression>,
    value: Option<ShortExpression>,
) {
    builder.visit_member(attribute, ReferenceKind::Write);
    let is_own = match builder.read_field(attribute, "object") {
        Some(ShortExpression::Name(name)) => find_receiver(builder, &name).is_some(),
        _ => false,
    };
    if is_own && let Some(name) = attribute.child_by_field_name("attribute") {
        let scope = builder.enclosing_scope(ScopeKind::Type);
        let nodes = DefinitionNodes { name, definition: attribute.parent().unwrap_or(attribute) };
        let definition = builder.define_once(scope, builder.text(name), nodes);
        builder.add_type(definition, annotation, value);
    }
}

/// Binds each name of `a, b = c, d`.
fn assign_each(builder: &mut FactBuilder<'_>, node: Node<'_>, left: Node<'_>) {
    let right = node.child_by_field_name("right");
    let items = right.map(list_named_children).unwrap_or_default();
    let is_list = right.is_some_and(|right| matches!(right.kind(), "expression_list" | "tuple"));
    if !is_list || items.len() != left.named_child_count() {
        let whole = right.filter(|_| !is_list).map(|right| builder.read(right));
        let value = whole.map_or(BoundValue::Unknown, BoundValue::Assigned);
        return bind_pattern(builder, left, &value);
    }
    for (target, item) in list_named_children(left).into_iter().zip(items) {
        let value = BoundValue::Assigned(builder.read(item));
        bind_pattern(builder, target, &value);
    }
}

fn read_place(whole: Option<&ShortExpression>, place: usize) -> Option<ShortExpression> {
    let known = whole.filter(|whole| **whole != ShortExpression::Unknown)?.clone();
    Some(ShortExpression::Part(Box::new(known), u8::try_from(place).ok()?))
}

/// Returns the receiver of the enclosing method, its first parameter, if it has a name.
pub(super) fn find_receiver(builder: &FactBuilder<'_>, name: &str) -> Option<ShortExpression> {
    let function = builder.scope(builder.enclosing_scope(ScopeKind::Function))?;
    let first = function.bindings.first().filter(|binding| binding.name == name)?;
    match &first.value {
        BoundValue::Assigned(receiver @ (ShortExpression::This | ShortExpression::ThisType)) => {
            Some(receiver.clone())
        }
        _ => None,
    }
}

/// Binds the names of a pattern and visits the other targets in it.
fn bind_pattern(builder: &mut FactBuilder<'_>, pattern: Node<'_>, value: &BoundValue) {
    match pattern.kind() {
        "identifier" => bind_target(builder, pattern, value),
        "attribute" => {
            let value = match value {
                BoundValue::Assigned(value) => Some(value.clone()),
                _ => None,
            };
            define_attribute(builder, pattern, None, value);
        }
        "subscript" => builder.visit(pattern),
        _ => {
            let whole = match value {
                BoundValue::Assigned(whole) => Some(whole.clone()),
                BoundValue::Element(source) => {
                    Some(ShortExpression::Item(Box::new(source.clone()), Vec::new()))
                }
                _ => None,
            };
            builder.descend(|builder| {
                let parts = list_named_children(pattern);
                let has_rest = parts.iter().any(|part| part.kind() == "list_splat_pattern");
                for (place, child) in parts.into_iter().enumerate() {
                    let part = read_place(whole.as_ref().filter(|_| !has_rest), place);
                    let bound = part.map_or(BoundValue::Unknown, BoundValue::Assigned);
                    bind_pattern(builder, child, &bound);
                }
            });
        }
    }
}

/// Defines a name of a file, and binds any other.
fn bind_target(builder: &mut FactBuilder<'_>, name: Node<'_>, value: &BoundValue) {
    let text = builder.text(name);
    let scope = builder.scope_index();
    if builder.scope_kind(scope) != Some(ScopeKind::File) {
        builder.bind(text, value.clone());
        return;
    }
    let nodes = DefinitionNodes { name, definition: name };
    let definition = builder.define_once(scope, text, nodes);
    match value.clone() {
        BoundValue::Typed(annotation) => builder.add_type(definition, Some(annotation), None),
        BoundValue::Assigned(value) => builder.add_type(definition, None, Some(value)),
        BoundValue::Element(source) => {
            let element = ShortExpression::Item(Box::new(source), Vec::new());
            builder.add_type(definition, None, Some(element));
        }
        BoundValue::Definition(_)
        | BoundValue::Import(_)
        | BoundValue::Alias(_)
        | BoundValue::Unknown => {}
    }
}

/// Binds the variables of a loop or of a clause of a comprehension.
pub(super) fn bind_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let source = builder.read_field(node, "right");
    let value = source.map_or(BoundValue::Unknown, BoundValue::Element);
    if let Some(left) = node.child_by_field_name("left") {
        bind_pattern(builder, left, &value);
    }
}

/// Visits `name := value`.
pub(super) fn visit_named_expression(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "value");
    let value = builder.read_field(node, "value");
    let bound = value.map_or(BoundValue::Unknown, BoundValue::Assigned);
    if let Some(name) = node.child_by_field_name("name") {
        bind_pattern(builder, name, &bound);
    }
}

/// Visits `value as name` of a `with`, an `except` or a `case`.
pub(super) fn visit_as_pattern(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let source = node.named_child(0);
    if let Some(source) = source {
        builder.visit(source);
    }
    let Some(alias) = node.child_by_field_name("alias") else { return };
    let value = source.map_or(ShortExpression::Unknown, |source| builder.read(source));
    let is_except = node.parent().is_some_and(|parent| parent.kind() == "except_clause");
    let bound = if is_except {
        BoundValue::Typed(value)
    } else {
        BoundValue::Assigned(ShortExpression::Entered(Box::new(value)))
    };
    bind_pattern(builder, alias.named_child(0).unwrap_or(alias), &bound);
}
