//! Facts of Python.

use tree_sitter::Node;

use super::{
    BoundValue, DefinitionKind, Expression, FactBuilder, MAX_EXPRESSION_DEPTH, ReferenceKind,
    ScopeKind, member, named_children,
};

pub(super) fn visit_file(builder: &mut FactBuilder<'_>, root: Node<'_>) {
    builder.visit_children(root, visit);
}

fn visit(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.descend(|builder| visit_node(builder, node));
}

fn visit_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.kind() {
        "identifier" => builder.refer(ReferenceKind::Read, builder.name(node), node),
        "attribute" => visit_attribute(builder, node, ReferenceKind::Read),
        "call" => visit_call(builder, node),
        "keyword_argument" => visit_field(builder, node, "value"),
        "assignment" => visit_assignment(builder, node),
        "augmented_assignment" => {
            visit_field(builder, node, "right");
            visit_written(builder, node.child_by_field_name("left"));
        }
        "named_expression" => {
            visit_field(builder, node, "value");
            let value = node.child_by_field_name("value").map(|value| read(builder, value));
            let value = value.map_or(BoundValue::Unknown, BoundValue::Assigned);
            bind_pattern(builder, node.child_by_field_name("name"), &value);
        }
        "function_definition" => visit_function(builder, node, &[]),
        "class_definition" => visit_class(builder, node),
        "decorated_definition" => visit_decorated(builder, node),
        "lambda" => builder.in_scope(ScopeKind::Block, None, |builder| {
            if let Some(parameters) = node.child_by_field_name("parameters") {
                visit_parameters(builder, parameters, None);
            }
            visit_field(builder, node, "body");
        }),
        "for_statement" => {
            visit_field(builder, node, "right");
            bind_loop(builder, node);
            visit_field(builder, node, "body");
            visit_field(builder, node, "alternative");
        }
        "list_comprehension"
        | "set_comprehension"
        | "dictionary_comprehension"
        | "generator_expression" => builder.in_scope(ScopeKind::Block, None, |builder| {
            // Clauses bind the names that the element before them uses.
            builder.visit_children(node, visit);
        }),
        "for_in_clause" => {
            visit_field(builder, node, "right");
            bind_loop(builder, node);
        }
        "as_pattern" => visit_as(builder, node),
        "import_statement" => visit_import(builder, node),
        "import_from_statement" => visit_from(builder, node),
        "return_statement" => {
            builder.visit_children(node, visit);
            if let Some(value) = node.named_child(0) {
                let value = read(builder, value);
                builder.add_returned(value);
            }
        }
        "type" => visit_type(builder, node),
        "global_statement" | "nonlocal_statement" | "comment" | "string_content" => {}
        _ => builder.visit_children(node, visit),
    }
}

fn visit_field(builder: &mut FactBuilder<'_>, node: Node<'_>, field: &str) {
    if let Some(child) = node.child_by_field_name(field) {
        visit(builder, child);
    }
}

fn visit_attribute(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: ReferenceKind) {
    let (Some(object), Some(name)) =
        (node.child_by_field_name("object"), node.child_by_field_name("attribute"))
    else {
        return;
    };
    visit(builder, object);
    let target = member(read(builder, object), builder.text(name));
    builder.refer(kind, target, name);
}

fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(function) = node.child_by_field_name("function") {
        match function.kind() {
            "identifier" => builder.refer(ReferenceKind::Call, builder.name(function), function),
            "attribute" => visit_attribute(builder, function, ReferenceKind::Call),
            _ => visit(builder, function),
        }
    }
    visit_field(builder, node, "arguments");
}

fn visit_written(builder: &mut FactBuilder<'_>, left: Option<Node<'_>>) {
    let Some(left) = left else { return };
    match left.kind() {
        "identifier" => builder.refer(ReferenceKind::Write, builder.name(left), left),
        "attribute" => visit_attribute(builder, left, ReferenceKind::Write),
        _ => visit(builder, left),
    }
}

fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    visit_field(builder, node, "type");
    visit_field(builder, node, "right");
    let Some(left) = node.child_by_field_name("left") else { return };
    let right = node.child_by_field_name("right");
    let value = right.map(|right| read(builder, right));
    let annotated = node.child_by_field_name("type").map(|node| read_type(builder, node));
    match left.kind() {
        "identifier" => {
            let name = builder.text(left);
            let scope = builder.scope;
            let kind = builder.scope_ref(scope).map(|scope| scope.kind);
            if matches!(kind, Some(ScopeKind::File | ScopeKind::Type)) {
                let defined = builder.define_field(scope, name, left, node);
                builder.add_value(defined, annotated, value);
            } else {
                let bound = match (annotated, value) {
                    (Some(annotated), _) => BoundValue::Typed(annotated),
                    (None, Some(value)) => BoundValue::Assigned(value),
                    (None, None) => BoundValue::Unknown,
                };
                builder.bind(name, bound);
            }
        }
        "attribute" => {
            visit_attribute(builder, left, ReferenceKind::Write);
            let object = left.child_by_field_name("object").map(|object| read(builder, object));
            let is_own = match object {
                Some(Expression::Name(name)) => is_receiver(builder, &name),
                _ => false,
            };
            if is_own && let Some(name) = left.child_by_field_name("attribute") {
                let scope = builder.enclosing_scope(|kind| kind == ScopeKind::Type);
                let defined = builder.define_field(scope, builder.text(name), name, node);
                builder.add_value(defined, annotated, value);
            }
        }
        "pattern_list" | "tuple_pattern" | "list_pattern" => {
            let items: Vec<Node<'_>> = right.map(named_children).unwrap_or_default();
            let is_paired = right
                .is_some_and(|right| matches!(right.kind(), "expression_list" | "tuple"))
                && items.len() == left.named_child_count();
            for (place, target) in named_children(left).into_iter().enumerate() {
                let item = items.get(place).filter(|_| is_paired).map(|item| read(builder, *item));
                let value = item.map_or(BoundValue::Unknown, BoundValue::Assigned);
                bind_pattern(builder, Some(target), &value);
            }
        }
        _ => visit(builder, left),
    }
}

/// Returns true if a name is bound to the receiver of the enclosing method.
fn is_receiver(builder: &FactBuilder<'_>, name: &str) -> bool {
    let scope = builder.enclosing_scope(|kind| kind == ScopeKind::Function);
    let bindings = builder.scope_ref(scope).map(|scope| scope.bindings.as_slice());
    bindings.unwrap_or_default().iter().any(|binding| {
        let is_own =
            matches!(binding.value, BoundValue::Assigned(Expression::This | Expression::ThisType));
        binding.name == name && is_own
    })
}

/// Binds the names of a pattern and visits the other targets in it.
fn bind_pattern(builder: &mut FactBuilder<'_>, pattern: Option<Node<'_>>, value: &BoundValue) {
    let Some(pattern) = pattern else { return };
    match pattern.kind() {
        "identifier" => {
            let name = builder.text(pattern);
            let scope = builder.scope;
            if builder.scope_ref(scope).is_some_and(|scope| scope.kind == ScopeKind::File) {
                let defined = builder.define_field(scope, name, pattern, pattern);
                let (annotated, value) = match value.clone() {
                    BoundValue::Typed(annotated) => (Some(annotated), None),
                    BoundValue::Assigned(value) => (None, Some(value)),
                    BoundValue::Element(source) => {
                        (None, Some(Expression::Item(Box::new(source), Vec::new())))
                    }
                    _ => (None, None),
                };
                builder.add_value(defined, annotated, value);
            } else {
                builder.bind(name, value.clone());
            }
        }
        "attribute" => visit_attribute(builder, pattern, ReferenceKind::Write),
        "subscript" => visit(builder, pattern),
        _ => {
            for child in named_children(pattern) {
                bind_pattern(builder, Some(child), &BoundValue::Unknown);
            }
        }
    }
}

