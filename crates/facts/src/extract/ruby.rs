//! Reads the facts of Ruby. Constants have the names that are written, and each body of a type is a
//! part of it; local variables are bound as `$name`, and methods of a type itself as `self.name`.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FILE_SCOPE, FactBuilder, MAX_NAME_BYTES, NodeRole, SyntaxRules},
    syntax::{ExpressionReader, list_named_children, make_member},
    typed::{self, make_name, use_node},
};
use crate::{BoundValue, DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind, ShortExpression};

/// Name under which the modules are bound whose methods a type has itself.
const EXTENDING: &str = "extend";

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Ruby, classify_node);

fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "constant" | "scope_resolution" => NodeRole::Path(ReferenceKind::Read, read_constant),
        "identifier" => NodeRole::Special(visit_identifier, read_identifier),
        "instance_variable" | "class_variable" => {
            NodeRole::Path(ReferenceKind::Read, |reader, node| {
                make_own(reader.builder, ShortExpression::This, reader.builder.text(node))
            })
        }
        "self" => NodeRole::Value(|reader, _| make_receiver(reader.builder)),
        "super" => NodeRole::Path(ReferenceKind::Call, |reader, _| make_super(reader.builder)),
        "call" => NodeRole::Special(visit_call, read_call),
        "method" | "singleton_method" | "alias" => NodeRole::Custom(|builder, node| {
            define_method(builder, node, node.child_by_field_name("name"));
        }),
        "class" | "module" => NodeRole::Custom(|builder, node| {
            if let Some(name) = node.child_by_field_name("name") {
                define_type(builder, node, name, "body");
            }
        }),
        "singleton_class" => NodeRole::Custom(|builder, node| {
            builder.visit_in_scope(ScopeKind::Namespace, None, |builder| {
                builder.visit_field(node, "body");
            });
        }),
        "assignment" | "operator_assignment" => {
            NodeRole::Special(visit_assignment, typed::read_right)
        }
        "block" | "do_block" | "lambda" => NodeRole::Block,
        "method_parameters"
        | "block_parameters"
        | "lambda_parameters"
        | "exception_variable"
        | "left_assignment_list" => NodeRole::Custom(bind_names),
        "return" => NodeRole::Return,
        "argument_list" | "parenthesized_statements" => NodeRole::Same(""),
        "rescue_modifier" | "if_modifier" | "unless_modifier" => NodeRole::Same("body"),
        "conditional" => NodeRole::Either("consequence", "alternative"),
        "binary" => NodeRole::Either("left", "right"),
        "element_reference" => NodeRole::Value(|reader, node| {
            let items = reader.read_member(node.child_by_field_name("object"), "[]");
            ShortExpression::Call(Box::new(items), Vec::new())
        }),
        _ => NodeRole::Children,
    }
}

/// Reads a path of constants as it is written, and a constant of another value as a member.
fn read_constant(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let text = reader.builder.text(node);
    let is_path = text.starts_with(|first: char| first.is_uppercase() || first == ':')
        && text.chars().all(|part| part.is_alphanumeric() || matches!(part, '_' | ':'));
    match node.child_by_field_name("scope") {
        Some(scope) if !is_path => {
            reader.read_member(Some(scope), reader.builder.field_text(node, "name"))
        }
        _ if text.len() > MAX_NAME_BYTES => ShortExpression::Unknown,
        _ => ShortExpression::Root(text.to_owned()),
    }
}

/// Returns the object or, within methods of a type itself and outside of methods, the type.
fn make_receiver(builder: &FactBuilder<'_>) -> ShortExpression {
    let function = builder.scope(builder.enclosing_scope(ScopeKind::Function));
    let outer = function.filter(|scope| scope.kind == ScopeKind::Function);
    match outer.and_then(|scope| builder.scope_kind(scope.parent?)) {
        None | Some(ScopeKind::Namespace) => ShortExpression::ThisType,
        Some(_) => ShortExpression::This,
    }
}

