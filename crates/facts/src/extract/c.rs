//! Reads the facts of C.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FILE_SCOPE, FactBuilder, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, CONSTRUCTOR, make_name},
};
use crate::{
    BoundValue, DefinitionIndex, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind,
    ShortExpression,
};

/// Macros that compilers define for some systems.
const FOREIGN_MACROS: [&str; 4] = ["WIN32", "_MSC_VER", "__MINGW", "__APPLE__"];
/// Maximum declarators inside one another.
const MAX_DECLARATORS: usize = 20;

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::C, classify_node);

pub(super) fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "comment"
        | "statement_identifier"
        | "goto_statement"
        | "preproc_call"
        | "storage_class_specifier"
        | "attribute_specifier" => NodeRole::Skipped,
        // Also macros `TRUE` and `FALSE`.
        "identifier" | "true" | "false" => NodeRole::Name(ReferenceKind::Read),
        "type_identifier" => NodeRole::Name(ReferenceKind::Type),
        "field_expression" => NodeRole::Member("argument", "field", ReferenceKind::Read),
        "call_expression" => NodeRole::Call("function"),
        "pointer_expression" => NodeRole::Same("argument"),
        "parenthesized_expression" => NodeRole::Same(""),
        "subscript_expression" => NodeRole::Index("argument"),
        "cast_expression" => NodeRole::Conversion("type"),
        "compound_literal_expression" => NodeRole::Special(visit_compound, read_compound),
        "conditional_expression" => NodeRole::Either("consequence", "alternative"),
        "assignment_expression" => NodeRole::Assignment("left", "right"),
        "type_descriptor" | "macro_type_specifier" => NodeRole::Same("type"),
        "struct_specifier" | "union_specifier" | "enum_specifier" => {
            NodeRole::Special(visit_tag, read_tag)
        }
        "enumerator" => NodeRole::Custom(visit_enumerator),
        "function_definition" => NodeRole::Custom(visit_function),
        "declaration" => NodeRole::Custom(visit_declaration),
        "field_declaration" => NodeRole::Custom(visit_fields),
        "type_definition" => NodeRole::Custom(visit_typedef),
        "parameter_declaration" | "optional_parameter_declaration" => {
            NodeRole::Custom(visit_parameter)
        }
        "compound_statement" | "for_statement" => NodeRole::Block,
        "return_statement" => NodeRole::Return,
        "preproc_if" | "preproc_ifdef" | "preproc_elif" | "preproc_elifdef" => {
            NodeRole::Custom(visit_condition)
        }
        "preproc_include" => NodeRole::Custom(visit_include),
        "preproc_def" => {
            NodeRole::Custom(|builder, node| visit_macro(builder, node, DefinitionKind::Variable))
        }
        "preproc_function_def" => {
            NodeRole::Custom(|builder, node| visit_macro(builder, node, DefinitionKind::Function))
        }
        "concatenated_string" | "primitive_type" | "sized_type_specifier" => NodeRole::Literal,
        _ => NodeRole::Children,
    }
}

/// Returns the node of the name that a declarator declares, and that of its parameters if it is a function's.
pub(super) fn find_declared(declarator: Node<'_>) -> Option<(Node<'_>, Option<Node<'_>>)> {
    let mut node = declarator;
    let mut parameters = None;
    let mut is_pointer = false;
    for _ in 0..MAX_DECLARATORS {
        match node.kind() {
            "function_declarator" if !is_pointer => {
                parameters = node.child_by_field_name("parameters");
            }
            // A pointer to a function is no function.
            "parenthesized_declarator" if parameters.is_some() => {
                let inner = list_named_children(node).into_iter().last()?;
                is_pointer |= inner.kind() == "pointer_declarator";
            }
            _ => {}
        }
        node = match node.child_by_field_name("declarator") {
            Some(inner) => inner,
            None if node.kind().ends_with("_declarator") => {
                list_named_children(node).into_iter().find(|child| {
                    child.kind().ends_with("identifier") || child.kind().ends_with("_declarator")
                })?
            }
            None => return Some((node, parameters.filter(|_| !is_pointer))),
        };
    }
    None
}

fn has_storage(builder: &FactBuilder<'_>, node: Node<'_>, storage: &str) -> bool {
    list_named_children(node)
        .iter()
        .any(|child| child.kind() == "storage_class_specifier" && builder.text(*child) == storage)
}