fn bind_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let source = node.child_by_field_name("right").map(|right| read(builder, right));
    let value = source.map_or(BoundValue::Unknown, BoundValue::Element);
    bind_pattern(builder, node.child_by_field_name("left"), &value);
}

/// Visits `value as name` of a `with`, an `except` or a `case`.
fn visit_as(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let value = node.named_child(0);
    if let Some(value) = value {
        visit(builder, value);
    }
    let is_except = node.parent().is_some_and(|parent| parent.kind() == "except_clause");
    let value = value.map_or(Expression::Unknown, |value| read(builder, value));
    let Some(alias) = node.child_by_field_name("alias") else { return };
    let target = alias.named_child(0).unwrap_or(alias);
    let value = if is_except {
        BoundValue::Typed(value)
    } else {
        BoundValue::Assigned(Expression::Entered(Box::new(value)))
    };
    bind_pattern(builder, Some(target), &value);
}

fn visit_decorated(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let mut decorators = Vec::new();
    for child in named_children(node) {
        if child.kind() == "decorator" {
            builder.visit_children(child, visit);
            let text = builder.text(child).trim_start_matches('@');
            decorators.push(text.split('(').next().unwrap_or(text).trim());
        }
    }
    match node.child_by_field_name("definition") {
        Some(inner) if inner.kind() == "function_definition" => {
            visit_function(builder, inner, &decorators);
        }
        Some(inner) => visit(builder, inner),
        None => {}
    }
}

fn has_decorator(decorators: &[&str], names: &[&str]) -> bool {
    decorators.iter().any(|decorator| {
        let last = decorator.rsplit('.').next().unwrap_or(decorator);
        names.contains(&last)
    })
}

fn visit_function(builder: &mut FactBuilder<'_>, node: Node<'_>, decorators: &[&str]) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let scope = builder.scope;
    let is_method = builder.scope_ref(scope).is_some_and(|scope| scope.kind == ScopeKind::Type);
    let result = node.child_by_field_name("return_type");
    if let Some(result) = result {
        visit(builder, result);
    }
    let result = result.map(|result| read_type(builder, result));
    let defined = builder.define(scope, DefinitionKind::Function, builder.text(name), name, node);
    if let Some(definition) = defined.and_then(|index| builder.definition_mut(index)) {
        definition.result = result;
        let is_property = has_decorator(
            decorators,
            &["property", "cached_property", "setter", "getter", "deleter"],
        );
        definition.traits.is_property = is_property;
        definition.traits.is_context =
            has_decorator(decorators, &["contextmanager", "asynccontextmanager"]);
        definition.traits.is_declaration = has_decorator(decorators, &["overload"]);
    }
    let parameters = node.child_by_field_name("parameters");
    if let Some(parameters) = parameters {
        visit_defaults(builder, parameters);
    }
    let receiver = if !is_method || has_decorator(decorators, &["staticmethod"]) {
        None
    } else if has_decorator(decorators, &["classmethod"])
        || matches!(builder.text(name), "__new__" | "__init_subclass__" | "__class_getitem__")
    {
        Some(Expression::ThisType)
    } else {
        Some(Expression::This)
    };
    builder.in_scope(ScopeKind::Function, defined, |builder| {
        if let Some(parameters) = parameters {
            visit_parameters(builder, parameters, receiver);
        }
        visit_field(builder, node, "body");
    });
}

/// Visits default values and annotations, which belong to the scope around the function.
fn visit_defaults(builder: &mut FactBuilder<'_>, parameters: Node<'_>) {
    for parameter in named_children(parameters) {
        visit_field(builder, parameter, "type");
        visit_field(builder, parameter, "value");
    }
}