/// Returns a member of the enclosing type; a name outside of types.
fn make_own(builder: &FactBuilder<'_>, receiver: ShortExpression, name: &str) -> ShortExpression {
    let is_member = builder.enclosing_type_body().is_some();
    if is_member { make_member(receiver, name) } else { make_name(name) }
}

/// Returns a method without receiver; a block in a type's body may be evaluated for an instance.
fn make_own_method(builder: &FactBuilder<'_>, name: &str) -> ShortExpression {
    let is_block = builder.scope_kind(builder.scope_index()) == Some(ScopeKind::Block);
    let mut receiver = make_receiver(builder);
    if is_block && receiver == ShortExpression::ThisType {
        receiver = ShortExpression::Either(Box::new(receiver), Box::new(ShortExpression::This));
    }
    make_own(builder, receiver, name)
}

/// Returns the method of a base that has the name of the enclosing one.
fn make_super(builder: &FactBuilder<'_>) -> ShortExpression {
    let name = builder.enclosing_function().map(|function| function.name.as_str());
    let is_own = make_receiver(builder) == ShortExpression::ThisType;
    let prefix = if is_own { "self." } else { "" };
    make_member(ShortExpression::Super, &format!("{prefix}{}", name.unwrap_or_default()))
}

/// Visits a local variable, or the call of a method without arguments.
fn visit_identifier(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = builder.text(node);
    if name == "module_function" {
        extend_type(builder, ShortExpression::ThisType);
    } else if !builder.is_local(name) {
        builder.add_reference(ReferenceKind::Call, make_own_method(builder, name), node);
    }
}

fn read_identifier(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let name = reader.builder.text(node);
    if reader.builder.is_local(name) {
        return make_name(&format!("${name}"));
    }
    ShortExpression::Call(Box::new(make_own_method(reader.builder, name)), Vec::new())
}

/// Visits a declaration, the construction of an object, or the call of a method.
fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let method = node.child_by_field_name("method").unwrap_or(node);
    let (receiver, name) = (node.child_by_field_name("receiver"), builder.text(method));
    let arguments = node.child_by_field_name("arguments");
    match (receiver, arguments.and_then(|list| list.named_child(0)), name) {
        (None, Some(path), "require" | "require_relative") => {
            return builder.add_star_import(builder.text(path).trim_matches(['"', '\'']));
        }
        (None, Some(_), "module_function") => extend_type(builder, ShortExpression::ThisType),
        (None, Some(module), "include" | "prepend" | EXTENDING) => {
            return visit_mixin(builder, name, module);
        }
        (None, Some(_), "attr_reader" | "attr_writer" | "attr_accessor") => {
            arguments.map(list_named_children).into_iter().flatten().for_each(|symbol| {
                define_attribute(builder, symbol);
            });
            return;
        }
        (None, Some(symbol), "define_method" | "alias_method" | "let" | "let!" | "subject") => {
            return define_method(builder, node, Some(symbol));
        }
        (Some(kind), _, "new") => use_node(builder, kind, ReferenceKind::Call),
        (None, _, "super") => use_node(builder, method, ReferenceKind::Call),
        _ => {
            builder.visit_field(node, "receiver");
            let target = match receiver {
                Some(receiver) => make_member(builder.read(receiver), name),
                None => make_own_method(builder, name),
            };
            builder.add_reference(ReferenceKind::Call, target, method);
        }
    }
    builder.visit_field(node, "arguments");
    builder.visit_field(node, "block");
}

fn read_call(reader: &ExpressionReader<'_, '_>, node: Node<'_>) -> ShortExpression {
    let receiver = node.child_by_field_name("receiver");
    let called = match (receiver, reader.builder.field_text(node, "method")) {
        (None, "new") => make_receiver(reader.builder),
        (Some(_), "new") => reader.read_part(receiver),
        (Some(object), "class") if object.kind() == "self" => return ShortExpression::ThisType,
        (None, "super") => make_super(reader.builder),
        (None, name) => make_own_method(reader.builder, name),
        (Some(_), name) => reader.read_member(receiver, name),
    };
    ShortExpression::Call(Box::new(called), Vec::new())
}

