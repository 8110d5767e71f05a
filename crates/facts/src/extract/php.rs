//! Reads the facts of PHP. Classes, functions and constants have full names; variables are bound as
//! `$name`, and methods as `name()`, which no property has.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FactBuilder, MAX_NAME_BYTES, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children},
    typed::{self, declare_variable, make_name, use_node},
};
use crate::{BoundValue, ModuleSystem, ReferenceKind, ShortExpression};

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Php, classify_node);

fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "comment" | "use_list" | "relative_name" => NodeRole::Skipped,
        "name" | "qualified_name" => NodeRole::Path(ReferenceKind::Read, read_path),
        "relative_scope" => NodeRole::Value(read_path),
        "variable_name" => NodeRole::Special(|_, _| {}, read_path),
        "named_type" => NodeRole::Value(read_type),
        "union_type" | "intersection_type" | "type_list" => NodeRole::Either("", "1"),
        "optional_type" | "parenthesized_expression" | "clone_expression" => NodeRole::Same(""),
        "member_access_expression" | "nullsafe_member_access_expression" => {
            NodeRole::Member("object", "name", ReferenceKind::Read)
        }
        "scoped_property_access_expression" => {
            NodeRole::Member("scope", "name", ReferenceKind::Read)
        }
        "class_constant_access_expression" => NodeRole::Member("", "1", ReferenceKind::Read),
        "member_call_expression" | "nullsafe_member_call_expression" => {
            NodeRole::Invocation("object", "name")
        }
        "scoped_call_expression" => NodeRole::Invocation("scope", "name"),
        "function_call_expression" => NodeRole::Call("function"),
        "object_creation_expression" => NodeRole::Construct(""),
        "conditional_expression" => NodeRole::Either("body", "alternative"),
        "binary_expression" => NodeRole::Either("left", "right"),
        "assignment_expression" | "augmented_assignment_expression" => {
            NodeRole::Special(visit_assignment, typed::read_right)
        }
        "foreach_statement" => NodeRole::Custom(visit_loop),
        "catch_clause" => NodeRole::Variables("name", "type", ""),
        "simple_parameter" => NodeRole::Variables("name", "type", "default_value"),
        "property_promotion_parameter" => NodeRole::Custom(visit_promoted),
        "property_declaration" => NodeRole::Custom(visit_properties),
        "const_element" => NodeRole::Custom(visit_constant),
        "enum_case" => NodeRole::Constant,
        "function_definition" => NodeRole::Function("return_type"),
        "method_declaration" => NodeRole::Method("return_type"),
        "anonymous_function" | "arrow_function" => NodeRole::Closure,
        "class_declaration"
        | "anonymous_class"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration" => NodeRole::Type(&["base_clause", "class_interface_clause"]),
        "use_declaration" => NodeRole::Custom(visit_trait_use),
        "return_statement" => NodeRole::Return,
        "namespace_definition" => NodeRole::Custom(|builder, node| {
            builder.set_namespace(builder.field_text(node, "name"));
            builder.visit_field(node, "body");
        }),
        "namespace_use_declaration" => NodeRole::Custom(visit_use),
        _ => NodeRole::Children,
    }
}

/// Reads the name of a class, function or constant as its full name, and that of a variable.
fn read_path(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    match reader.builder.text(node) {
        "$this" => ShortExpression::This,
        "self" | "static" => ShortExpression::ThisType,
        "parent" => ShortExpression::Super,
        name if name.len() > MAX_NAME_BYTES => ShortExpression::Unknown,
        name if name.starts_with('$') => make_name(name),
        name => ShortExpression::Root(reader.builder.full_name(name)),
    }
}

/// Reads a type; `static` is that of the receiver.
fn read_type(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    match reader.builder.text(node) {
        "static" => ShortExpression::This,
        _ => reader.read_part(node.named_child(0)),
    }
}

/// Binds a variable, or adds the value of a property that the class declares.
fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "right");
    let Some(target) = node.child_by_field_name("left") else { return };
    let value = builder.read_field(node, "right").unwrap_or(ShortExpression::Unknown);
    if target.kind() == "variable_name" {
        return builder.bind(builder.text(target), BoundValue::Assigned(value));
    }
    use_node(builder, target, ReferenceKind::Write);
    if builder.field_text(target, "object") == "$this"
        && let Some(body) = builder.enclosing_type_body()
    {
        let property = builder.find_first_definition(body, builder.field_text(target, "name"));
        builder.add_type(property, None, Some(value));
    }
}

/// Visits `foreach (list as $key => $value)`.
fn visit_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_children(node);
    let (Some(source), Some(target)) = (node.named_child(0), node.named_child(1)) else { return };
    let value = if target.kind() == "pair" { target.named_child(1) } else { Some(target) };
    let name = value.map(|value| builder.text(value)).unwrap_or_default();
    builder.bind(name.trim_start_matches('&'), BoundValue::Element(builder.read(source)));
}

/// Visits a parameter of a constructor that is also a property.
fn visit_promoted(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    typed::visit_variables(builder, node, ["name", "type", "default_value"]);
    let kind = builder.read_field(node, "type");
    let name = node.child_by_field_name("name").and_then(|variable| variable.named_child(0));
    if let (Some(name), Some(body)) = (name, builder.enclosing_type_body()) {
        let nodes = DefinitionNodes { name, definition: node };
        let defined = builder.define_once(body, builder.text(name), nodes);
        builder.add_type(defined, kind, None);
    }
}

fn visit_properties(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_children(node);
    let annotation = builder.read_field(node, "type");
    for property in list_named_children(node) {
        let variable = property.child_by_field_name("name");
        if let Some(name) = variable.and_then(|variable| variable.named_child(0)) {
            let value = builder.read_field(property, "default_value");
            let nodes = DefinitionNodes { name, definition: node };
            declare_variable(builder, nodes, annotation.clone(), value);
        }
    }
}

fn visit_constant(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (Some(name), Some(value)) = (node.named_child(0), node.named_child(1)) else { return };
    builder.visit(value);
    let value = builder.read(value);
    declare_variable(builder, DefinitionNodes { name, definition: node }, None, Some(value));
}

/// Visits `use A, B;` in a class: traits, which come before its other bases.
fn visit_trait_use(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let mut traits = Vec::new();
    typed::visit_bases(builder, node, &mut traits);
    for used in traits {
        builder.add_base(used);
    }
}

/// Visits `use A\B as C`, `use function A\b` and `use A\{B, C}`.
fn visit_use(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let group = node.child_by_field_name("body");
    let prefix = node.named_child(0).filter(|_| group.is_some()).map(|prefix| builder.text(prefix));
    for clause in list_named_children(group.unwrap_or(node)) {
        let Some(path) = clause.named_child(0) else { continue };
        let joined = format!("{}\\{}", prefix.unwrap_or_default(), builder.text(path));
        let full_name = joined.trim_start_matches('\\');
        let name = list_named_children(path).into_iter().last().unwrap_or(path);
        let local = clause.child_by_field_name("alias").unwrap_or(name);
        if full_name.len() > MAX_NAME_BYTES {
            continue;
        }
        let source = ShortExpression::Root(full_name.to_owned());
        builder.import_name(builder.text(local), full_name.to_owned());
        builder.add_reference(ReferenceKind::Import, source, name);
    }
}
