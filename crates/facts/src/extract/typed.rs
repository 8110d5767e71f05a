//! Reads languages whose definitions declare their types, driven by the roles of their nodes.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FactBuilder, MAX_NAME_BYTES, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
};
use crate::{
    BoundValue, DefinitionIndex, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind,
    ShortExpression,
};

/// Kinds of values without members of the repository, and how names of such kinds end.
const LITERALS: [&str; 8] =
    ["array", "false", "hash", "integer", "nullptr", "regex", "string", "true"];
const LITERAL_ENDS: [&str; 4] =
    ["_literal", "nary_expression", "eof_expression", "update_expression"];

pub(super) const fn make_syntax(
    module_system: ModuleSystem,
    classify: fn(&str) -> NodeRole,
) -> SyntaxRules {
    SyntaxRules {
        module_system,
        classify,
        visit_node,
        read_node,
        member_kind: "",
        member_field: "",
    }
}

pub(super) fn visit_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match find_role(builder, node) {
        NodeRole::Skipped | NodeRole::This | NodeRole::Super => {}
        NodeRole::Name(kind) | NodeRole::Member(_, _, kind) | NodeRole::Path(kind, _) => {
            use_node(builder, node, kind);
        }
        NodeRole::Field(..) => use_node(builder, node, ReferenceKind::Read),
        NodeRole::Call(field) | NodeRole::Construct(field) => visit_call(builder, node, field),
        NodeRole::Invocation(receiver, name) => visit_invocation(builder, node, receiver, name),
        NodeRole::Assignment(target, _) => {
            let target = find_part(node, target);
            if let Some(target) = target {
                use_node(builder, target, ReferenceKind::Write);
            }
            visit_others(builder, node, target);
        }
        NodeRole::Function(result) => {
            let name = node.child_by_field_name("name");
            let bound_name = builder.field_text(node, "name").to_owned();
            visit_function(builder, node, name, &bound_name, result);
        }
        NodeRole::Method(result) => {
            let name = node.child_by_field_name("name");
            let bound_name = format!("{}()", builder.field_text(node, "name"));
            visit_function(builder, node, name, &bound_name, result);
        }
        NodeRole::Closure => visit_body(builder, node, None),
        NodeRole::Type(bases) => {
            visit_type(builder, node, bases);
        }
        NodeRole::Alias(field) => visit_alias(builder, node, field),
        NodeRole::Variables(names, kind, value) => {
            visit_variables(builder, node, [names, kind, value]);
        }
        NodeRole::Constant => visit_constant(builder, node),
        NodeRole::TypeParameter => visit_type_parameter(builder, node),
        NodeRole::Block => builder.visit_block(node),
        NodeRole::Return => builder.visit_return(node),
        NodeRole::Loop(name, source) => visit_loop(builder, node, name, source),
        NodeRole::Labeled => visit_others(builder, node, node.named_child(0)),
        NodeRole::Custom(visit) | NodeRole::Special(visit, _) => visit(builder, node),
        NodeRole::Children
        | NodeRole::Literal
        | NodeRole::Generic(_)
        | NodeRole::Container(..)
        | NodeRole::Conversion(_)
        | NodeRole::Same(_)
        | NodeRole::Held(_)
        | NodeRole::Index(_)
        | NodeRole::Either(..)
        | NodeRole::Value(_) => builder.visit_children(node),
    }
}

pub(super) fn read_node(
    builder: &FactBuilder<'_>,
    node: Node<'_>,
    depth: usize,
) -> ShortExpression {
    let reader = ExpressionReader { builder, depth };
    let read_field = |field| reader.read_part(find_part(node, field));
    match find_role(builder, node) {
        NodeRole::Literal | NodeRole::Closure => ShortExpression::Outside,
        NodeRole::Name(_) => builder.read_name(node),
        NodeRole::This => ShortExpression::This,
        NodeRole::Super => ShortExpression::Super,
        NodeRole::Member(object, name, _) => {
            let name = find_part(node, name).map(|name| name_text(builder, name));
            reader.read_member(find_part(node, object), name.unwrap_or_default())
        }
        NodeRole::Field(object, name) => {
            let name = find_part(node, name).map(|name| builder.text(name)).unwrap_or_default();
            reader.read_member(find_part(node, object), &format!(".{name}"))
        }
        NodeRole::Call(field) => reader.read_call(find_part(node, field), node),
        NodeRole::Invocation(receiver, name) => {
            let name = find_part(node, name).map(|name| builder.text(name)).unwrap_or_default();
            let name = format!("{name}()");
            let function = match node.child_by_field_name(receiver) {
                Some(receiver) => reader.read_member(Some(receiver), &name),
                None => make_name(&name),
            };
            ShortExpression::Call(Box::new(function), Vec::new())
        }
        NodeRole::Construct(field) | NodeRole::Conversion(field) => {
            ShortExpression::Call(Box::new(read_field(field)), Vec::new())
        }
        NodeRole::Generic(field) => {
            let base = find_part(node, field);
            let is_list = |child: &Node<'_>| child.kind().contains("argument");
            let list = list_named_children(node).into_iter().find(is_list);
            reader.read_item(base, list.map(list_named_children).unwrap_or_default())
        }
        NodeRole::Container(name, fields) => ShortExpression::Item(
            Box::new(make_name(name)),
            fields.iter().map(|field| read_field(field)).collect(),
        ),
        NodeRole::Same(field) => read_field(field),
        NodeRole::Held(field) => ShortExpression::Awaited(Box::new(read_field(field))),
        NodeRole::Index(field) => ShortExpression::Item(Box::new(read_field(field)), Vec::new()),
        NodeRole::Either(one, other) => {
            ShortExpression::Either(Box::new(read_field(one)), Box::new(read_field(other)))
        }
        NodeRole::Assignment(_, value) | NodeRole::Variables(_, value, _) => read_field(value),
        NodeRole::Value(read) | NodeRole::Special(_, read) | NodeRole::Path(_, read) => {
            read(&reader, node)
        }
        _ => ShortExpression::Unknown,
    }
}

