//! Reads functions, methods and parameters of scripts.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    patterns::bind_pattern,
    unquote,
};
use crate::facts::{BoundValue, DefinitionIndex, DefinitionKind, ScopeKind, ShortExpression};

pub(super) fn visit_named_function(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
) -> Option<DefinitionIndex> {
    let name = node.child_by_field_name("name")?;
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Function, unquote(builder.text(name)), nodes);
    visit_function_body(builder, node, defined);
    defined
}

pub(super) fn visit_method(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if name.kind() == "computed_property_name" {
        builder.visit(name);
    }
    let defined = visit_named_function(builder, node);
    let is_getter = has_get_keyword(builder.text(node));
    if let Some(definition) = builder.definition_mut(defined) {
        definition.traits.is_property = is_getter;
    }
}

/// Returns true for the text of `get name() {}`, and false for that of `get() {}`.
fn has_get_keyword(method: &str) -> bool {
    let head = method.split('(').next().unwrap_or_default();
    head.split_whitespace().any(|word| word == "get") && !head.trim_end().ends_with("get")
}

/// Visits parameters, result and body of a function in a scope of its own.
pub(super) fn visit_function_body(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    defined: Option<DefinitionIndex>,
) {
    let result = builder.read_field(node, "return_type");
    let body = node.child_by_field_name("body");
    if let Some(definition) = builder.definition_mut(defined) {
        definition.result = result;
        definition.traits.is_declaration = body.is_none();
    }
    builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
        builder.visit_field(node, "type_parameters");
        if let Some(parameter) = node.child_by_field_name("parameter") {
            builder.bind(builder.text(parameter), BoundValue::Unknown);
        }
        let parameters = node.child_by_field_name("parameters");
        for parameter in parameters.map(list_named_children).unwrap_or_default() {
            visit_parameter(builder, parameter);
        }
        builder.visit_field(node, "return_type");
        let Some(body) = body else { return };
        if body.kind() == "statement_block" {
            builder.visit_children(body);
        } else {
            builder.visit(body);
            builder.add_returned_value(builder.read(body));
        }
    });
}

fn visit_parameter(builder: &mut FactBuilder<'_>, parameter: Node<'_>) {
    for field in ["type", "value", "decorator"] {
        builder.visit_field(parameter, field);
    }
    let annotation = builder.read_field(parameter, "type");
    let pattern = parameter
        .child_by_field_name("pattern")
        .or_else(|| parameter.child_by_field_name("left"))
        .unwrap_or(parameter);
    match pattern.kind() {
        "identifier" => {
            let value = match (annotation.clone(), builder.read_field(parameter, "value")) {
                (Some(annotation), _) => BoundValue::Typed(annotation),
                (None, Some(default)) => BoundValue::Assigned(default),
                (None, None) => BoundValue::Unknown,
            };
            builder.bind(builder.text(pattern), value);
            define_parameter_property(builder, parameter, pattern, annotation);
        }
        "rest_pattern" => bind_pattern(builder, pattern, None),
        "object_pattern" | "array_pattern" => {
            // The value is an instance of its type, as the result of a constructor is.
            let source = annotation
                .map(|annotation| ShortExpression::Call(Box::new(annotation), Vec::new()));
            bind_pattern(builder, pattern, source.as_ref());
        }
        _ => {}
    }
}

/// Defines the field that `constructor(private name: Type)` declares.
fn define_parameter_property(
    builder: &mut FactBuilder<'_>,
    parameter: Node<'_>,
    name: Node<'_>,
    annotation: Option<ShortExpression>,
) {
    let children = list_named_children(parameter);
    let is_property = children.iter().any(|child| child.kind() == "accessibility_modifier")
        || builder.text(parameter).starts_with("readonly ");
    if is_property && let Some(scope) = builder.enclosing_type_body() {
        let nodes = DefinitionNodes { name, definition: parameter };
        let defined = builder.define_once(scope, builder.text(name), nodes);
        builder.add_type(defined, annotation, None);
    }
}
