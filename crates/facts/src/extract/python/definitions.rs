//! Reads functions and classes of Python.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    expressions::{read_annotation, read_annotation_field},
};
use crate::{BoundValue, DefinitionKind, ReferenceKind, ScopeKind, ShortExpression};

const PROPERTY_DECORATORS: [&str; 5] =
    ["property", "cached_property", "setter", "getter", "deleter"];
/// Maximum parameters of a function whose annotations are kept.
const MAX_PARAMETERS: usize = 4;
/// Methods that get the type itself without a decorator.
const TYPE_METHODS: [&str; 3] = ["__new__", "__init_subclass__", "__class_getitem__"];

pub(super) fn visit_decorated(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let mut decorators = Vec::new();
    for child in list_named_children(node) {
        if child.kind() == "decorator" {
            builder.visit_children(child);
            let text = builder.text(child).trim_start_matches('@');
            let path = text.split('(').next().unwrap_or(text).trim();
            decorators.push(path.rsplit('.').next().unwrap_or(path));
        }
    }
    match node.child_by_field_name("definition") {
        Some(inner) if inner.kind() == "function_definition" => {
            visit_function(builder, inner, &decorators);
        }
        Some(inner) => builder.visit(inner),
        None => {}
    }
}

/// Visits a function with the last names of its decorators.
pub(super) fn visit_function(builder: &mut FactBuilder<'_>, node: Node<'_>, decorators: &[&str]) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let is_method = builder.scope_kind(builder.scope_index()) == Some(ScopeKind::Type);
    builder.visit_field(node, "return_type");
    let annotation = node.child_by_field_name("return_type");
    let result = annotation.map(|annotation| read_annotation(builder, annotation));
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Function, builder.text(name), nodes);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.result = result;
        definition.traits.is_property =
            decorators.iter().any(|decorator| PROPERTY_DECORATORS.contains(decorator));
        definition.traits.is_declaration = decorators.contains(&"overload");
    }
    let parameters = node.child_by_field_name("parameters");
    if let Some(parameters) = parameters {
        visit_defaults(builder, parameters);
    }
    let receiver = choose_receiver(builder.text(name), decorators).filter(|_| is_method);
    builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
        if let Some(parameters) = parameters {
            let annotations = bind_parameters(builder, parameters, receiver);
            if let Some(definition) = builder.definition_mut(defined) {
                definition.parameters = annotations;
            }
        }
        builder.visit_field(node, "body");
    });
}

pub(super) fn visit_lambda(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        if let Some(parameters) = node.child_by_field_name("parameters") {
            bind_parameters(builder, parameters, None);
        }
        builder.visit_field(node, "body");
    });
}

fn choose_receiver(method: &str, decorators: &[&str]) -> Option<ShortExpression> {
    if decorators.contains(&"staticmethod") {
        None
    } else if decorators.contains(&"classmethod") || TYPE_METHODS.contains(&method) {
        Some(ShortExpression::ThisType)
    } else {
        Some(ShortExpression::This)
    }
}

/// Visits default values and annotations, which belong to the scope around the function.
fn visit_defaults(builder: &mut FactBuilder<'_>, parameters: Node<'_>) {
    for parameter in list_named_children(parameters) {
        builder.visit_field(parameter, "type");
        builder.visit_field(parameter, "value");
    }
}

/// Binds parameters, the first one to `receiver`; returns the annotations of the first others.
fn bind_parameters(
    builder: &mut FactBuilder<'_>,
    parameters: Node<'_>,
    mut receiver: Option<ShortExpression>,
) -> Vec<ShortExpression> {
    let mut annotations = Vec::new();
    for parameter in list_named_children(parameters) {
        match find_parameter_name(parameter) {
            Some(name) if name.kind() == "identifier" => {
                let annotation = read_annotation_field(builder, parameter);
                if receiver.is_none() && annotations.len() < MAX_PARAMETERS {
                    annotations.push(annotation.clone().unwrap_or(ShortExpression::Unknown));
                }
                let value = match (receiver.take(), annotation) {
                    (Some(receiver), _) => BoundValue::Assigned(receiver),
                    (None, Some(annotation)) => BoundValue::Typed(annotation),
                    (None, None) => BoundValue::Unknown,
                };
                builder.bind(builder.text(name), value);
            }
            Some(splat) => {
                let name = splat.named_child(0).unwrap_or(splat);
                builder.bind(builder.text(name), BoundValue::Unknown);
            }
            None => {}
        }
    }
    let is_annotated = |annotation: &ShortExpression| *annotation != ShortExpression::Unknown;
    let annotated = annotations.iter().rposition(is_annotated).map_or(0, |last| last + 1);
    annotations.truncate(annotated);
    annotations
}

/// Returns the node of a parameter's name: an identifier, or one with stars.
fn find_parameter_name(parameter: Node<'_>) -> Option<Node<'_>> {
    match parameter.kind() {
        "identifier" | "list_splat_pattern" | "dictionary_splat_pattern" => Some(parameter),
        "typed_parameter" => parameter.named_child(0),
        "default_parameter" | "typed_default_parameter" => parameter.child_by_field_name("name"),
        _ => None,
    }
}

pub(super) fn visit_class(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let mut bases = Vec::new();
    let superclasses = node.child_by_field_name("superclasses");
    for base in superclasses.map(list_named_children).unwrap_or_default() {
        builder.visit_used(base, ReferenceKind::Base);
        if base.kind() != "keyword_argument" {
            bases.push(builder.read(base));
        }
    }
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Type, builder.text(name), nodes);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.bases = bases;
    }
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| builder.visit_field(node, "body"));
}