/// Binds parameters in the current scope.
fn visit_parameters(
    builder: &mut FactBuilder<'_>,
    parameters: Node<'_>,
    receiver: Option<Expression>,
) {
    let mut receiver = receiver;
    for parameter in named_children(parameters) {
        let annotated = parameter.child_by_field_name("type").map(|node| read_type(builder, node));
        let name = match parameter.kind() {
            "identifier" => parameter,
            "typed_parameter" => match parameter.named_child(0) {
                Some(name) if name.kind() == "identifier" => name,
                Some(splat) => {
                    let name = splat.named_child(0).unwrap_or(splat);
                    builder.bind(builder.text(name), BoundValue::Unknown);
                    continue;
                }
                None => continue,
            },
            "default_parameter" | "typed_default_parameter" => {
                match parameter.child_by_field_name("name") {
                    Some(name) => name,
                    None => continue,
                }
            }
            "list_splat_pattern" | "dictionary_splat_pattern" => {
                if let Some(name) = parameter.named_child(0) {
                    builder.bind(builder.text(name), BoundValue::Unknown);
                }
                continue;
            }
            _ => continue,
        };
        let value = match (receiver.take(), annotated) {
            (Some(receiver), _) => BoundValue::Assigned(receiver),
            (None, Some(annotated)) => BoundValue::Typed(annotated),
            (None, None) => BoundValue::Unknown,
        };
        builder.bind(builder.text(name), value);
    }
}

fn visit_class(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let mut bases = Vec::new();
    for base in node.child_by_field_name("superclasses").map(named_children).unwrap_or_default() {
        if base.kind() == "keyword_argument" {
            visit(builder, base);
            continue;
        }
        match base.kind() {
            "identifier" => builder.refer(ReferenceKind::Base, builder.name(base), base),
            "attribute" => visit_attribute(builder, base, ReferenceKind::Base),
            _ => visit(builder, base),
        }
        bases.push(read(builder, base));
    }
    let scope = builder.scope;
    let defined = builder.define(scope, DefinitionKind::Type, builder.text(name), name, node);
    if let Some(definition) = defined.and_then(|index| builder.definition_mut(index)) {
        definition.bases = bases;
    }
    builder.in_scope(ScopeKind::Type, defined, |builder| visit_field(builder, node, "body"));
}

fn visit_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for child in named_children(node) {
        let (module, alias) = match child.kind() {
            "aliased_import" => {
                (builder.field_text(child, "name"), Some(builder.field_text(child, "alias")))
            }
            _ => (builder.text(child), None),
        };
        match alias {
            Some(alias) => builder.bind_import(alias, module, None),
            None => {
                let first = module.split('.').next().unwrap_or(module);
                builder.bind_import(first, first, None);
            }
        }
    }
}

fn visit_from(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let module = builder.field_text(node, "module_name");
    for child in named_children(node) {
        match child.kind() {
            "wildcard_import" => builder.facts.star_imports.push(module.to_owned()),
            "dotted_name" if Some(child) != node.child_by_field_name("module_name") => {
                let name = builder.text(child);
                builder.bind_import(name, module, Some(name));
                builder.refer(ReferenceKind::Import, Expression::Name(name.to_owned()), child);
            }
            "aliased_import" => {
                let name = builder.field_text(child, "name");
                let alias = builder.field_text(child, "alias");
                builder.bind_import(alias, module, Some(name));
                if let Some(at) = child.child_by_field_name("name") {
                    builder.refer(ReferenceKind::Import, Expression::Name(alias.to_owned()), at);
                }
            }
            _ => {}
        }
    }
}

/// Visits an annotation.
fn visit_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for child in named_children(node) {
        match child.kind() {
            "identifier" => builder.refer(ReferenceKind::Type, builder.name(child), child),
            "attribute" => visit_attribute(builder, child, ReferenceKind::Type),
            "type" => visit_type(builder, child),
            _ => {
                builder.descend(|builder| visit_type(builder, child));
            }
        }
    }
}

