//! Reads the facts of Go.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FactBuilder, MAX_NAME_BYTES, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, declare_variable, find_part, use_node, visit_function},
};
use crate::{BoundValue, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};

/// Maximum results of a function that are read.
const MAX_RESULTS: usize = 4;

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Go, classify_node);

fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "comment" | "label_name" => NodeRole::Skipped,
        "identifier" | "package_identifier" => NodeRole::Name(ReferenceKind::Read),
        "type_identifier" => NodeRole::Name(ReferenceKind::Type),
        "selector_expression" => NodeRole::Member("operand", "field", ReferenceKind::Read),
        "qualified_type" => NodeRole::Member("package", "name", ReferenceKind::Type),
        "call_expression" => NodeRole::Special(visit_call, read_call),
        "composite_literal" => NodeRole::Special(visit_literal, read_literal),
        "generic_type" | "type_instantiation_expression" => NodeRole::Generic("type"),
        "slice_type" | "array_type" | "implicit_length_array_type" => {
            NodeRole::Container("[]", &["element"])
        }
        "channel_type" => NodeRole::Container("[]", &["value"]),
        "map_type" => NodeRole::Container("map", &["key", "value"]),
        "type_conversion_expression" | "type_assertion_expression" => NodeRole::Conversion("type"),
        "pointer_type" | "parenthesized_type" | "parenthesized_expression" | "expression_list" => {
            NodeRole::Same("")
        }
        "unary_expression" => NodeRole::Value(read_unary),
        "index_expression" => NodeRole::Index("operand"),
        "slice_expression" => NodeRole::Same("operand"),
        "parameter_list" => NodeRole::Value(read_results),
        "struct_type" => NodeRole::Special(visit_struct, read_struct),
        "function_declaration" | "method_elem" => NodeRole::Function("result"),
        "method_declaration" => NodeRole::Custom(visit_method),
        "func_literal" => NodeRole::Closure,
        "type_spec" => NodeRole::Custom(visit_type_spec),
        "type_alias" => NodeRole::Alias("type"),
        "field_declaration" => NodeRole::Custom(visit_field),
        "parameter_declaration" => NodeRole::Variables("name", "type", "value"),
        "variadic_parameter_declaration" => NodeRole::Custom(visit_variadic),
        "var_spec" | "const_spec" => NodeRole::Custom(visit_variables),
        "type_parameter_declaration" => NodeRole::TypeParameter,
        "short_var_declaration" | "range_clause" | "receive_statement" => {
            NodeRole::Custom(visit_short_declaration)
        }
        "assignment_statement" => NodeRole::Assignment("left", "right"),
        "type_switch_statement" => NodeRole::Custom(visit_type_switch),
        "block"
        | "if_statement"
        | "for_statement"
        | "expression_switch_statement"
        | "select_statement"
        | "expression_case"
        | "type_case"
        | "default_case"
        | "communication_case" => NodeRole::Block,
        "return_statement" => NodeRole::Return,
        "import_spec" => NodeRole::Custom(visit_import),
        "package_clause" => NodeRole::Custom(visit_package),
        "function_type" => NodeRole::Literal,
        _ => NodeRole::Children,
    }
}

/// Visits a call. The first argument of `new` and `make` is a type.
fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    typed::visit_call(builder, node, "function");
}

fn read_call(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
    match reader.builder.field_text(node, "function") {
        "new" | "make" => ShortExpression::Call(Box::new(reader.read_part(first)), Vec::new()),
        "append" => reader.read_part(first),
        _ => reader.read_call(node.child_by_field_name("function"), node),
    }
}

/// Reads `&x`, `*x` as `x`, and `<-x` as what the channel holds.
fn read_unary(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let operand = reader.read_part(node.child_by_field_name("operand"));
    match reader.builder.field_text(node, "operator") {
        "&" | "*" => operand,
        "<-" => ShortExpression::Awaited(Box::new(operand)),
        _ => ShortExpression::Outside,
    }
}

/// Reads a list of results; one alone is the result itself.
fn read_results(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let mut parts = Vec::new();
    for result in list_named_children(node).into_iter().take(MAX_RESULTS) {
        // Results may share their type: `(a, b T)`.
        let names = result.children_by_field_name("name", &mut result.walk()).count();
        let kind = reader.read_part(Some(result));
        parts.extend(std::iter::repeat_n(kind, names.clamp(1, MAX_RESULTS)));
    }
    if parts.len() > 1 {
        ShortExpression::Tuple(parts)
    } else {
        parts.pop().unwrap_or(ShortExpression::Unknown)
    }
}

