//! Reads the facts of C#.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FactBuilder, MAX_NAME_BYTES, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, declare_variable, use_node, visit_others},
};
use crate::{BoundValue, ModuleSystem, ReferenceKind, ShortExpression};

/// Maximum nodes between a member and the receiver before its `?`.
const MAX_PARENTS: usize = 20;

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Csharp, classify_node);

fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "comment" | "modifier" | "goto_statement" | "extern_alias_directive" => NodeRole::Skipped,
        "identifier" => NodeRole::Name(ReferenceKind::Read),
        "this" => NodeRole::This,
        "base" => NodeRole::Super,
        "member_access_expression" => NodeRole::Member("expression", "name", ReferenceKind::Read),
        "qualified_name" => NodeRole::Member("qualifier", "name", ReferenceKind::Type),
        "conditional_access_expression" => NodeRole::Value(read_last),
        "member_binding_expression" => NodeRole::Special(visit_binding, read_binding),
        "invocation_expression" => NodeRole::Call("function"),
        "object_creation_expression" => NodeRole::Special(visit_creation, typed::read_creation),
        "generic_name" => NodeRole::Generic(""),
        "type_argument_list" => NodeRole::Custom(visit_types),
        "nullable_type" | "ref_type" | "primary_constructor_base_type" => NodeRole::Same("type"),
        "array_type" => NodeRole::Container("[]", &["type"]),
        "element_access_expression" => NodeRole::Index("expression"),
        "parenthesized_expression" | "postfix_unary_expression" | "argument" => NodeRole::Same(""),
        "cast_expression" => NodeRole::Conversion("type"),
        "as_expression" => NodeRole::Conversion("right"),
        "await_expression" => NodeRole::Held(""),
        "conditional_expression" => NodeRole::Either("consequence", "alternative"),
        "assignment_expression" => NodeRole::Assignment("left", "right"),
        "method_declaration" => NodeRole::Function("returns"),
        "local_function_statement" => NodeRole::Function("type"),
        "constructor_declaration" => NodeRole::Custom(typed::visit_constructor),
        "lambda_expression" | "anonymous_method_expression" => NodeRole::Closure,
        "implicit_parameter" => NodeRole::Custom(|builder, node| {
            builder.bind(builder.text(node), BoundValue::Unknown);
        }),
        "class_declaration"
        | "struct_declaration"
        | "interface_declaration"
        | "record_declaration"
        | "enum_declaration"
        | "delegate_declaration" => NodeRole::Custom(visit_type),
        "enum_member_declaration" => NodeRole::Constant,
        "property_declaration" => NodeRole::Variables("name", "type", "value"),
        "parameter" | "declaration_pattern" | "declaration_expression" | "catch_declaration" => {
            NodeRole::Variables("name", "type", "")
        }
        "variable_declaration" => NodeRole::Custom(visit_variables),
        "foreach_statement" => NodeRole::Loop("left", "right"),
        "type_parameter" => NodeRole::TypeParameter,
        "type_parameter_constraints_clause" => NodeRole::Custom(visit_constraints),
        "block"
        | "for_statement"
        | "using_statement"
        | "switch_section"
        | "catch_clause"
        | "accessor_declaration"
        | "switch_expression_arm" => NodeRole::Block,
        "return_statement" => NodeRole::Return,
        "attribute" => NodeRole::Custom(|builder, node| {
            visit_others(builder, node, node.child_by_field_name("name"));
        }),
        "labeled_statement" => NodeRole::Labeled,
        "namespace_declaration" | "file_scoped_namespace_declaration" => {
            NodeRole::Custom(visit_namespace)
        }
        "using_directive" => NodeRole::Custom(visit_using),
        "interpolated_string_expression" | "predefined_type" => NodeRole::Literal,
        _ => NodeRole::Children,
    }
}

/// Reads `a?.b` as its last part, which refers to the first one.
fn read_last(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    reader.read_part(list_named_children(node).into_iter().last())
}