/// Reads an annotation as an expression. Names in strings are read, too.
fn read_type(builder: &FactBuilder<'_>, node: Node<'_>) -> Expression {
    match node.kind() {
        "type" => {
            node.named_child(0).map_or(Expression::Unknown, |inner| read_type(builder, inner))
        }
        "string" => {
            let text = builder.text(node).trim_matches(['"', '\'']);
            let is_path = text.split('.').all(|part| {
                part.chars().all(|character| character.is_alphanumeric() || character == '_')
                    && !part.is_empty()
            });
            let mut parts = text.split('.');
            let Some(first) = parts.next().filter(|_| is_path) else { return Expression::Unknown };
            parts.fold(Expression::Name(first.to_owned()), member)
        }
        "generic_type" | "subscript" | "binary_operator" | "union_type" => {
            read_at(builder, node, 0)
        }
        _ => read(builder, node),
    }
}

fn read(builder: &FactBuilder<'_>, node: Node<'_>) -> Expression {
    read_at(builder, node, 0)
}

fn read_at(builder: &FactBuilder<'_>, node: Node<'_>, depth: u32) -> Expression {
    if depth > MAX_EXPRESSION_DEPTH {
        return Expression::Unknown;
    }
    let inner = |node: Option<Node<'_>>| {
        node.map_or(Expression::Unknown, |node| read_at(builder, node, depth + 1))
    };
    match node.kind() {
        "identifier" => builder.name(node),
        "attribute" => {
            member(inner(node.child_by_field_name("object")), builder.field_text(node, "attribute"))
        }
        "call" => {
            let function = node.child_by_field_name("function");
            let is_super = function.is_some_and(|function| builder.text(function) == "super");
            if is_super {
                return Expression::Super;
            }
            let arguments = node.child_by_field_name("arguments");
            let arguments = arguments.map(named_children).unwrap_or_default();
            let arguments = arguments.into_iter().take(2).map(|node| inner(Some(node))).collect();
            Expression::Call(Box::new(inner(function)), arguments)
        }
        "subscript" => Expression::Item(
            Box::new(inner(node.child_by_field_name("value"))),
            node.child_by_field_name("subscript")
                .map(|item| inner(Some(item)))
                .into_iter()
                .collect(),
        ),
        "generic_type" => {
            let children = named_children(node);
            let arguments = children.get(1).copied().map(named_children).unwrap_or_default();
            Expression::Item(
                Box::new(inner(children.first().copied())),
                arguments.into_iter().take(3).map(|node| inner(Some(node))).collect(),
            )
        }
        "type" | "parenthesized_expression" | "as_pattern" => inner(node.named_child(0)),
        "string" => match read_type(builder, node) {
            Expression::Unknown => Expression::Outside,
            // A string may be a type where one is expected; elsewhere it is a literal.
            _ if node.parent().is_none_or(|parent| !is_type_position(parent)) => {
                Expression::Outside
            }
            quoted => quoted,
        },
        "await" => Expression::Awaited(Box::new(inner(node.named_child(0)))),
        "conditional_expression" => Expression::Either(
            Box::new(inner(node.named_child(0))),
            Box::new(inner(node.named_child(2))),
        ),
        "boolean_operator" | "binary_operator" | "union_type" => {
            let operator = builder.field_text(node, "operator");
            if matches!(operator, "or" | "|" | "") {
                Expression::Either(
                    Box::new(inner(node.named_child(0))),
                    Box::new(inner(node.named_child(1))),
                )
            } else {
                Expression::Unknown
            }
        }
        "named_expression" => inner(node.child_by_field_name("value")),
        "integer"
        | "float"
        | "true"
        | "false"
        | "none"
        | "list"
        | "dictionary"
        | "set"
        | "tuple"
        | "list_comprehension"
        | "dictionary_comprehension"
        | "set_comprehension"
        | "generator_expression"
        | "comparison_operator"
        | "not_operator"
        | "concatenated_string" => Expression::Outside,
        _ => Expression::Unknown,
    }
}

fn is_type_position(node: Node<'_>) -> bool {
    matches!(node.kind(), "type" | "type_parameter" | "generic_type")
}