/// Defines a type without a name, which is known by its place.
fn visit_struct(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let nodes = DefinitionNodes { name: node, definition: node };
    let bound_name = format_struct_name(builder, node);
    let defined = builder.define_as(
        builder.scope_index(),
        &bound_name,
        DefinitionKind::Type,
        "struct",
        nodes,
    );
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| builder.visit_children(node));
}

fn read_struct(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    ShortExpression::Name(format_struct_name(reader.builder, node))
}

fn format_struct_name(builder: &FactBuilder<'_>, node: Node<'_>) -> String {
    let (line, column) = builder.position(node);
    format!("struct {line}:{column}")
}

fn visit_literal(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (Some(kind), Some(body)) =
        (node.child_by_field_name("type"), node.child_by_field_name("body"))
    else {
        return;
    };
    use_node(builder, kind, ReferenceKind::Call);
    visit_literal_value(builder, body, kind);
}

fn read_literal(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let constructed = reader.read_part(node.child_by_field_name("type"));
    ShortExpression::Call(Box::new(constructed), Vec::new())
}

/// Visits the elements of a literal of a type; keys of a named type are its fields.
fn visit_literal_value(builder: &mut FactBuilder<'_>, body: Node<'_>, kind: Node<'_>) {
    let element = kind.child_by_field_name("element").or_else(|| kind.child_by_field_name("value"));
    for child in list_named_children(body) {
        let value = child.child_by_field_name("value").unwrap_or(child);
        if let Some(key) = child.child_by_field_name("key").and_then(|key| key.named_child(0)) {
            if element.is_none() && key.kind() == "identifier" {
                let owner = ShortExpression::Call(Box::new(builder.read(kind)), Vec::new());
                let target = make_member(owner, builder.text(key));
                builder.add_reference(ReferenceKind::Write, target, key);
            } else {
                builder.visit(key);
            }
        }
        match (value.named_child(0), element) {
            (Some(inner), Some(element)) if inner.kind() == "literal_value" => {
                let element = if element.kind() == "pointer_type" {
                    element.named_child(0).unwrap_or(element)
                } else {
                    element
                };
                builder.descend(|builder| visit_literal_value(builder, inner, element));
            }
            _ => builder.visit(value),
        }
    }
}

/// Visits a method, which extends the type of its receiver.
fn visit_method(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let receiver = node.child_by_field_name("receiver").map(|list| builder.read(list));
    let target = receiver.unwrap_or(ShortExpression::Unknown);
    builder.visit_extension(target, Vec::new(), None, |builder| {
        let name = node.child_by_field_name("name");
        visit_function(builder, node, name, builder.field_text(node, "name"), "result");
    });
}

/// Visits the definition of a type. Embedded types are its bases.
fn visit_type_spec(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(kind) = node.child_by_field_name("type") else { return };
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Type, builder.text(name), nodes);
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
        builder.visit_field(node, "type_parameters");
        if kind.kind() == "struct_type" {
            builder.visit_children(kind);
        } else {
            builder.visit(kind);
        }
    });
    let is_body = matches!(kind.kind(), "struct_type" | "interface_type");
    let members = match kind.kind() {
        "struct_type" => kind.named_child(0).map(list_named_children).unwrap_or_default(),
        "interface_type" => list_named_children(kind),
        _ => Vec::new(),
    };
    let embedded = |member: &&Node<'_>| match member.kind() {
        "field_declaration" => member.child_by_field_name("name").is_none(),
        kind => kind == "type_elem",
    };
    let base_nodes = members
        .iter()
        .filter(embedded)
        .filter_map(|member| find_part(*member, "type").or_else(|| member.named_child(0)));
    let bases: Vec<ShortExpression> = base_nodes.map(|base| builder.read(base)).collect();
    let result = (!is_body).then(|| builder.read(kind));
    if let Some(definition) = builder.definition_mut(defined) {
        definition.bases = bases;
        definition.result = result;
    }
}

/// Visits fields, or an embedded type, which is a field with the name of the type.
fn visit_field(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(kind) = node.child_by_field_name("type") else { return };
    if node.child_by_field_name("name").is_some() {
        return typed::visit_variables(builder, node, ["name", "type", "value"]);
    }
    builder.visit(kind);
    let base = kind.child_by_field_name("type").unwrap_or(kind);
    let name = base.child_by_field_name("name").unwrap_or(base);
    let annotation = Some(builder.read(kind));
    declare_variable(builder, DefinitionNodes { name, definition: node }, annotation, None);
}