/// Reads the construction of an object as a call of its type.
pub(super) fn read_creation(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    ShortExpression::Call(Box::new(reader.read_part(node.child_by_field_name("type"))), Vec::new())
}

pub(super) fn read_right(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    reader.read_part(node.child_by_field_name("right"))
}

/// Returns the part of a node in a field, its first named child for a blank field, or the next for `1`.
pub(super) fn find_part<'tree>(node: Node<'tree>, field: &str) -> Option<Node<'tree>> {
    match field {
        "" => node.named_child(0),
        "1" => node.named_child(1),
        field => node.child_by_field_name(field),
    }
}

pub(super) fn find_role(builder: &FactBuilder<'_>, node: Node<'_>) -> NodeRole {
    let kind = node.kind();
    let is_literal = || LITERAL_ENDS.iter().any(|end| kind.ends_with(end));
    match (builder.syntax().classify)(kind) {
        NodeRole::Children if is_literal() || LITERALS.contains(&kind) => NodeRole::Literal,
        role => role,
    }
}

/// Returns the expression of a name; unknown if it is too long.
pub(super) fn make_name(name: &str) -> ShortExpression {
    if name.len() > MAX_NAME_BYTES {
        return ShortExpression::Unknown;
    }
    ShortExpression::Name(name.to_owned())
}

/// Refers to a name or member as a use of a kind, and visits any other expression.
pub(super) fn use_node(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: ReferenceKind) {
    match find_role(builder, node) {
        NodeRole::Name(_) => builder.add_reference(kind, builder.read_name(node), node),
        NodeRole::Path(..) => {
            builder.visit_field(node, "scope");
            let name = list_named_children(node).into_iter().last().unwrap_or(node);
            builder.add_reference(kind, builder.read(node), name);
        }
        NodeRole::Member(object, name, _) => {
            let (object, name) = (find_part(node, object), find_part(node, name));
            let (Some(object), Some(name)) = (object, name) else { return };
            builder.visit(object);
            let target = make_member(builder.read(object), name_text(builder, name));
            builder.add_reference(kind, target, name);
            visit_arguments_of_name(builder, name);
        }
        NodeRole::Field(object, name) => {
            let (object, name) = (find_part(node, object), find_part(node, name));
            let (Some(object), Some(name)) = (object, name) else { return };
            builder.visit(object);
            let target = make_member(builder.read(object), &format!(".{}", builder.text(name)));
            builder.add_reference(kind, target, name);
        }
        NodeRole::Generic(field) | NodeRole::Same(field) => {
            let part = find_part(node, field);
            visit_others(builder, node, part);
            if let Some(part) = part {
                builder.descend(|builder| use_node(builder, part, kind));
            }
        }
        _ => builder.visit(node),
    }
}

/// Returns a name without arguments of types, and without the mark of a variable.
pub(super) fn name_text<'text>(builder: &FactBuilder<'text>, name: Node<'_>) -> &'text str {
    let text = builder.text(name);
    text.split('<').next().unwrap_or(text).trim_start_matches('$')
}

fn visit_arguments_of_name(builder: &mut FactBuilder<'_>, name: Node<'_>) {
    for child in list_named_children(name) {
        if child.kind().contains("argument") {
            builder.visit(child);
        }
    }
}

pub(super) fn visit_others(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    except: Option<Node<'_>>,
) {
    for child in list_named_children(node) {
        if Some(child) != except {
            builder.visit(child);
        }
    }
}