/// Adds a module to the bases of the enclosing type, or to those that it extends itself with.
fn visit_mixin(builder: &mut FactBuilder<'_>, name: &str, module: Node<'_>) {
    use_node(builder, module, ReferenceKind::Base);
    let (scope, used) = (builder.scope_index(), builder.read(module));
    let is_own = builder.scope_kind(scope) == Some(ScopeKind::Namespace);
    if is_own || name == EXTENDING {
        extend_type(builder, used);
    } else if scope == FILE_SCOPE {
        // All types extend `Object`.
        let object = ShortExpression::Root("Object".to_owned());
        builder.visit_extension(object, vec![used], None, |_| {});
    } else {
        builder.add_base(used);
    }
}

/// Gives the enclosing type the methods of a module, or those of its objects, as its own.
fn extend_type(builder: &mut FactBuilder<'_>, module: ShortExpression) {
    let itself = builder.enclosing_extension().cloned();
    let used = if module == ShortExpression::ThisType { itself } else { Some(module) };
    if let (Some(used), Some(body)) = (used, builder.enclosing_type_body()) {
        builder.bind_in(body, EXTENDING, BoundValue::Alias(used));
    }
}

/// Returns the scope and the name that a method is bound by.
fn find_binding(builder: &FactBuilder<'_>, name: &str, is_own: bool) -> (u32, String) {
    let scope = builder.enclosing_type_body().unwrap_or(builder.scope_index());
    let is_inside = builder.scope_kind(builder.scope_index()) == Some(ScopeKind::Namespace);
    (scope, format!("{}{name}", if is_own || is_inside { "self." } else { "" }))
}

/// Defines what reads or writes an instance variable.
fn define_attribute(builder: &mut FactBuilder<'_>, symbol: Node<'_>) {
    let name = builder.text(symbol).trim_matches([':', '"', '\'']);
    let nodes = DefinitionNodes { name: symbol, definition: symbol };
    let (scope, bound_name) = find_binding(builder, name, false);
    let defined = builder.define_as(scope, &bound_name, DefinitionKind::Field, name, nodes);
    let variable = make_member(ShortExpression::This, &format!("@{name}"));
    builder.add_type(defined, None, Some(variable));
    if let Some(index) = defined {
        builder.bind_in(scope, &format!("{bound_name}="), BoundValue::Definition(index));
    }
}

fn define_method(builder: &mut FactBuilder<'_>, node: Node<'_>, name: Option<Node<'_>>) {
    let Some(name) = name else { return };
    let bound = builder.text(name).trim_matches([':', '"', '\'']);
    let text = if name.kind() == "setter" { bound.trim_end_matches('=') } else { bound };
    let (scope, bound_name) = find_binding(builder, bound, node.kind() == "singleton_method");
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define_as(scope, &bound_name, DefinitionKind::Function, text, nodes);
    let block = node.child_by_field_name("block").unwrap_or(node);
    // The scope around a function tells whose method it is.
    let is_own = bound_name.starts_with("self.");
    let outer = if is_own { ScopeKind::Namespace } else { ScopeKind::Block };
    builder.visit_in_scope(outer, None, |builder| {
        builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
            builder.visit_field(block, "parameters");
            builder.visit_field(block, "body");
            add_results(builder, block.child_by_field_name("body"));
        });
    });
}