/// Returns the type of a function or variable: that after a macro, if two names are written.
fn find_written_type(node: Node<'_>) -> Option<Node<'_>> {
    let kind = node.child_by_field_name("type")?;
    let skipped = kind.next_named_sibling().filter(Node::is_error);
    let second = skipped.and_then(|skipped| skipped.named_child(0));
    second.filter(|second| second.kind() == "identifier").or(Some(kind))
}

/// Visits the type of a function or variable, and a macro before it.
pub(super) fn visit_written_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (kind, first) = (find_written_type(node), node.child_by_field_name("type"));
    for part in [first, kind.filter(|_| kind != first)].into_iter().flatten() {
        typed::use_node(builder, part, ReferenceKind::Type);
    }
}

fn visit_function(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    visit_written_type(builder, node);
    let declared = node.child_by_field_name("declarator").and_then(find_declared);
    let Some((name, parameters)) = declared else { return };
    define_function(builder, node, name, parameters);
}

pub(super) fn define_function(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    name: Node<'_>,
    parameters: Option<Node<'_>>,
) {
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    // A constructor has no result.
    let result = find_written_type(node).map(|kind| builder.read(kind));
    let is_constructor = builder.syntax().module_system == ModuleSystem::Cpp && result.is_none();
    let bound_name = if is_constructor { CONSTRUCTOR } else { text };
    let scope = builder.scope_index();
    let defined = builder.define_as(scope, bound_name, DefinitionKind::Function, text, nodes);
    let parameter_count = parameters.and_then(|list| count_parameters(builder, list));
    let is_private = has_storage(builder, node, "static");
    if let Some(definition) = builder.definition_mut(defined) {
        definition.result = result;
        definition.traits.is_declaration = node.child_by_field_name("body").is_none();
        definition.traits.is_private = is_private;
        definition.traits.parameter_count = parameter_count;
    }
    builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
        if let Some(parameters) = parameters {
            builder.visit_children(parameters);
        }
        for part in list_named_children(node) {
            if part.kind() == "field_initializer_list" {
                builder.visit(part);
            }
        }
        if let Some(body) = node.child_by_field_name("body") {
            builder.descend(|builder| builder.visit_children(body));
        }
    });
}

/// Returns the number of parameters; `None` if calls may have more or fewer arguments.
fn count_parameters(builder: &FactBuilder<'_>, list: Node<'_>) -> Option<u8> {
    let parameters = list_named_children(list);
    let is_fixed = parameters.iter().all(|parameter| parameter.kind() == "parameter_declaration");
    let count = if builder.text(list) == "(void)" { 0 } else { parameters.len() };
    u8::try_from(count).ok().filter(|_| is_fixed)
}

fn visit_parameter(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    let annotation = builder.read_field(node, "type").unwrap_or(ShortExpression::Unknown);
    if let Some(declarator) = node.child_by_field_name("declarator") {
        visit_declarator(builder, declarator);
    }
    if let Some((name, _)) = node.child_by_field_name("declarator").and_then(find_declared) {
        let kind = read_outside(builder, annotation, builder.text(name));
        builder.bind(builder.text(name), BoundValue::Typed(kind));
    }
}

/// Reads the type of a variable in the scope around its own if both have one name: `list *list`.
fn read_outside(builder: &FactBuilder<'_>, kind: ShortExpression, name: &str) -> ShortExpression {
    match kind {
        ShortExpression::Name(known) if known == name && builder.scope_index() != FILE_SCOPE => {
            ShortExpression::Outer(Box::new(ShortExpression::Name(known)))
        }
        kind => kind,
    }
}