/// Binds `name ...T` to a slice.
fn visit_variadic(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    let element = builder.read_field(node, "type").unwrap_or(ShortExpression::Unknown);
    let slice = ShortExpression::Item(Box::new(typed::make_name("[]")), vec![element]);
    builder.bind(builder.field_text(node, "name"), BoundValue::Typed(slice));
}

fn visit_variables(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    builder.visit_field(node, "value");
    let names = node.children_by_field_name("name", &mut node.walk()).collect();
    declare_names(builder, node, names, node.child_by_field_name("value"));
}

/// Visits `a, b := f()`, `range` and `case a := <-b`.
fn visit_short_declaration(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "right");
    let Some(left) = node.child_by_field_name("left") else { return };
    let (Some(right), true) = (node.child_by_field_name("right"), has_define(node)) else {
        return builder.visit(left);
    };
    let names = list_named_children(left);
    if node.kind() == "range_clause" {
        let source = builder.read(right);
        for (place, name) in names.iter().enumerate() {
            let value =
                if place == 1 { BoundValue::Element(source.clone()) } else { BoundValue::Unknown };
            builder.bind(builder.text(*name), value);
        }
    } else {
        declare_names(builder, node, names, Some(right));
    }
}

/// Returns true if a statement declares the names on its left side.
fn has_define(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.kind() == ":=")
}

/// Declares names with values: one each, or the first of the results of one call.
fn declare_names(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    names: Vec<Node<'_>>,
    values: Option<Node<'_>>,
) {
    let value_nodes = values.map(|values| match values.kind() {
        "expression_list" => list_named_children(values),
        _ => vec![values],
    });
    let values = value_nodes.unwrap_or_default();
    let annotation = builder.read_field(node, "type");
    for (place, name) in names.into_iter().filter(Node::is_named).enumerate() {
        let value = match values.as_slice() {
            [call] => {
                let place = u8::try_from(place).unwrap_or(u8::MAX);
                Some(ShortExpression::Part(Box::new(builder.read(*call)), place))
            }
            values => values.get(place).map(|value| builder.read(*value)),
        };
        let nodes = DefinitionNodes { name, definition: node };
        if builder.text(name) != "_" {
            declare_variable(builder, nodes, annotation.clone(), value);
        }
    }
}

/// Visits `switch a := b.(type)`, whose name has another type in each case.
fn visit_type_switch(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let alias = node.child_by_field_name("alias").and_then(|list| list.named_child(0));
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        builder.visit_field(node, "initializer");
        builder.visit_field(node, "value");
        for case in list_named_children(node) {
            if !matches!(case.kind(), "type_case" | "default_case") {
                continue;
            }
            builder.visit_in_scope(ScopeKind::Block, None, |builder| {
                let kinds: Vec<Node<'_>> = case
                    .children_by_field_name("type", &mut case.walk())
                    .filter(Node::is_named)
                    .collect();
                let bound = match kinds.as_slice() {
                    [kind] => BoundValue::Typed(builder.read(*kind)),
                    _ => BoundValue::Unknown,
                };
                if let Some(alias) = alias {
                    builder.bind(builder.text(alias), bound);
                }
                builder.visit_children(case);
            });
        }
    });
}

fn visit_package(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(name) = node.named_child(0) {
        builder.set_namespace(builder.text(name));
    }
}

fn visit_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let path = builder.field_text(node, "path").trim_matches(['"', '`']);
    if path.len() > MAX_NAME_BYTES {
        return;
    }
    let source = ShortExpression::Root(path.to_owned());
    match builder.field_text(node, "name") {
        "_" => {}
        "." => builder.add_glob_import(source),
        "" => builder.bind(choose_package_name(path), BoundValue::Alias(source)),
        alias => builder.bind(alias, BoundValue::Alias(source)),
    }
}

/// Returns the usual name of the package at a path, without a version.
fn choose_package_name(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let last = parts.next().unwrap_or(path);
    let is_version = last.strip_prefix('v').is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    });
    let versioned = if is_version { parts.next().unwrap_or(last) } else { last };
    let name = versioned.split(".v").next().unwrap_or(versioned);
    name.strip_prefix("go-").unwrap_or(name)
}
