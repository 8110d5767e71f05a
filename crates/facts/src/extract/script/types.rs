//! Reads classes, interfaces, enumerations, aliases and namespaces of scripts.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    expected::expect_instance,
    functions::visit_function_body,
    is_function, unquote,
    variables::visit_object,
};
use crate::{DefinitionIndex, DefinitionKind, ReferenceKind, ScopeKind, ShortExpression};

pub(super) fn visit_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let mut bases = Vec::new();
    for child in list_named_children(node) {
        match child.kind() {
            "class_heritage" => {
                for clause in list_named_children(child) {
                    // JavaScript has no clause around the base.
                    if clause.kind().ends_with("_clause") {
                        visit_bases(builder, clause, &mut bases);
                    } else {
                        visit_base(builder, clause, &mut bases);
                    }
                }
            }
            "extends_type_clause" => visit_bases(builder, child, &mut bases),
            "decorator" => builder.visit(child),
            _ => {}
        }
    }
    let defined = define_named(builder, DefinitionKind::Type, node);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.bases = bases;
    }
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
        builder.visit_field(node, "type_parameters");
        if let Some(body) = node.child_by_field_name("body") {
            builder.visit_children(body);
        }
    });
}

/// Defines the name of a node in the current scope; `None` if it has no name.
fn define_named(
    builder: &mut FactBuilder<'_>,
    kind: DefinitionKind,
    node: Node<'_>,
) -> Option<DefinitionIndex> {
    let name = node.child_by_field_name("name")?;
    let nodes = DefinitionNodes { name, definition: node };
    builder.define(kind, unquote(builder.text(name)), nodes)
}

fn visit_bases(builder: &mut FactBuilder<'_>, clause: Node<'_>, bases: &mut Vec<ShortExpression>) {
    for base in list_named_children(clause) {
        visit_base(builder, base, bases);
    }
}

fn visit_base(builder: &mut FactBuilder<'_>, base: Node<'_>, bases: &mut Vec<ShortExpression>) {
    match base.kind() {
        "identifier" | "type_identifier" => {
            builder.add_reference(ReferenceKind::Base, builder.read_name(base), base);
        }
        "type_arguments" => {
            builder.visit(base);
            return;
        }
        _ => builder.visit(base),
    }
    bases.push(builder.read(base));
}

pub(super) fn visit_enum(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let defined = define_named(builder, DefinitionKind::Type, node);
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
        let body = node.child_by_field_name("body");
        for member in body.map(list_named_children).unwrap_or_default() {
            let name = member.child_by_field_name("name").unwrap_or(member);
            let nodes = DefinitionNodes { name, definition: member };
            builder.define(DefinitionKind::Field, unquote(builder.text(name)), nodes);
            builder.visit_field(member, "value");
        }
    });
}

/// Visits `type Name = …`, which is a type of its own if an object type follows.
pub(super) fn visit_alias(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(value) = node.child_by_field_name("value") else { return };
    if value.kind() == "object_type" {
        let defined = define_named(builder, DefinitionKind::Type, node);
        builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
            builder.visit_field(node, "type_parameters");
            builder.visit_children(value);
        });
        return;
    }
    let result = builder.read(value);
    let defined = define_named(builder, DefinitionKind::TypeAlias, node);
    builder.add_type(defined, Some(result), None);
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        builder.visit_field(node, "type_parameters");
        builder.visit(value);
    });
}

pub(super) fn visit_namespace(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let defined = define_named(builder, DefinitionKind::Type, node);
    builder.visit_in_scope(ScopeKind::Namespace, defined, |builder| {
        if let Some(body) = node.child_by_field_name("body") {
            builder.visit_children(body);
        }
    });
}

/// Visits a field of a class or a property of an interface.
pub(super) fn visit_field_definition(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "decorator");
    builder.visit_field(node, "type");
    let Some(name) = node.child_by_field_name("name") else { return };
    let text = unquote(builder.text(name));
    let nodes = DefinitionNodes { name, definition: node };
    let value = node.child_by_field_name("value");
    let annotation = builder.read_field(node, "type");
    let expected = annotation.clone().map(expect_instance);
    if let Some(function) = value.filter(|value| is_function(*value)) {
        let defined = builder.define(DefinitionKind::Function, text, nodes);
        visit_function_body(builder, function, defined, expected.as_ref());
        return;
    }
    let defined = builder.define_once(builder.scope_index(), text, nodes);
    builder.add_type(defined, annotation, builder.read_field(node, "value"));
    match value {
        Some(value) if value.kind() == "object" => {
            builder.descend(|builder| visit_object(builder, value, defined, expected.as_ref()));
        }
        Some(value) => builder.visit_expected(value, expected),
        None => {}
    }
}