/// Refers to what a call calls, counts its arguments and visits them.
pub(super) fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>, field: &str) {
    let function = find_part(node, field);
    if let Some(function) = function {
        use_node(builder, function, ReferenceKind::Call);
    }
    if let Some(arguments) = node.child_by_field_name("arguments") {
        builder.set_argument_count(list_named_children(arguments).len());
    }
    visit_others(builder, node, function);
}

fn visit_invocation(builder: &mut FactBuilder<'_>, node: Node<'_>, receiver: &str, name: &str) {
    let (object, name) = (node.child_by_field_name(receiver), find_part(node, name));
    let Some(name) = name else { return builder.visit_children(node) };
    let method = format!("{}()", builder.text(name));
    let target = match object {
        Some(object) => {
            builder.visit(object);
            make_member(builder.read(object), &method)
        }
        None => make_name(&method),
    };
    builder.add_reference(ReferenceKind::Call, target, name);
    if let Some(arguments) = node.child_by_field_name("arguments") {
        builder.set_argument_count(list_named_children(arguments).len());
    }
    for child in list_named_children(node) {
        if child != name && Some(child) != object {
            builder.visit(child);
        }
    }
}

/// Defines a function with the name of a node, and visits its body.
pub(super) fn visit_function(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    name_node: Option<Node<'_>>,
    bound_name: &str,
    result: &str,
) -> Option<DefinitionIndex> {
    let name = name_node?;
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    let defined =
        builder.define_as(builder.scope_index(), bound_name, DefinitionKind::Function, text, nodes);
    let result = builder.read_field(node, result);
    let parameter_count = count_parameters(builder, node);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.result = result;
        definition.traits.is_declaration = node.child_by_field_name("body").is_none();
        definition.traits.parameter_count = parameter_count;
    }
    visit_body(builder, node, defined);
    defined
}

/// Returns the number of parameters; `None` if calls may have more or fewer arguments.
fn count_parameters(builder: &FactBuilder<'_>, node: Node<'_>) -> Option<u8> {
    let parameters = list_named_children(node.child_by_field_name("parameters")?);
    let is_fixed = |parameter: &Node<'_>| {
        let text = builder.text(*parameter);
        !text.contains("...") && !text.contains('=') && !text.starts_with("params ")
    };
    let count = u8::try_from(parameters.len()).ok()?;
    parameters.iter().all(is_fixed).then_some(count)
}

/// Visits parameters, result and body of a function in a scope of its own.
pub(super) fn visit_body(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    defined: Option<DefinitionIndex>,
) {
    let name = node.child_by_field_name("name");
    builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
        for child in list_named_children(node) {
            let is_body = node.child_by_field_name("body") == Some(child);
            if is_body && matches!(find_role(builder, child), NodeRole::Block) {
                builder.descend(|builder| builder.visit_children(child));
            } else if Some(child) != name {
                builder.visit(child);
            }
        }
    });
}

/// Defines a type, which may have no name, and visits its body.
pub(super) fn visit_type(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    base_kinds: &[&str],
) -> Option<DefinitionIndex> {
    let name = node.child_by_field_name("name").unwrap_or(node);
    let nodes = DefinitionNodes { name, definition: node };
    let text = if name == node { "class" } else { builder.text(name) };
    let defined = builder.define(DefinitionKind::Type, text, nodes);
    let mut bases = Vec::new();
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
        for child in list_named_children(node) {
            if base_kinds.contains(&child.kind()) {
                visit_bases(builder, child, &mut bases);
            } else if child != name {
                builder.visit(child);
            }
        }
    });
    builder.definition_mut(defined)?.bases.extend(bases);
    defined
}

/// Visits the types in a clause as bases and adds them to a list.
pub(super) fn visit_bases(
    builder: &mut FactBuilder<'_>,
    clause: Node<'_>,
    bases: &mut Vec<ShortExpression>,
) {
    for base in list_named_children(clause) {
        match find_role(builder, base) {
            NodeRole::Children => builder.descend(|builder| visit_bases(builder, base, bases)),
            NodeRole::Skipped => {}
            _ => {
                use_node(builder, base, ReferenceKind::Base);
                bases.push(builder.read(base));
            }
        }
    }
}

fn visit_alias(builder: &mut FactBuilder<'_>, node: Node<'_>, field: &str) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let result = builder.read_field(node, field);
    let defined = builder.define(DefinitionKind::TypeAlias, builder.text(name), nodes);
    builder.add_type(defined, result, None);
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        visit_others(builder, node, Some(name));
    });
}