/// Returns `a` of the `a?.b` that has `.b`.
fn find_condition(node: Node<'_>) -> Option<Node<'_>> {
    let mut current = node;
    for _ in 0..MAX_PARENTS {
        let parent = current.parent()?;
        let condition = parent.child_by_field_name("condition");
        if parent.kind() == "conditional_access_expression" && condition != Some(current) {
            return condition;
        }
        current = parent;
    }
    None
}

fn visit_binding(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let (Some(object), Some(name)) = (find_condition(node), node.child_by_field_name("name")) {
        let target = make_member(builder.read(object), typed::name_text(builder, name));
        builder.add_reference(ReferenceKind::Call, target, name);
    }
}

fn read_binding(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let name = node.child_by_field_name("name");
    let text = name.map(|name| typed::name_text(reader.builder, name)).unwrap_or_default();
    reader.read_member(find_condition(node), text)
}

/// Visits `new A(b) { C = d }`, where `C` is a member of `A`.
fn visit_creation(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(kind) = node.child_by_field_name("type") else { return };
    use_node(builder, kind, ReferenceKind::Call);
    builder.visit_field(node, "arguments");
    let owner = ShortExpression::Call(Box::new(builder.read(kind)), Vec::new());
    let initializer = node.child_by_field_name("initializer");
    for part in initializer.map(list_named_children).unwrap_or_default() {
        match part.child_by_field_name("left").filter(|left| left.kind() == "identifier") {
            Some(left) => {
                let target = make_member(owner.clone(), builder.text(left));
                builder.add_reference(ReferenceKind::Write, target, left);
                builder.visit_field(part, "right");
            }
            None => builder.visit(part),
        }
    }
}

fn visit_types(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for kind in list_named_children(node) {
        use_node(builder, kind, ReferenceKind::Type);
    }
}

/// Visits a type. Each part of a partial one has the members of all.
fn visit_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let defined = typed::visit_type(builder, node, &["base_list"]);
    let is_partial =
        |child: &Node<'_>| child.kind() == "modifier" && builder.text(*child) == "partial";
    if list_named_children(node).iter().any(is_partial) {
        builder.extend_with_itself(defined);
    }
}

fn visit_variables(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let kind = node.child_by_field_name("type");
    if let Some(kind) = kind {
        use_node(builder, kind, ReferenceKind::Type);
    }
    let annotation = kind.map(|kind| builder.read(kind)).filter(|kind| !typed::is_inferred(kind));
    for declarator in list_named_children(node) {
        let Some(name) =
            declarator.child_by_field_name("name").filter(|_| Some(declarator) != kind)
        else {
            continue;
        };
        visit_others(builder, declarator, Some(name));
        let value_node = list_named_children(declarator).into_iter().rfind(|value| *value != name);
        let value = value_node.map(|value| builder.read(value));
        let nodes = DefinitionNodes { name, definition: node };
        declare_variable(builder, nodes, annotation.clone(), value);
    }
}

/// Visits `where T : A`.
fn visit_constraints(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let children = list_named_children(node);
    let Some((name, bounds)) = children.split_first() else { return };
    for kind in bounds.iter().filter_map(|bound| bound.child_by_field_name("type")) {
        use_node(builder, kind, ReferenceKind::Type);
        builder.bind(builder.text(*name), BoundValue::Typed(builder.read(kind)));
    }
}

fn visit_namespace(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.set_namespace(builder.field_text(node, "name"));
    visit_others(builder, node, node.child_by_field_name("name"));
}

/// Visits `using A.B`, `using static A.B.C` and `using D = A.B.C`.
fn visit_using(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(path) = list_named_children(node).into_iter().last() else { return };
    let text = builder.text(path);
    if text.len() > MAX_NAME_BYTES {
        return;
    }
    let source = ShortExpression::Root(text.split('<').next().unwrap_or(text).to_owned());
    match node.child_by_field_name("name").filter(|name| *name != path) {
        Some(alias) => builder.bind(builder.text(alias), BoundValue::Alias(source)),
        // The files of the project have a global import.
        None if builder.text(node).starts_with("global") => {
            builder.add_star_import(text.split('<').next().unwrap_or(text));
        }
        None => builder.add_glob_import(source),
    }
}
