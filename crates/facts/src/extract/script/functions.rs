//! Reads functions, methods and parameters of scripts.

use tree_sitter::Node;

use super::{
    super::{
        builder::{DefinitionNodes, FactBuilder},
        syntax::list_named_children,
    },
    expected::{MAX_PARAMETERS, expect_argument, expect_instance, expect_result},
    patterns::bind_pattern,
    unquote,
};
use crate::{BoundValue, DefinitionIndex, DefinitionKind, ScopeKind, ShortExpression};

pub(super) fn visit_named_function(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    expected: Option<&ShortExpression>,
) -> Option<DefinitionIndex> {
    let name = node.child_by_field_name("name")?;
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Function, unquote(builder.text(name)), nodes);
    visit_function_body(builder, node, defined, expected);
    defined
}

pub(super) fn visit_method(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    expected: Option<&ShortExpression>,
) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if name.kind() == "computed_property_name" {
        builder.visit(name);
    }
    let defined = visit_named_function(builder, node, expected);
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

/// Visits a function in a scope of its own. Parameters without annotation have the expected types.
pub(super) fn visit_function_body(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    defined: Option<DefinitionIndex>,
    expected: Option<&ShortExpression>,
) {
    let body = node.child_by_field_name("body");
    let parameter_list = node.child_by_field_name("parameters").map(list_named_children);
    let parameters = parameter_list.unwrap_or_default();
    if let Some(definition) = builder.definition_mut(defined) {
        definition.traits.is_declaration = body.is_none();
    }
    builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
        builder.visit_field(node, "type_parameters");
        if let Some(parameter) = node.child_by_field_name("parameter") {
            let argument = expected.and_then(|function| expect_argument(function, 0));
            let value = argument.map_or(BoundValue::Unknown, BoundValue::Assigned);
            builder.bind(builder.text(parameter), value);
        }
        let annotation_nodes: Vec<Option<Node<'_>>> =
            parameters.iter().map(|parameter| parameter.child_by_field_name("type")).collect();
        for (place, parameter) in parameters.into_iter().enumerate() {
            let argument = expected.and_then(|function| expect_argument(function, place));
            visit_parameter(builder, parameter, argument);
        }
        builder.visit_field(node, "return_type");
        // Types without a name are read once they were visited.
        let result = builder.read_field(node, "return_type");
        let read_type = |node: &Option<Node<'_>>| {
            node.map_or(ShortExpression::Unknown, |node| builder.read(node))
        };
        let annotations = annotation_nodes.iter().take(MAX_PARAMETERS).map(read_type).collect();
        let expected_result = expect_result(result.as_ref(), expected);
        if let Some(definition) = builder.definition_mut(defined) {
            definition.parameters = annotations;
            definition.result = result;
        }
        let Some(body) = body else { return };
        if body.kind() == "statement_block" {
            builder.visit_children(body);
        } else {
            builder.visit_returned(body, expected_result);
            builder.add_returned_value(builder.read(body));
        }
    });
}

/// Visits a parameter, which has the value `argument` if it has no annotation.
fn visit_parameter(
    builder: &mut FactBuilder<'_>,
    parameter: Node<'_>,
    argument: Option<ShortExpression>,
) {
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
                (None, None) => argument.map_or(BoundValue::Unknown, BoundValue::Assigned),
            };
            builder.bind(builder.text(pattern), value);
            define_parameter_property(builder, parameter, pattern, annotation);
        }
        "rest_pattern" => bind_pattern(builder, pattern, None),
        "object_pattern" | "array_pattern" => {
            let source = annotation.map(expect_instance).or(argument);
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