/// Declares names of one type, of which some have a value.
pub(super) fn visit_variables(builder: &mut FactBuilder<'_>, node: Node<'_>, fields: [&str; 3]) {
    let [names_field, type_field, value_field] = fields;
    let names: Vec<Node<'_>> = node.children_by_field_name(names_field, &mut node.walk()).collect();
    let kind = node.child_by_field_name(type_field);
    for child in list_named_children(node) {
        if Some(child) == kind {
            use_node(builder, child, ReferenceKind::Type);
        } else if !names.contains(&child) {
            builder.visit(child);
        }
    }
    let written = builder.read_field(node, type_field);
    let annotation = written.filter(|annotation| !is_inferred(annotation));
    for name in names.into_iter().filter(Node::is_named) {
        let (name, value_node) = match name.child_by_field_name("name") {
            Some(inner) => {
                builder.visit_field(name, "value");
                (inner, name.child_by_field_name("value"))
            }
            None => (name, find_part(node, value_field)),
        };
        let value = value_node.map(|value| builder.read(value));
        declare_variable(
            builder,
            DefinitionNodes { name, definition: node },
            annotation.clone(),
            value,
        );
    }
}

/// Returns true for an annotation that leaves the type to the value.
pub(super) fn is_inferred(annotation: &ShortExpression) -> bool {
    match annotation {
        ShortExpression::Name(name) => matches!(name.as_str(), "var" | "auto"),
        ShortExpression::Unknown => true,
        _ => false,
    }
}

/// Binds a local name, or defines a field or variable that others see.
pub(super) fn declare_variable(
    builder: &mut FactBuilder<'_>,
    nodes: DefinitionNodes<'_>,
    annotation: Option<ShortExpression>,
    value: Option<ShortExpression>,
) {
    let name = builder.text(nodes.name);
    match builder.scope_kind(builder.scope_index()) {
        Some(ScopeKind::Function | ScopeKind::Block) => {
            let bound = match (annotation, value) {
                (Some(annotation), _) => BoundValue::Typed(annotation),
                (None, Some(value)) => BoundValue::Assigned(value),
                (None, None) => BoundValue::Unknown,
            };
            builder.bind(name, bound);
        }
        kind => {
            let is_field = kind == Some(ScopeKind::Type);
            let kind = if is_field { DefinitionKind::Field } else { DefinitionKind::Variable };
            let defined = builder.define(kind, name, nodes);
            builder.add_type(defined, annotation, value);
        }
    }
}

pub(super) fn visit_constant(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    let defined = builder.define_once(builder.scope_index(), text, nodes);
    builder.add_type(defined, Some(ShortExpression::ThisType), None);
    builder.visit_in_scope(ScopeKind::Type, defined, |builder| {
        visit_others(builder, node, Some(name));
    });
}

/// Binds a type parameter to an instance of its bound.
fn visit_type_parameter(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = find_part(node, "name").or_else(|| node.named_child(0));
    let Some(name) = name else { return };
    visit_others(builder, node, Some(name));
    let bound = list_named_children(node).into_iter().find(|child| *child != name);
    let mut bounds = Vec::new();
    if let Some(bound) = bound {
        collect_types(builder, bound, &mut bounds);
    }
    let instance = bounds
        .into_iter()
        .reduce(|one, other| ShortExpression::Either(Box::new(one), Box::new(other)));
    builder.bind(builder.text(name), instance.map_or(BoundValue::Unknown, BoundValue::Typed));
}

fn collect_types(builder: &FactBuilder<'_>, clause: Node<'_>, types: &mut Vec<ShortExpression>) {
    if let NodeRole::Children = find_role(builder, clause) {
        types
            .extend(list_named_children(clause).into_iter().take(3).map(|part| builder.read(part)));
    } else {
        types.push(builder.read(clause));
    }
}

/// Name under which constructors are bound, which no member has.
pub(super) const CONSTRUCTOR: &str = "new";

pub(super) fn visit_constructor(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    let scope = builder.scope_index();
    let defined = builder.define_as(scope, CONSTRUCTOR, DefinitionKind::Function, text, nodes);
    visit_body(builder, node, defined);
}

/// Visits a loop, whose variable is bound inside.
fn visit_loop(builder: &mut FactBuilder<'_>, node: Node<'_>, name_field: &str, source_field: &str) {
    builder.visit_in_scope(ScopeKind::Block, None, |builder| {
        if let Some(kind) = node.child_by_field_name("type") {
            use_node(builder, kind, ReferenceKind::Type);
        }
        builder.visit_field(node, source_field);
        let annotation = builder.read_field(node, "type").filter(|kind| !is_inferred(kind));
        let source = builder.read_field(node, source_field).unwrap_or(ShortExpression::Unknown);
        let bound = annotation.map_or(BoundValue::Element(source), BoundValue::Typed);
        builder.bind(builder.field_text(node, name_field), bound);
        builder.visit_field(node, "body");
    });
}
