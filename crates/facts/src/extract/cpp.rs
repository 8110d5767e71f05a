//! Reads the facts of C++: C with classes, templates and namespaces, whose names are the file's.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FILE_SCOPE, FactBuilder, NodeRole, SyntaxRules},
    c,
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, use_node, visit_others},
};
use crate::{BoundValue, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Cpp, classify_node);

const MAX_PATH_PARTS: usize = 12;
const TYPED_FUNCTIONS: [&str; 6] =
    ["make_shared", "make_unique", "static_cast", "dynamic_cast", "reinterpret_cast", "const_cast"];

fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "template_parameter_list"
        | "access_specifier"
        | "auto"
        | "placeholder_type_specifier"
        | "lambda_capture_specifier" => NodeRole::Skipped,
        "namespace_identifier" => NodeRole::Name(ReferenceKind::Read),
        "this" => NodeRole::This,
        "qualified_identifier" => NodeRole::Special(
            |builder, node| use_path(builder, node, ReferenceKind::Read),
            read_path,
        ),
        "call_expression" => NodeRole::Special(visit_call, read_call),
        "new_expression" => NodeRole::Construct("type"),
        "template_type" => NodeRole::Generic("name"),
        "template_function" => NodeRole::Same("name"),
        "class_specifier" | "struct_specifier" | "union_specifier" => {
            NodeRole::Special(visit_class, read_class)
        }
        "enum_specifier" => NodeRole::Special(visit_enum, read_class),
        "function_definition" => NodeRole::Custom(visit_function),
        "alias_declaration" => NodeRole::Alias("type"),
        "field_initializer" => NodeRole::Custom(visit_initializer),
        "lambda_expression" => NodeRole::Closure,
        "for_range_loop" => NodeRole::Custom(visit_loop),
        "using_declaration" => NodeRole::Custom(visit_using),
        "namespace_definition" => NodeRole::Custom(visit_namespace),
        "if_statement" | "while_statement" | "catch_clause" => NodeRole::Block,
        "true" | "false" => NodeRole::Literal,
        _ => c::classify_node(kind),
    }
}

fn read_path(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let Some(scope) = node.child_by_field_name("scope") else {
        return reader.read_part(node.child_by_field_name("name"));
    };
    let path = reader.read_part(Some(scope));
    let Some(name) = node.child_by_field_name("name") else { return ShortExpression::Unknown };
    read_below(reader, path, name, MAX_PATH_PARTS)
}

/// Reads a name below a path: `b::c` below `a` in `a::b::c`.
fn read_below(
    reader: &ExpressionReader<'_, '_>,
    path: ShortExpression,
    name: Node<'_>,
    max_parts: usize,
) -> ShortExpression {
    let inner = |field| name.child_by_field_name(field);
    match (name.kind(), inner("scope"), inner("name")) {
        ("qualified_identifier", ..) if max_parts == 0 => ShortExpression::Unknown,
        ("qualified_identifier", Some(scope), Some(last)) => {
            let scope = make_member(path, typed::name_text(reader.builder, scope));
            read_below(reader, scope, last, max_parts - 1)
        }
        ("template_type", ..) => {
            let list = inner("arguments").map(list_named_children).unwrap_or_default();
            let member = make_member(path, typed::name_text(reader.builder, name));
            let arguments = list.into_iter().take(3).map(|part| reader.read_part(Some(part)));
            ShortExpression::Item(Box::new(member), arguments.collect())
        }
        _ => make_member(path, typed::name_text(reader.builder, name)),
    }
}