/// Visits prototypes of functions and declarations of variables.
fn visit_declaration(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    visit_written_type(builder, node);
    let annotation = find_written_type(node).map(|kind| builder.read(kind));
    let declarators: Vec<Node<'_>> =
        node.children_by_field_name("declarator", &mut node.walk()).collect();
    for declarator in declarators {
        visit_declarator(builder, declarator);
        let Some((name, parameters)) = find_declared(declarator) else { continue };
        if parameters.is_some() {
            define_function(builder, node, name, parameters);
            continue;
        }
        let nodes = DefinitionNodes { name, definition: node };
        let value = declarator.child_by_field_name("value");
        let read_value = value.map(|value| builder.read(value));
        let kind = annotation.clone().filter(|kind| !typed::is_inferred(kind));
        let owner = kind.clone().map(make_instance);
        let defined = declare(builder, nodes, kind, read_value);
        let is_private = has_storage(builder, node, "static");
        let is_declaration = has_storage(builder, node, "extern");
        if let Some(definition) = builder.definition_mut(defined) {
            definition.traits.is_private = is_private;
            definition.traits.is_declaration = is_declaration;
        }
        if let Some(value) = value {
            visit_value(builder, value, owner.as_ref(), is_array(declarator));
        }
    }
}

/// Binds a local variable, or defines one of the file.
fn declare(
    builder: &mut FactBuilder<'_>,
    nodes: DefinitionNodes<'_>,
    annotation: Option<ShortExpression>,
    value: Option<ShortExpression>,
) -> Option<DefinitionIndex> {
    let is_local = matches!(
        builder.scope_kind(builder.scope_index()),
        Some(ScopeKind::Function | ScopeKind::Block)
    );
    // An indented variable outside of everything belongs to a function that cannot be parsed.
    let is_stray = nodes.definition.start_position().column > 0
        && nodes.definition.parent().is_none_or(|parent| parent.is_error());
    if is_stray {
        return None;
    }
    if is_local {
        let name = builder.text(nodes.name);
        let kind = annotation.map(|kind| read_outside(builder, kind, name));
        typed::declare_variable(builder, nodes, kind, value);
        return None;
    }
    let defined = builder.define(DefinitionKind::Variable, builder.text(nodes.name), nodes);
    builder.add_type(defined, annotation, value);
    defined
}

/// Visits the sizes of arrays and the parameters of pointers to functions in a declarator.
fn visit_declarator(builder: &mut FactBuilder<'_>, declarator: Node<'_>) {
    let mut node = Some(declarator);
    for _ in 0..MAX_DECLARATORS {
        let Some(current) = node else { break };
        builder.visit_field(current, "size");
        let inner = current.child_by_field_name("declarator");
        if inner.is_some_and(|inner| inner.kind() == "parenthesized_declarator")
            && let Some(parameters) = current.child_by_field_name("parameters")
        {
            builder.visit_block(parameters);
        }
        node = current.child_by_field_name("declarator");
    }
}

fn is_array(declarator: Node<'_>) -> bool {
    let inner = declarator.child_by_field_name("declarator").unwrap_or(declarator);
    inner.kind() == "array_declarator"
}

fn make_instance(kind: ShortExpression) -> ShortExpression {
    ShortExpression::Call(Box::new(kind), Vec::new())
}

/// Visits a value: in the initializer of a struct, names after a dot are fields of the struct.
fn visit_value(
    builder: &mut FactBuilder<'_>,
    value: Node<'_>,
    owner: Option<&ShortExpression>,
    is_array: bool,
) {
    if value.kind() != "initializer_list" {
        return builder.visit(value);
    }
    for part in list_named_children(value) {
        let inner = part.child_by_field_name("value").unwrap_or(part);
        let mut inner_owner = owner.filter(|_| is_array).cloned();
        for designator in part.children_by_field_name("designator", &mut part.walk()) {
            let field =
                designator.named_child(0).filter(|_| designator.kind() == "field_designator");
            match (field, owner) {
                (Some(field), Some(owner)) => {
                    let target = make_member(owner.clone(), builder.text(field));
                    builder.add_reference(ReferenceKind::Write, target.clone(), field);
                    inner_owner = Some(target);
                }
                _ => builder.visit(designator),
            }
        }
        builder.descend(|builder| visit_value(builder, inner, inner_owner.as_ref(), false));
    }
}

fn visit_compound(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    let owner = builder.read_field(node, "type").map(make_instance);
    let is_array = node
        .child_by_field_name("type")
        .is_some_and(|kind| kind.child_by_field_name("declarator").is_some());
    if let Some(value) = node.child_by_field_name("value") {
        visit_value(builder, value, owner.as_ref(), is_array);
    }
}

fn read_compound(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    make_instance(reader.read_part(node.child_by_field_name("type")))
}

