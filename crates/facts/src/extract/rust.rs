//! Reads the facts of Rust.

mod imports;
mod patterns;
mod tokens;

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FactBuilder, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, find_part, use_node, visit_others},
};
use crate::{BoundValue, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};

const MAX_TUPLE_PARTS: usize = 8;

/// Methods that call a closure with something else than what their receiver holds.
const OTHER_CLOSURES: [&str; 6] =
    ["fold", "map_err", "or_else", "unwrap_or_else", "try_fold", "sort_by"];

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Rust, classify_node);

#[expect(clippy::too_many_lines, reason = "a table of node kinds")]
fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "line_comment"
        | "block_comment"
        | "inner_attribute_item"
        | "lifetime"
        | "label"
        | "self_parameter"
        | "visibility_modifier"
        | "remaining_field_pattern" => NodeRole::Skipped,
        "attribute_item" => NodeRole::Custom(visit_attribute),
        "identifier" | "shorthand_field_identifier" => NodeRole::Name(ReferenceKind::Read),
        "type_identifier" => NodeRole::Name(ReferenceKind::Type),
        "self" => NodeRole::This,
        "crate" | "super" => NodeRole::Value(read_root),
        "scoped_identifier" => NodeRole::Special(
            |builder, node| visit_path(builder, node, ReferenceKind::Read),
            read_path,
        ),
        "scoped_type_identifier" => NodeRole::Special(
            |builder, node| visit_path(builder, node, ReferenceKind::Type),
            read_path,
        ),
        "field_expression" => NodeRole::Field("value", "field"),
        "call_expression" => NodeRole::Special(visit_call, read_call),
        "struct_expression" => NodeRole::Special(visit_struct_expression, read_struct_expression),
        "macro_invocation" => NodeRole::Custom(tokens::visit_macro),
        "generic_type" | "generic_type_with_turbofish" => NodeRole::Generic("type"),
        "generic_function" => NodeRole::Same("function"),
        "reference_type" | "pointer_type" | "qualified_type" => NodeRole::Same("type"),
        "dynamic_type" | "abstract_type" => NodeRole::Same("trait"),
        "reference_expression" => NodeRole::Same("value"),
        "await_expression"
        | "unary_expression"
        | "parenthesized_expression"
        | "bracketed_type"
        | "bounded_type" => NodeRole::Same(""),
        "try_expression" => NodeRole::Held(""),
        "array_type" => NodeRole::Container("[]", &["element"]),
        "tuple_type" | "tuple_expression" => NodeRole::Value(read_tuple),
        "type_cast_expression" => NodeRole::Conversion("type"),
        "index_expression" => NodeRole::Index(""),
        "assignment_expression" | "compound_assignment_expr" => {
            NodeRole::Assignment("left", "right")
        }
        "function_item" | "function_signature_item" => NodeRole::Function("return_type"),
        "closure_expression" => NodeRole::Special(visit_closure, |_, _| ShortExpression::Outside),
        "parameter" => NodeRole::Custom(patterns::visit_parameter),
        "let_declaration" => NodeRole::Custom(patterns::visit_let),
        "let_condition" => NodeRole::Custom(patterns::visit_condition),
        "match_expression" => NodeRole::Custom(patterns::visit_match),
        "for_expression" => NodeRole::Custom(patterns::visit_loop),
        "block" => NodeRole::Custom(patterns::visit_block),
        "if_expression" | "while_expression" => NodeRole::Block,
        "impl_item" => NodeRole::Custom(visit_implementation),
        "trait_item" => NodeRole::Type(&["trait_bounds"]),
        "struct_item" | "union_item" | "enum_item" => NodeRole::Type(&[]),
        "enum_variant" => NodeRole::Constant,
        "field_declaration" => NodeRole::Custom(visit_field),
        "ordered_field_declaration_list" => NodeRole::Custom(visit_ordered_fields),
        "type_item" | "associated_type" => NodeRole::Alias("type"),
        "const_item" | "static_item" => NodeRole::Variables("name", "type", "value"),
        "type_parameter" => NodeRole::TypeParameter,
        "where_predicate" => NodeRole::Custom(visit_predicate),
        "mod_item" => NodeRole::Custom(visit_module),
        "use_declaration" => NodeRole::Custom(imports::visit_use),
        "extern_crate_declaration" => NodeRole::Custom(imports::visit_extern_crate),
        "macro_definition" => NodeRole::Custom(visit_macro_definition),
        "type_binding" => NodeRole::Custom(|builder, node| builder.visit_field(node, "type")),
        "unit_type" | "unit_expression" | "primitive_type" | "function_type" => NodeRole::Literal,
        _ => NodeRole::Children,
    }
}