/// Refers to each name of a path, to the last one as a use of a kind.
fn use_path(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: ReferenceKind) {
    let mut path = node.child_by_field_name("scope").map(|scope| {
        builder.visit(scope);
        builder.read(scope)
    });
    let mut name = node.child_by_field_name("name");
    for _ in 0..MAX_PATH_PARTS {
        let Some(current) = name else { return };
        let is_path = current.kind() == "qualified_identifier";
        let part = if is_path { current.child_by_field_name("scope") } else { Some(current) };
        let Some(part) = part else { return };
        let text = typed::name_text(builder, part);
        let target = match path {
            Some(path) => make_member(path, text),
            None => typed::make_name(text),
        };
        builder.add_reference(
            if is_path { ReferenceKind::Read } else { kind },
            target.clone(),
            part,
        );
        builder.visit_field(part, "arguments");
        if !is_path {
            return;
        }
        path = Some(target);
        name = current.child_by_field_name("name");
    }
}

fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.child_by_field_name("function") {
        Some(function) if function.kind() == "qualified_identifier" => {
            use_path(builder, function, ReferenceKind::Call);
            let arguments = node.child_by_field_name("arguments");
            builder
                .set_argument_count(arguments.map(list_named_children).unwrap_or_default().len());
            visit_others(builder, node, Some(function));
        }
        _ => typed::visit_call(builder, node, "function"),
    }
}

fn read_call(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let function = node.child_by_field_name("function");
    let last = function.map(|function| match function.kind() {
        "qualified_identifier" => function.child_by_field_name("name").unwrap_or(function),
        _ => function,
    });
    if let Some(last) = last
        && last.kind() == "template_function"
        && TYPED_FUNCTIONS.contains(&reader.builder.field_text(last, "name"))
    {
        let arguments = last.child_by_field_name("arguments");
        let kind = reader.read_part(arguments.and_then(|list| list.named_child(0)));
        return ShortExpression::Call(Box::new(kind), Vec::new());
    }
    reader.read_call(function, node)
}

fn read_class(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    match node.child_by_field_name("name") {
        Some(name) => reader.read_part(Some(name)),
        None => ShortExpression::Name(c::format_tag(reader.builder, node)),
    }
}

fn visit_class(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = node.child_by_field_name("name");
    // `struct A::B {…}` defines a type of `A`.
    if let Some(path) = name.filter(|name| name.kind() == "qualified_identifier")
        && let (Some(scope), Some(last)) =
            (path.child_by_field_name("scope"), path.child_by_field_name("name"))
        && let Some(body) = node.child_by_field_name("body")
    {
        let target = builder.read(scope);
        return builder.visit_extension(target, Vec::new(), None, |builder| {
            define_class(builder, node, last, body);
        });
    }
    let Some(body) = node.child_by_field_name("body") else {
        if let Some(name) = name.filter(|_| !is_forward(node)) {
            use_node(builder, name, ReferenceKind::Type);
        }
        return;
    };
    let clause =
        list_named_children(node).into_iter().find(|child| child.kind() == "base_class_clause");
    let mut bases = Vec::new();
    if let Some(clause) = clause {
        for base in list_named_children(clause) {
            match base.kind() {
                "access_specifier" => continue,
                "qualified_identifier" => use_path(builder, base, ReferenceKind::Base),
                _ => use_node(builder, base, ReferenceKind::Base),
            }
            bases.push(builder.read(base));
        }
    }
    let nodes = DefinitionNodes { name: name.unwrap_or(node), definition: node };
    let text = name.map_or("struct", |name| typed::name_text(builder, name));
    let bound_name = name.map_or_else(|| c::format_tag(builder, node), |_| text.to_owned());
    let scope = builder.scope_index();
    let defined = builder.define_as(scope, &bound_name, DefinitionKind::Type, text, nodes);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.bases = bases;
    }
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| builder.visit_children(body));
}

fn define_class(builder: &mut FactBuilder<'_>, node: Node<'_>, name: Node<'_>, body: Node<'_>) {
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Type, typed::name_text(builder, name), nodes);
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| builder.visit_children(body));
}

/// Returns true for `class A;`.
fn is_forward(node: Node<'_>) -> bool {
    node.parent().is_none_or(|parent| {
        matches!(
            parent.kind(),
            "translation_unit" | "declaration_list" | "template_declaration" | "friend_declaration"
        )
    })
}

