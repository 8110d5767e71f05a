//! Reads the facts of Java.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FactBuilder, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, declare_variable, find_part, use_node, visit_others},
};
use crate::{BoundValue, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Java, classify_node);

const MAX_PATH_PARTS: usize = 30;
fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "line_comment" | "block_comment" | "break_statement" | "continue_statement" => {
            NodeRole::Skipped
        }
        "identifier" => NodeRole::Name(ReferenceKind::Read),
        "type_identifier" => NodeRole::Name(ReferenceKind::Type),
        "scoped_type_identifier" => NodeRole::Special(visit_scoped_type, read_scoped_type),
        "scoped_identifier" => NodeRole::Member("scope", "name", ReferenceKind::Read),
        "field_access" => NodeRole::Special(visit_field_access, read_field_access),
        "method_invocation" => NodeRole::Invocation("object", "name"),
        "object_creation_expression" => NodeRole::Special(visit_creation, typed::read_creation),
        "method_reference" => {
            NodeRole::Special(visit_method_reference, |_, _| ShortExpression::Outside)
        }
        "this" => NodeRole::This,
        "super" => NodeRole::Super,
        "generic_type" => NodeRole::Generic(""),
        "array_type" => NodeRole::Container("[]", &["element"]),
        "array_access" => NodeRole::Index("array"),
        "array_creation_expression" => NodeRole::Container("[]", &["type"]),
        "cast_expression" => NodeRole::Conversion("type"),
        "parenthesized_expression" | "wildcard" => NodeRole::Same(""),
        "ternary_expression" => NodeRole::Either("consequence", "alternative"),
        "assignment_expression" => NodeRole::Special(visit_assignment, typed::read_right),
        "method_declaration" | "annotation_type_element_declaration" => NodeRole::Method("type"),
        "constructor_declaration" | "compact_constructor_declaration" => {
            NodeRole::Custom(typed::visit_constructor)
        }
        "lambda_expression" => NodeRole::Special(visit_lambda, |_, _| ShortExpression::Outside),
        "inferred_parameters" => NodeRole::Custom(bind_names),
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "annotation_type_declaration" => {
            NodeRole::Type(&["superclass", "super_interfaces", "extends_interfaces"])
        }
        "record_declaration" => NodeRole::Custom(visit_record),
        "enum_constant" => NodeRole::Constant,
        "field_declaration" | "constant_declaration" | "local_variable_declaration" => {
            NodeRole::Variables("declarator", "type", "")
        }
        "formal_parameter" | "resource" => NodeRole::Variables("name", "type", "value"),
        "spread_parameter" => NodeRole::Custom(visit_spread_parameter),
        "catch_formal_parameter" => NodeRole::Custom(visit_caught),
        "enhanced_for_statement" => NodeRole::Loop("name", "value"),
        "instanceof_expression" => {
            NodeRole::Special(visit_instance_test, |_, _| ShortExpression::Outside)
        }
        "type_pattern" | "record_pattern_component" => NodeRole::Custom(visit_type_pattern),
        "type_parameter" => NodeRole::TypeParameter,
        "block"
        | "for_statement"
        | "switch_block_statement_group"
        | "switch_rule"
        | "try_with_resources_statement"
        | "catch_clause"
        | "constructor_body" => NodeRole::Block,
        "return_statement" => NodeRole::Return,
        "annotation" | "marker_annotation" => NodeRole::Custom(visit_annotation),
        "element_value_pair" => {
            NodeRole::Custom(|builder, node| builder.visit_field(node, "value"))
        }
        "labeled_statement" => NodeRole::Labeled,
        "package_declaration" => NodeRole::Custom(visit_package),
        "import_declaration" => NodeRole::Custom(visit_import),
        "integral_type" | "floating_point_type" | "boolean_type" | "void_type" => NodeRole::Literal,
        _ => NodeRole::Children,
    }
}