fn visit_fields(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let declarators: Vec<Node<'_>> =
        node.children_by_field_name("declarator", &mut node.walk()).collect();
    let kind = node.child_by_field_name("type");
    if let (true, Some(body)) =
        (declarators.is_empty(), kind.and_then(|kind| kind.child_by_field_name("body")))
    {
        // The fields of a struct without a name are those of the struct around it.
        return builder.visit_children(body);
    }
    builder.visit_field(node, "type");
    let annotation = builder.read_field(node, "type");
    for declarator in declarators {
        visit_declarator(builder, declarator);
        let Some((name, parameters)) = find_declared(declarator) else { continue };
        if parameters.is_some() {
            define_function(builder, node, name, parameters);
            continue;
        }
        let nodes = DefinitionNodes { name, definition: node };
        let defined = builder.define(DefinitionKind::Field, builder.text(name), nodes);
        builder.add_type(defined, annotation.clone(), None);
    }
    builder.visit_field(node, "default_value");
}

/// Visits `struct a {…}`, which defines a type for the whole file, or `struct a`, which names one.
fn visit_tag(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = node.child_by_field_name("name");
    let Some(body) = node.child_by_field_name("body") else {
        if let Some(name) = name {
            let target = make_name(&format_tag(builder, node));
            builder.add_reference(ReferenceKind::Type, target, name);
        }
        return;
    };
    let nodes = DefinitionNodes { name: name.unwrap_or(node), definition: node };
    let text = name.map_or("struct", |name| builder.text(name));
    let bound_name = format_tag(builder, node);
    let defined = builder.define_as(FILE_SCOPE, &bound_name, DefinitionKind::Type, text, nodes);
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| builder.visit_children(body));
}

fn read_tag(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    make_name(&format_tag(reader.builder, node))
}

/// Returns the name that a struct is bound to: variables and functions may have the written one.
pub(super) fn format_tag(builder: &FactBuilder<'_>, node: Node<'_>) -> String {
    if let Some(name) = node.child_by_field_name("name") {
        return format!("struct {}", builder.text(name));
    }
    let (line, column) = builder.position(node);
    format!("struct {line}:{column}")
}

/// Defines a constant of an enumeration in the file.
fn visit_enumerator(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "value");
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    builder.define_as(FILE_SCOPE, text, DefinitionKind::Variable, text, nodes);
}

fn visit_typedef(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.visit_field(node, "type");
    let result = builder.read_field(node, "type");
    let declarators: Vec<Node<'_>> =
        node.children_by_field_name("declarator", &mut node.walk()).collect();
    for declarator in declarators {
        visit_declarator(builder, declarator);
        let Some((name, parameters)) = find_declared(declarator) else { continue };
        let nodes = DefinitionNodes { name, definition: node };
        let text = builder.text(name);
        let defined = builder.define(DefinitionKind::TypeAlias, text, nodes);
        builder.add_type(defined, result.clone(), None);
        if let Some(parameters) = parameters {
            builder.visit_in_scope(ScopeKind::Block, None, |builder| {
                builder.visit_children(parameters);
            });
        }
    }
}

fn visit_include(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let path = builder.field_text(node, "path").trim_matches('"');
    if is_foreign(builder, node) {
        builder.add_foreign_include(path);
    } else {
        builder.add_star_import(path);
    }
}

/// Returns true for a node that is compiled for Windows or macOS only: most readers use other systems.
fn is_foreign(builder: &FactBuilder<'_>, node: Node<'_>) -> bool {
    let condition = node.parent().filter(|parent| parent.kind().starts_with("preproc_if"));
    let first = condition.and_then(|condition| builder.text(condition).lines().next());
    let line = first.unwrap_or_default();
    let is_positive = !line.contains('!') && !line.starts_with("#ifndef");
    is_positive && FOREIGN_MACROS.iter().any(|name| line.contains(name))
}

/// Visits the branches of `#if`, of which a compiler reads one.
fn visit_condition(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(branch) = node.child_by_field_name("alternative") {
        builder.add_branch(node, branch);
    }
    builder.visit_children(node);
}

/// Defines a macro, which the whole file sees.
fn visit_macro(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: DefinitionKind) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    builder.define_as(FILE_SCOPE, text, kind, text, nodes);
}