/// Adds the values of the last statement of a body to those of the enclosing function.
fn add_results(builder: &mut FactBuilder<'_>, body: Option<Node<'_>>) {
    let Some(body) = body else { return };
    builder.descend(|builder| match body.kind() {
        "body_statement" | "block_body" | "then" | "else" | "begin" => {
            let is_statement = |child: &Node<'_>| !matches!(child.kind(), "rescue" | "ensure");
            add_results(builder, list_named_children(body).into_iter().rfind(is_statement));
        }
        "if" | "unless" | "elsif" => {
            add_results(builder, body.child_by_field_name("consequence"));
            add_results(builder, body.child_by_field_name("alternative"));
        }
        "return" => {}
        _ => builder.add_returned_value(builder.read(body)),
    });
}

/// Defines a part of a type, whose body is in a field of a node.
fn define_type(builder: &mut FactBuilder<'_>, node: Node<'_>, path: Node<'_>, body: &str) {
    let text = builder.text(path).trim_start_matches(':');
    let full_name = match builder.enclosing_extension() {
        None => text.to_owned(),
        Some(ShortExpression::Root(outer)) => format!("{outer}::{text}"),
        Some(_) => return,
    };
    if full_name.len() > MAX_NAME_BYTES {
        return;
    }
    let superclass = node.child_by_field_name("superclass").and_then(|class| class.named_child(0));
    if let Some(superclass) = superclass {
        use_node(builder, superclass, ReferenceKind::Base);
    }
    let object = || (node.kind() == "class").then(|| ShortExpression::Root("::Object".to_owned()));
    let base = superclass.map(|superclass| builder.read(superclass)).or_else(object);
    let name = path.child_by_field_name("name").unwrap_or(path);
    let nodes = DefinitionNodes { name, definition: node };
    let defined = builder.define(DefinitionKind::Type, builder.text(name), nodes);
    if let Some(definition) = builder.definition_mut(defined) {
        definition.bases.extend(base);
    }
    let part = ShortExpression::Root(full_name);
    if builder.text(name) == "ClassMethods" {
        // Types that include a module with this name inside extend themselves with it.
        extend_type(builder, part.clone());
    }
    builder.visit_extension(part, Vec::new(), defined, |builder| builder.visit_field(node, body));
}

fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (Some(target), Some(value_node)) =
        (node.child_by_field_name("left"), node.child_by_field_name("right"))
    else {
        return;
    };
    let created = builder.field_text(value_node, "receiver");
    if target.kind() == "constant" && matches!(created, "Class" | "Module" | "Struct" | "Data") {
        return define_type(builder, value_node, target, "block");
    }
    builder.visit(value_node);
    let value = builder.read(value_node);
    match target.kind() {
        "identifier" => builder.bind_local(builder.text(target), BoundValue::Assigned(value)),
        "constant" | "instance_variable" | "class_variable" => {
            let body = builder.enclosing_type_body().unwrap_or(FILE_SCOPE);
            let nodes = DefinitionNodes { name: target, definition: node };
            let defined = builder.define_once(body, builder.text(target), nodes);
            builder.add_type(defined, None, Some(value));
        }
        "call" => {
            builder.visit_field(target, "receiver");
            let receiver = builder.read_field(target, "receiver");
            let setter = format!("{}=", builder.field_text(target, "method"));
            let written = make_member(receiver.unwrap_or(ShortExpression::Unknown), &setter);
            let name = target.child_by_field_name("method").unwrap_or(target);
            builder.add_reference(ReferenceKind::Write, written, name);
        }
        _ => builder.visit(target),
    }
}

/// Binds the names of parameters and targets to unknown values.
fn bind_names(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for child in list_named_children(node) {
        match child.kind() {
            "identifier" => builder.bind_local(builder.text(child), BoundValue::Unknown),
            kind if kind.ends_with("_parameter") || kind.ends_with("_assignment") => {
                match child.child_by_field_name("name") {
                    Some(name) => builder.bind_local(builder.text(name), BoundValue::Unknown),
                    None => builder.descend(|builder| bind_names(builder, child)),
                }
                builder.visit_field(child, "value");
            }
            _ => builder.visit(child),
        }
    }
}