/// Returns the last name of `a.b.C` and what is before it.
fn split_scoped_type(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let children = list_named_children(node);
    let (scope, name) = (children.first()?, children.last()?);
    (children.len() > 1).then_some((*scope, *name))
}

fn visit_scoped_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some((scope, name)) = split_scoped_type(node) else { return };
    builder.visit(scope);
    let target = make_member(builder.read(scope), builder.text(name));
    builder.add_reference(ReferenceKind::Type, target, name);
}

fn read_scoped_type(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    match split_scoped_type(node) {
        Some((scope, name)) => reader.read_member(Some(scope), reader.builder.text(name)),
        None => ShortExpression::Unknown,
    }
}

fn visit_field_access(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    use_field_access(builder, node, ReferenceKind::Read);
}

/// Refers to the field of `a.b`, and only to `A` in `A.this`.
fn use_field_access(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: ReferenceKind) {
    builder.visit_field(node, "object");
    let (Some(object), Some(field)) =
        (node.child_by_field_name("object"), node.child_by_field_name("field"))
    else {
        return;
    };
    if field.kind() != "this" {
        let target = make_member(builder.read(object), builder.text(field));
        builder.add_reference(kind, target, field);
    }
}

/// Reads `a.b` as a member and `A.this` as an instance of `A`.
fn read_field_access(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let object = node.child_by_field_name("object");
    match reader.builder.field_text(node, "field") {
        "this" => ShortExpression::Call(Box::new(reader.read_part(object)), Vec::new()),
        field => reader.read_member(object, field),
    }
}

/// Visits an assignment, of which the target may be a field.
fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.child_by_field_name("left") {
        Some(left) if left.kind() == "field_access" => {
            use_field_access(builder, left, ReferenceKind::Write);
        }
        Some(left) => use_node(builder, left, ReferenceKind::Write),
        None => {}
    }
    builder.visit_field(node, "right");
}

/// Visits `new A() {…}`, whose body is that of a type without a name that extends `A`.
fn visit_creation(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let body = list_named_children(node).into_iter().find(|child| child.kind() == "class_body");
    let Some(body) = body else { return typed::visit_call(builder, node, "type") };
    let Some(kind) = node.child_by_field_name("type") else { return };
    use_node(builder, kind, ReferenceKind::Call);
    builder.visit_field(node, "arguments");
    let bases = vec![builder.read(kind)];
    let nodes = DefinitionNodes { name: kind, definition: node };
    let (line, column) = builder.position(node);
    let bound_name = format!("class {line}:{column}");
    let defined =
        builder.define_as(builder.scope_index(), &bound_name, DefinitionKind::Type, "class", nodes);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.bases = bases;
    }
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| builder.visit_children(body));
}

/// Visits `a::run` as a read of the member, and `A::new` as a read of the type.
fn visit_method_reference(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let children = list_named_children(node);
    let Some(owner) = children.first() else { return };
    builder.visit(*owner);
    if let Some(name) =
        children.last().filter(|name| children.len() > 1 && name.kind() == "identifier")
    {
        let method = format!("{}()", builder.text(*name));
        let target = make_member(builder.read(*owner), &method);
        builder.add_reference(ReferenceKind::Read, target, *name);
    }
}

/// Visits a record, whose fields are also methods.
fn visit_record(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let defined = typed::visit_type(builder, node, &["super_interfaces"]);
    let Some(body) = builder.definition_mut(defined).and_then(|fact| fact.body) else { return };
    let parameters = node.child_by_field_name("parameters");
    for parameter in parameters.map(list_named_children).unwrap_or_default() {
        let name = builder.field_text(parameter, "name");
        if let Some(field) = builder.find_first_definition(body, name) {
            builder.bind_in(body, &format!("{name}()"), BoundValue::Definition(field));
        }
    }
}