/// Maximum attributes and comments between an attribute and its item.
const MAX_ATTRIBUTES: usize = 20;

/// Notes an item that only tests compile: one with `#[cfg(test)]` or with `#[test]`, also of a library.
fn visit_attribute(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let text = builder.text(node).trim_start_matches("#[");
    let name = text.split(['(', ']', ' ', '=']).next().unwrap_or_default();
    let is_condition = text.starts_with("cfg(test") || text.starts_with("cfg(all(test");
    if !is_condition && !name.ends_with("test") {
        return;
    }
    let mut item = node.next_named_sibling();
    for _ in 0..MAX_ATTRIBUTES {
        match item.filter(|next| next.is_extra() || next.kind() == "attribute_item") {
            Some(next) => item = next.next_named_sibling(),
            None => break,
        }
    }
    if let Some(item) = item {
        builder.add_test(item);
    }
}

/// Reads `crate`, `super`, and `self` at the begin of a path.
fn read_root(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    ShortExpression::Root(reader.builder.text(node).to_owned())
}

fn read_path(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let name = reader.builder.field_text(node, "name");
    match node.child_by_field_name("path") {
        Some(path) if path.kind() == "self" => make_member(read_root(reader, path), name),
        None => ShortExpression::Root(name.to_owned()),
        // `super::super`
        Some(path) if name == "super" => make_member(reader.read_part(Some(path)), name),
        path => reader.read_member(path, name),
    }
}

/// Refers to the last name of a path as a use of a kind, and to the others.
fn visit_path(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: ReferenceKind) {
    builder.visit_field(node, "path");
    if let Some(name) = node.child_by_field_name("name") {
        builder.add_reference(kind, builder.read(node), name);
    }
}

fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(function) = node.child_by_field_name("function") {
        visit_called(builder, function);
    }
    let held = read_held(builder, node);
    let arguments = node.child_by_field_name("arguments").map(list_named_children);
    for argument in arguments.unwrap_or_default() {
        if argument.kind() == "closure_expression" {
            builder.descend(|builder| patterns::visit_closure(builder, argument, held.as_ref()));
        } else {
            builder.visit(argument);
        }
    }
}

/// Reads what the receiver of a method holds, which is what the method calls a closure with.
fn read_held(builder: &FactBuilder<'_>, call: Node<'_>) -> Option<ShortExpression> {
    let function = call.child_by_field_name("function")?;
    let receiver = function.child_by_field_name("value")?;
    let is_item = !OTHER_CLOSURES.contains(&builder.field_text(function, "field"));
    is_item.then(|| ShortExpression::Item(Box::new(builder.read(receiver)), Vec::new()))
}

fn visit_closure(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    patterns::visit_closure(builder, node, None);
}

fn visit_called(builder: &mut FactBuilder<'_>, function: Node<'_>) {
    match function.kind() {
        "generic_function" => {
            let inner = function.child_by_field_name("function");
            visit_others(builder, function, inner);
            if let Some(inner) = inner {
                builder.descend(|builder| visit_called(builder, inner));
            }
        }
        "field_expression" => {
            builder.visit_field(function, "value");
            if let Some(name) = function.child_by_field_name("field") {
                builder.add_reference(ReferenceKind::Call, read_called(builder, function), name);
            }
        }
        "scoped_identifier" => visit_path(builder, function, ReferenceKind::Call),
        _ => use_node(builder, function, ReferenceKind::Call),
    }
}

/// Reads the function that a call calls; a method is no field of that name.
fn read_called(builder: &FactBuilder<'_>, function: Node<'_>) -> ShortExpression {
    match function.child_by_field_name("value").filter(|_| function.kind() == "field_expression") {
        Some(value) => make_member(builder.read(value), builder.field_text(function, "field")),
        None => builder.read(function),
    }
}