/// Visits an enumeration, whose values the scope around it sees unless it is a class.
fn visit_enum(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(body) = node.child_by_field_name("body") else { return };
    let name = node.child_by_field_name("name");
    let nodes = DefinitionNodes { name: name.unwrap_or(node), definition: node };
    let text = name.map_or("enum", |name| builder.text(name));
    let bound_name = name.map_or_else(|| c::format_tag(builder, node), |_| text.to_owned());
    let outer = builder.scope_index();
    let defined = builder.define_as(outer, &bound_name, DefinitionKind::Type, text, nodes);
    let head = builder.text(node);
    let is_closed = head.starts_with("enum class") || head.starts_with("enum struct");
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
        for value in list_named_children(body) {
            typed::visit_constant(builder, value);
            let name = builder.field_text(value, "name");
            let constant = builder.find_first_definition(builder.scope_index(), name);
            if let Some(constant) = constant.filter(|_| !is_closed) {
                builder.bind_in(outer, name, BoundValue::Definition(constant));
            }
        }
    });
}

/// Visits a function, or a method outside of its class.
fn visit_function(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let declared = node.child_by_field_name("declarator").and_then(c::find_declared);
    let Some((name, parameters)) = declared else { return };
    // `class EXPORTED A {…}` is parsed as a function `A` with the result `class EXPORTED`.
    if parameters.is_none()
        && node.child_by_field_name("type").is_some_and(|kind| kind.kind().ends_with("_specifier"))
        && let Some(body) = node.child_by_field_name("body")
    {
        return define_class(builder, node, name, body);
    }
    c::visit_written_type(builder, node);
    let Some(scope) = name.child_by_field_name("scope") else {
        return c::define_function(builder, node, name, parameters);
    };
    let (mut target, mut last) = (builder.read(scope), name.child_by_field_name("name"));
    for _ in 0..MAX_PATH_PARTS {
        let Some(path) = last.filter(|last| last.kind() == "qualified_identifier") else { break };
        let part = path.child_by_field_name("scope").map(|part| typed::name_text(builder, part));
        target = make_member(target, part.unwrap_or_default());
        last = path.child_by_field_name("name");
    }
    let Some(last) = last else { return };
    builder.visit_extension(target, Vec::new(), None, |builder| {
        c::define_function(builder, node, last, parameters);
    });
}

/// Visits `field(value)` before the body of a constructor.
fn visit_initializer(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = node.named_child(0);
    if let Some(name) = name.filter(|name| name.kind() == "field_identifier") {
        builder.add_reference(ReferenceKind::Write, builder.read_name(name), name);
    }
    visit_others(builder, node, name);
}

fn visit_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        let declared = node.child_by_field_name("declarator").and_then(c::find_declared);
        builder.visit_field(node, "right");
        builder.visit_field(node, "type");
        let annotation = builder.read_field(node, "type").filter(|kind| !typed::is_inferred(kind));
        let source = builder.read_field(node, "right").unwrap_or(ShortExpression::Unknown);
        if let Some((name, _)) = declared {
            let bound = annotation.map_or(BoundValue::Element(source), BoundValue::Typed);
            builder.bind(builder.text(name), bound);
        }
        builder.visit_field(node, "body");
    });
}

/// Binds the last name of `using a::b;`. `using namespace` adds nothing: its names are the file's.
fn visit_using(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(path) = node.named_child(0).filter(|path| path.kind() == "qualified_identifier") {
        use_path(builder, path, ReferenceKind::Import);
        let source = builder.read(path);
        if let ShortExpression::Member(_, name) = &source {
            let local = name.clone();
            builder.bind(&local, BoundValue::Alias(source));
        }
    }
}

fn visit_namespace(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for name in builder.field_text(node, "name").split("::").filter(|name| *name != "std") {
        let source = ShortExpression::Root(name.to_owned());
        builder.bind_in(FILE_SCOPE, name.trim(), BoundValue::Alias(source));
    }
    if let Some(body) = node.child_by_field_name("body") {
        builder.visit_children(body);
    }
}