fn visit_lambda(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_in_scope(ScopeKind::Function, None, |builder| {
        match node.child_by_field_name("parameters") {
            Some(name) if name.kind() == "identifier" => {
                builder.bind(builder.text(name), BoundValue::Unknown);
            }
            Some(parameters) => builder.visit(parameters),
            None => {}
        }
        builder.visit_field(node, "body");
    });
}

fn bind_names(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for name in list_named_children(node) {
        builder.bind(builder.text(name), BoundValue::Unknown);
    }
}

/// Binds `A... names` to an array.
fn visit_spread_parameter(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let mut element = ShortExpression::Unknown;
    for child in list_named_children(node) {
        if let Some(name) =
            child.child_by_field_name("name").filter(|_| child.kind() == "variable_declarator")
        {
            let array = ShortExpression::Item(Box::new(typed::make_name("[]")), vec![element]);
            return builder.bind(builder.text(name), BoundValue::Typed(array));
        }
        builder.visit(child);
        element = builder.read(child);
    }
}

fn visit_caught(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    visit_others(builder, node, Some(name));
    let kinds = list_named_children(node).into_iter().find(|child| child.kind() == "catch_type");
    let kind = kinds.and_then(|kinds| kinds.named_child(0)).map(|kind| builder.read(kind));
    builder.bind(builder.text(name), kind.map_or(BoundValue::Unknown, BoundValue::Typed));
}

/// Visits `a instanceof A b`, which declares `b`.
fn visit_instance_test(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = node.child_by_field_name("name");
    visit_others(builder, node, name);
    if let Some(name) = name {
        let kind = builder.read_field(node, "right");
        declare_variable(builder, DefinitionNodes { name, definition: node }, kind, None);
    }
}

fn visit_type_pattern(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let children = list_named_children(node);
    if let [kind, name] = children.as_slice() {
        builder.visit(*kind);
        let annotation = Some(builder.read(*kind)).filter(|kind| !typed::is_inferred(kind));
        declare_variable(
            builder,
            DefinitionNodes { name: *name, definition: node },
            annotation,
            None,
        );
    }
}

fn visit_annotation(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = find_part(node, "name");
    if let Some(name) = name {
        use_node(builder, name, ReferenceKind::Type);
    }
    visit_others(builder, node, name);
}

fn visit_package(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(name) = list_named_children(node).last() {
        builder.set_namespace(builder.text(*name));
    }
}

/// Visits `import a.b.C`, `import a.b.*` and their static forms.
fn visit_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(path) = list_named_children(node).into_iter().find(|child| child.kind() != "asterisk")
    else {
        return;
    };
    let has_star = list_named_children(node).iter().any(|child| child.kind() == "asterisk");
    let source = read_import_path(builder.text(path));
    if has_star {
        builder.add_glob_import(source);
        return;
    }
    let name = path.child_by_field_name("name").unwrap_or(path);
    let local = builder.text(name);
    // A static import may be of a method.
    if let ShortExpression::Member(owner, _) = &source {
        let method = format!("{local}()");
        let alias = make_member((**owner).clone(), &method);
        builder.bind(&method, BoundValue::Alias(alias.clone()));
        if local.starts_with(char::is_lowercase) {
            builder.add_reference(ReferenceKind::Import, alias, name);
        }
    }
    if !local.starts_with(char::is_lowercase) {
        builder.add_reference(ReferenceKind::Import, source.clone(), name);
    }
    builder.bind(local, BoundValue::Alias(source));
}

/// Reads a path: package and type by their full name, what follows as members.
fn read_import_path(path: &str) -> ShortExpression {
    let mut root = String::new();
    let mut members = Vec::new();
    for part in path.split('.').map(str::trim).take(MAX_PATH_PARTS) {
        if root.rsplit('.').next().is_some_and(|last| last.starts_with(char::is_uppercase)) {
            members.push(part);
        } else {
            if !root.is_empty() {
                root.push('.');
            }
            root.push_str(part);
        }
    }
    members.into_iter().fold(ShortExpression::Root(root), make_member)
}