fn read_call(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let function = node.child_by_field_name("function").map(|function| {
        match function.child_by_field_name("function") {
            Some(inner) if function.kind() == "generic_function" => inner,
            _ => function,
        }
    });
    match function {
        Some(method) if method.kind() == "field_expression" => {
            let receiver = reader.read_part(method.child_by_field_name("value"));
            let name = reader.builder.field_text(method, "field");
            ShortExpression::Call(Box::new(make_member(receiver, name)), Vec::new())
        }
        function => ShortExpression::Call(Box::new(reader.read_part(function)), Vec::new()),
    }
}

fn visit_struct_expression(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if name.kind() == "scoped_type_identifier" {
        visit_path(builder, name, ReferenceKind::Call);
    } else {
        use_node(builder, name, ReferenceKind::Call);
    }
    let owner = builder.read(name);
    let body = node.child_by_field_name("body");
    for field in body.map(list_named_children).unwrap_or_default() {
        if let Some(key) = field.child_by_field_name("field") {
            let target = make_member(owner.clone(), &format!(".{}", builder.text(key)));
            builder.add_reference(ReferenceKind::Write, target, key);
            builder.visit_field(field, "value");
        } else if let Some(key) = field.named_child(0).filter(|key| key.kind() == "identifier") {
            let target = make_member(owner.clone(), &format!(".{}", builder.text(key)));
            builder.add_reference(ReferenceKind::Write, target, key);
        } else {
            builder.visit(field);
        }
    }
}

fn read_struct_expression(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    ShortExpression::Call(Box::new(reader.read_part(node.child_by_field_name("name"))), Vec::new())
}

fn read_tuple(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    reader.read_tuple(list_named_children(node))
}

/// Visits `impl A for B`, which adds members and a base to `B`.
fn visit_implementation(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let target = builder.read_field(node, "type").unwrap_or(ShortExpression::Unknown);
    let bases = builder.read_field(node, "trait").into_iter().collect();
    let base = node.child_by_field_name("trait");
    builder.visit_extension(target, bases, None, |builder| {
        if let Some(base) = base {
            if base.kind() == "scoped_type_identifier" {
                visit_path(builder, base, ReferenceKind::Base);
            } else {
                use_node(builder, base, ReferenceKind::Base);
            }
        }
        visit_others(builder, node, base);
    });
}

fn visit_field(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    if let Some(name) = node.child_by_field_name("name") {
        define_field(builder, name, node, builder.read_field(node, "type"));
    }
}

/// Defines a field under a name that no function of the type has.
fn define_field(
    builder: &mut FactBuilder<'_>,
    name: Node<'_>,
    node: Node<'_>,
    annotation: Option<ShortExpression>,
) {
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    let defined = builder.define_as(
        builder.scope_index(),
        &format!(".{text}"),
        DefinitionKind::Field,
        text,
        nodes,
    );
    builder.add_type(defined, annotation, None);
}

/// Defines the fields of `struct A(B, C)`, which have numbers for names.
fn visit_ordered_fields(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_children(node);
    let kinds: Vec<Node<'_>> = node.children_by_field_name("type", &mut node.walk()).collect();
    for (place, kind) in kinds.into_iter().take(MAX_TUPLE_PARTS).enumerate() {
        let nodes = DefinitionNodes { name: kind, definition: kind };
        let name = place.to_string();
        let bound_name = format!(".{name}");
        let defined = builder.define_as(
            builder.scope_index(),
            &bound_name,
            DefinitionKind::Field,
            &name,
            nodes,
        );
        builder.add_type(defined, Some(builder.read(kind)), None);
    }
}

/// Visits a bound of a type parameter in a `where` clause.
fn visit_predicate(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_children(node);
    let (left, bounds) = (builder.field_text(node, "left"), node.child_by_field_name("bounds"));
    for bound in bounds.map(list_named_children).unwrap_or_default() {
        builder.bind(left, BoundValue::Typed(builder.read(bound)));
    }
}

/// Visits `mod a {…}`, and binds `mod a;` to its file.
fn visit_module(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let text = builder.text(name);
    let Some(body) = node.child_by_field_name("body") else {
        return builder.bind_import(text, text, None);
    };
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Type, text, nodes);
    builder.visit_in_scope(ScopeKind::Namespace, defined, |builder| builder.visit_children(body));
}

fn visit_macro_definition(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = find_part(node, "name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    builder.define_as(
        builder.scope_index(),
        &format!("{text}!"),
        DefinitionKind::Function,
        text,
        nodes,
    );
}
