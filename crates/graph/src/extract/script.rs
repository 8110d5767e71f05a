//! Facts of JavaScript and TypeScript.

use tree_sitter::Node;

use super::{
    BoundValue, DefinitionIndex, DefinitionKind, Expression, FactBuilder, MAX_EXPRESSION_DEPTH,
    ReferenceKind, ScopeIndex, ScopeKind, member, named_children,
};

pub(super) fn visit_file(builder: &mut FactBuilder<'_>, root: Node<'_>) {
    builder.visit_children(root, visit);
}

fn visit(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.descend(|builder| visit_node(builder, node));
}

fn visit_node(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    match node.kind() {
        "identifier" | "shorthand_property_identifier" => {
            builder.refer(ReferenceKind::Read, builder.name(node), node);
        }
        "type_identifier" => builder.refer(ReferenceKind::Type, builder.name(node), node),
        "nested_type_identifier" => visit_nested_type(builder, node),
        "member_expression" => visit_member(builder, node, ReferenceKind::Read),
        "call_expression" => visit_call(builder, node, "function"),
        "new_expression" => visit_call(builder, node, "constructor"),
        "assignment_expression" | "augmented_assignment_expression" => {
            visit_assignment(builder, node);
        }
        "variable_declarator" => visit_declarator(builder, node),
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            let scope = builder.scope;
            visit_named_function(builder, node, scope);
        }
        "function_expression" | "arrow_function" | "generator_function" => {
            visit_function_body(builder, node, None);
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            visit_method(builder, node);
        }
        "public_field_definition" | "property_signature" => visit_field_definition(builder, node),
        "class_declaration" | "abstract_class_declaration" | "class" | "interface_declaration" => {
            visit_type_declaration(builder, node);
        }
        "enum_declaration" => visit_enum(builder, node),
        "type_alias_declaration" => visit_alias(builder, node),
        "internal_module" | "module" => visit_namespace(builder, node),
        "import_statement" => visit_import(builder, node),
        "export_statement" => visit_export(builder, node),
        "statement_block" | "switch_body" => builder.in_scope(ScopeKind::Block, None, |builder| {
            builder.visit_children(node, visit);
        }),
        "for_statement" => builder.in_scope(ScopeKind::Block, None, |builder| {
            builder.visit_children(node, visit);
        }),
        "for_in_statement" => visit_loop(builder, node),
        "catch_clause" => builder.in_scope(ScopeKind::Block, None, |builder| {
            if let Some(parameter) = node.child_by_field_name("parameter") {
                bind_pattern(builder, parameter, None);
            }
            visit_field(builder, node, "body");
        }),
        "return_statement" => {
            builder.visit_children(node, visit);
            if let Some(value) = node.named_child(0) {
                let value = read(builder, value);
                builder.add_returned(value);
            }
        }
        "pair" => {
            if node
                .child_by_field_name("key")
                .is_some_and(|key| key.kind() == "computed_property_name")
            {
                visit_field(builder, node, "key");
            }
            visit_field(builder, node, "value");
        }
        "type_parameter" => {
            if let Some(name) = node.child_by_field_name("name") {
                builder.bind(builder.text(name), BoundValue::Unknown);
            }
            visit_field(builder, node, "constraint");
            visit_field(builder, node, "value");
        }
        "jsx_opening_element" | "jsx_self_closing_element" => visit_element(builder, node),
        "jsx_closing_element" => {}
        "comment" | "string" | "regex" | "property_identifier" | "statement_identifier" => {}
        _ => builder.visit_children(node, visit),
    }
}

fn visit_field(builder: &mut FactBuilder<'_>, node: Node<'_>, field: &str) {
    if let Some(child) = node.child_by_field_name(field) {
        visit(builder, child);
    }
}

fn visit_nested_type(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (Some(module), Some(name)) =
        (node.child_by_field_name("module"), node.child_by_field_name("name"))
    else {
        return;
    };
    visit(builder, module);
    let target = member(read(builder, module), builder.text(name));
    builder.refer(ReferenceKind::Type, target, name);
}

fn visit_member(builder: &mut FactBuilder<'_>, node: Node<'_>, kind: ReferenceKind) {
    let (Some(object), Some(name)) =
        (node.child_by_field_name("object"), node.child_by_field_name("property"))
    else {
        return;
    };
    visit(builder, object);
    let target = member(read(builder, object), builder.text(name));
    builder.refer(kind, target, name);
}

fn visit_call(builder: &mut FactBuilder<'_>, node: Node<'_>, field: &str) {
    if let Some(function) = node.child_by_field_name(field) {
        match function.kind() {
            "identifier" => builder.refer(ReferenceKind::Call, builder.name(function), function),
            "member_expression" => visit_member(builder, function, ReferenceKind::Call),
            _ => visit(builder, function),
        }
    }
    visit_field(builder, node, "type_arguments");
    visit_field(builder, node, "arguments");
}

/// Visits the name of a component as a call, then its attributes.
fn visit_element(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(name) = node.child_by_field_name("name") {
        match name.kind() {
            "identifier" if builder.text(name).starts_with(char::is_uppercase) => {
                builder.refer(ReferenceKind::Call, builder.name(name), name);
            }
            "member_expression" => visit_member(builder, name, ReferenceKind::Call),
            _ => {}
        }
    }
    for child in named_children(node) {
        if child.kind() == "jsx_attribute" {
            for part in named_children(child).into_iter().skip(1) {
                visit(builder, part);
            }
        } else if child.kind() == "jsx_expression" {
            visit(builder, child);
        }
    }
}

fn visit_assignment(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let right = node.child_by_field_name("right");
    let Some(left) = node.child_by_field_name("left") else { return };
    match left.kind() {
        "identifier" => builder.refer(ReferenceKind::Write, builder.name(left), left),
        "member_expression" => {
            visit_member(builder, left, ReferenceKind::Write);
            define_assigned_member(builder, node, left, right);
        }
        "object_pattern" | "array_pattern" => {}
        _ => visit(builder, left),
    }
    if let Some(right) = right {
        visit(builder, right);
    }
}

/// Defines `this.name = …` in its type, and `exports.name = …` in the file.
fn define_assigned_member(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    left: Node<'_>,
    right: Option<Node<'_>>,
) {
    let (Some(object), Some(name)) =
        (left.child_by_field_name("object"), left.child_by_field_name("property"))
    else {
        return;
    };
    let value = right.map(|right| read(builder, right)).unwrap_or(Expression::Unknown);
    if object.kind() == "this" {
        let scope = builder.enclosing_scope(|kind| kind == ScopeKind::Type);
        if builder.scope_ref(scope).is_some_and(|scope| scope.kind == ScopeKind::Type) {
            let defined = builder.define_field(scope, builder.text(name), name, node);
            builder.add_value(defined, None, Some(value));
        }
        return;
    }
    match builder.text(object) {
        "exports" | "module.exports" => {
            builder.bind_in(0, builder.text(name), BoundValue::Assigned(value))
        }
        "module" if builder.text(name) == "exports" => {
            builder.bind_in(0, "module.exports", BoundValue::Assigned(value));
        }
        _ => {}
    }
}

fn visit_declarator(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    visit_field(builder, node, "type");
    let Some(name) = node.child_by_field_name("name") else { return };
    let value = node.child_by_field_name("value");
    let annotated = node.child_by_field_name("type").map(|node| read(builder, node));
    if name.kind() != "identifier" {
        if let Some(value) = value {
            visit(builder, value);
        }
        let source = value.map(|value| read(builder, value));
        bind_pattern(builder, name, source.as_ref());
        return;
    }
    let text = builder.text(name);
    if let Some(module) = value.and_then(|value| required_module(builder, value)) {
        builder.bind_import(text, module, None);
        return;
    }
    let scope = builder.scope;
    let is_function = value.is_some_and(|value| is_function(value));
    let kind = if is_function { DefinitionKind::Function } else { DefinitionKind::Variable };
    let defined = builder.define(scope, kind, text, name, node);
    match value {
        Some(value) if is_function => visit_function_body(builder, value, defined),
        Some(value) if is_object(value) => {
            builder.add_value(defined, annotated, None);
            visit_object(builder, value, defined);
        }
        Some(value) => {
            let read = read(builder, value);
            builder.add_value(defined, annotated, Some(read));
            visit(builder, value);
        }
        None => builder.add_value(defined, annotated, None),
    }
}

/// Returns the module of `require('module')`.
fn required_module<'a>(builder: &FactBuilder<'a>, value: Node<'_>) -> Option<&'a str> {
    let is_require =
        value.kind() == "call_expression" && builder.field_text(value, "function") == "require";
    let arguments = value.child_by_field_name("arguments").filter(|_| is_require)?;
    let module = arguments.named_child(0).filter(|module| module.kind() == "string")?;
    Some(unquote(builder.text(module)))
}

fn unquote(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}

fn is_object(node: Node<'_>) -> bool {
    match node.kind() {
        "object" => true,
        "as_expression" | "satisfies_expression" | "parenthesized_expression" => {
            node.named_child(0).is_some_and(|inner| inner.kind() == "object")
        }
        _ => false,
    }
}

/// Visits an object whose members are found through the variable that holds it.
fn visit_object(builder: &mut FactBuilder<'_>, value: Node<'_>, defined: Option<DefinitionIndex>) {
    let object = if value.kind() == "object" { Some(value) } else { value.named_child(0) };
    for child in named_children(value).into_iter().skip(1) {
        if value.kind() != "object" {
            visit(builder, child);
        }
    }
    let Some(object) = object else { return };
    builder.in_scope(ScopeKind::Type, defined, |builder| {
        for child in named_children(object) {
            match child.kind() {
                "pair" => {
                    let (Some(key), Some(value)) =
                        (child.child_by_field_name("key"), child.child_by_field_name("value"))
                    else {
                        continue;
                    };
                    if key.kind() == "computed_property_name" {
                        visit(builder, child);
                        continue;
                    }
                    let scope = builder.scope;
                    let is_function = is_function(value);
                    let kind =
                        if is_function { DefinitionKind::Function } else { DefinitionKind::Field };
                    let defined =
                        builder.define(scope, kind, unquote(builder.text(key)), key, child);
                    if is_function {
                        visit_function_body(builder, value, defined);
                    } else if is_object(value) {
                        visit_object(builder, value, defined);
                    } else {
                        let read = read(builder, value);
                        builder.add_value(defined, None, Some(read));
                        visit(builder, value);
                    }
                }
                "shorthand_property_identifier" => {
                    visit(builder, child);
                }
                _ => visit(builder, child),
            }
        }
    });
}

fn visit_named_function(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    scope: ScopeIndex,
) -> Option<DefinitionIndex> {
    let name = node.child_by_field_name("name")?;
    let defined =
        builder.define(scope, DefinitionKind::Function, unquote(builder.text(name)), name, node);
    visit_function_body(builder, node, defined);
    defined
}

/// Visits parameters, result and body of a function in a scope of its own.
fn visit_function_body(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    defined: Option<DefinitionIndex>,
) {
    let result = node.child_by_field_name("return_type");
    let read_result = result.map(|result| read(builder, result));
    if let Some(definition) = defined.and_then(|index| builder.definition_mut(index)) {
        definition.result = read_result;
        definition.traits.is_declaration = node.child_by_field_name("body").is_none();
    }
    builder.in_scope(ScopeKind::Function, defined, |builder| {
        visit_field(builder, node, "type_parameters");
        if let Some(parameter) = node.child_by_field_name("parameter") {
            builder.bind(builder.text(parameter), BoundValue::Unknown);
        }
        if let Some(parameters) = node.child_by_field_name("parameters") {
            for parameter in named_children(parameters) {
                visit_parameter(builder, parameter);
            }
        }
        if let Some(result) = result {
            visit(builder, result);
        }
        let Some(body) = node.child_by_field_name("body") else { return };
        if body.kind() == "statement_block" {
            builder.visit_children(body, visit);
        } else {
            visit(builder, body);
            let value = read(builder, body);
            builder.add_returned(value);
        }
    });
}

fn visit_parameter(builder: &mut FactBuilder<'_>, parameter: Node<'_>) {
    visit_field(builder, parameter, "type");
    visit_field(builder, parameter, "value");
    visit_field(builder, parameter, "decorator");
    let annotated = parameter.child_by_field_name("type").map(|node| read(builder, node));
    let pattern = parameter
        .child_by_field_name("pattern")
        .or_else(|| parameter.child_by_field_name("left"))
        .unwrap_or(parameter);
    match pattern.kind() {
        "identifier" => {
            let default = parameter.child_by_field_name("value").map(|value| read(builder, value));
            let value = match (annotated.clone(), default) {
                (Some(annotated), _) => BoundValue::Typed(annotated),
                (None, Some(default)) => BoundValue::Assigned(default),
                (None, None) => BoundValue::Unknown,
            };
            builder.bind(builder.text(pattern), value);
            define_parameter_property(builder, parameter, pattern, annotated);
        }
        "rest_pattern" => bind_pattern(builder, pattern, None),
        "object_pattern" | "array_pattern" => {
            let source =
                annotated.map(|annotated| Expression::Call(Box::new(annotated), Vec::new()));
            bind_pattern(builder, pattern, source.as_ref());
        }
        _ => {}
    }
}

/// Defines the field that `constructor(private name: Type)` declares.
fn define_parameter_property(
    builder: &mut FactBuilder<'_>,
    parameter: Node<'_>,
    name: Node<'_>,
    annotated: Option<Expression>,
) {
    let is_property =
        named_children(parameter).iter().any(|child| child.kind() == "accessibility_modifier")
            || builder.text(parameter).starts_with("readonly ");
    if !is_property {
        return;
    }
    let scope = builder.enclosing_scope(|kind| kind == ScopeKind::Type);
    if builder.scope_ref(scope).is_some_and(|scope| scope.kind == ScopeKind::Type) {
        let defined = builder.define_field(scope, builder.text(name), name, parameter);
        builder.add_value(defined, annotated, None);
    }
}

fn visit_method(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    if name.kind() == "computed_property_name" {
        visit(builder, name);
    }
    let scope = builder.scope;
    let defined = visit_named_function(builder, node, scope);
    let is_getter = builder.text(node).split('(').next().is_some_and(|head| {
        head.split_whitespace().any(|word| word == "get") && !head.trim_end().ends_with("get")
    });
    if let Some(definition) = defined.and_then(|index| builder.definition_mut(index)) {
        definition.traits.is_property = is_getter;
    }
}

fn visit_field_definition(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    visit_field(builder, node, "decorator");
    visit_field(builder, node, "type");
    let Some(name) = node.child_by_field_name("name") else { return };
    let value = node.child_by_field_name("value");
    let annotated = node.child_by_field_name("type").map(|node| read(builder, node));
    let scope = builder.scope;
    let text = unquote(builder.text(name));
    match value {
        Some(value) if is_function(value) => {
            let defined = builder.define(scope, DefinitionKind::Function, text, name, node);
            visit_function_body(builder, value, defined);
        }
        Some(value) => {
            let defined = builder.define_field(scope, text, name, node);
            let read = read(builder, value);
            builder.add_value(defined, annotated, Some(read));
            visit(builder, value);
        }
        None => {
            let defined = builder.define_field(scope, text, name, node);
            builder.add_value(defined, annotated, None);
        }
    }
}

fn visit_type_declaration(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let mut bases = Vec::new();
    for heritage in named_children(node) {
        match heritage.kind() {
            "class_heritage" => {
                for clause in named_children(heritage) {
                    // JavaScript has no clause around the base.
                    let is_clause = clause.kind().ends_with("_clause");
                    let types = if is_clause { named_children(clause) } else { vec![clause] };
                    for base in types {
                        visit_base(builder, base, &mut bases);
                    }
                }
            }
            "extends_type_clause" => {
                for base in named_children(heritage) {
                    visit_base(builder, base, &mut bases);
                }
            }
            "decorator" => visit(builder, heritage),
            _ => {}
        }
    }
    let scope = builder.scope;
    let name = node.child_by_field_name("name");
    let defined = name.and_then(|name| {
        builder.define(scope, DefinitionKind::Type, builder.text(name), name, node)
    });
    if let Some(definition) = defined.and_then(|index| builder.definition_mut(index)) {
        definition.bases = bases;
    }
    builder.in_scope(ScopeKind::Type, defined, |builder| {
        visit_field(builder, node, "type_parameters");
        if let Some(body) = node.child_by_field_name("body") {
            builder.visit_children(body, visit);
        }
    });
}

fn visit_base(builder: &mut FactBuilder<'_>, base: Node<'_>, bases: &mut Vec<Expression>) {
    match base.kind() {
        "identifier" | "type_identifier" => {
            builder.refer(ReferenceKind::Base, builder.name(base), base);
        }
        "type_arguments" => {
            visit(builder, base);
            return;
        }
        _ => visit(builder, base),
    }
    bases.push(read(builder, base));
}

fn visit_enum(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let scope = builder.scope;
    let defined = builder.define(scope, DefinitionKind::Type, builder.text(name), name, node);
    builder.in_scope(ScopeKind::Type, defined, |builder| {
        for member in node.child_by_field_name("body").map(named_children).unwrap_or_default() {
            let name = member.child_by_field_name("name").unwrap_or(member);
            let scope = builder.scope;
            builder.define(scope, DefinitionKind::Field, unquote(builder.text(name)), name, member);
            visit_field(builder, member, "value");
        }
    });
}

fn visit_alias(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let (Some(name), Some(value)) =
        (node.child_by_field_name("name"), node.child_by_field_name("value"))
    else {
        return;
    };
    let scope = builder.scope;
    let text = builder.text(name);
    if value.kind() == "object_type" {
        let defined = builder.define(scope, DefinitionKind::Type, text, name, node);
        builder.in_scope(ScopeKind::Type, defined, |builder| {
            visit_field(builder, node, "type_parameters");
            builder.visit_children(value, visit);
        });
        return;
    }
    let result = read(builder, value);
    let defined = builder.define(scope, DefinitionKind::TypeAlias, text, name, node);
    if let Some(definition) = defined.and_then(|index| builder.definition_mut(index)) {
        definition.result = Some(result);
    }
    builder.in_scope(ScopeKind::Block, None, |builder| {
        visit_field(builder, node, "type_parameters");
        visit(builder, value);
    });
}

fn visit_namespace(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let scope = builder.scope;
    let defined =
        builder.define(scope, DefinitionKind::Type, unquote(builder.text(name)), name, node);
    builder.in_scope(ScopeKind::Namespace, defined, |builder| {
        if let Some(body) = node.child_by_field_name("body") {
            builder.visit_children(body, visit);
        }
    });
}

fn visit_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let module = unquote(builder.field_text(node, "source"));
    for clause in named_children(node) {
        if !matches!(clause.kind(), "import_clause" | "import_require_clause") {
            continue;
        }
        for part in named_children(clause) {
            match part.kind() {
                "identifier" if clause.kind() == "import_clause" => {
                    builder.bind_import(builder.text(part), module, Some("default"));
                    builder.refer(ReferenceKind::Import, builder.name(part), part);
                }
                "identifier" => {
                    let module = unquote(builder.field_text(clause, "source"));
                    builder.bind_import(builder.text(part), module, None);
                }
                "namespace_import" => {
                    if let Some(name) = part.named_child(0) {
                        builder.bind_import(builder.text(name), module, None);
                    }
                }
                "named_imports" => {
                    for specifier in named_children(part) {
                        bind_specifier(builder, specifier, module);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Binds `name as alias` of an import or a re-export.
fn bind_specifier(builder: &mut FactBuilder<'_>, specifier: Node<'_>, module: &str) {
    let Some(name) = specifier.child_by_field_name("name") else { return };
    let alias = specifier.child_by_field_name("alias").unwrap_or(name);
    let imported = unquote(builder.text(name));
    let local = unquote(builder.text(alias));
    builder.bind_import(local, module, Some(imported));
    builder.refer(ReferenceKind::Import, Expression::Name(local.to_owned()), name);
}

fn visit_export(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let source = node.child_by_field_name("source").map(|source| unquote(builder.text(source)));
    let mut has_clause = false;
    for child in named_children(node) {
        match child.kind() {
            "export_clause" => {
                has_clause = true;
                for specifier in named_children(child) {
                    export_specifier(builder, specifier, source);
                }
            }
            "namespace_export" => {
                has_clause = true;
                if let (Some(name), Some(module)) = (child.named_child(0), source) {
                    builder.bind_import(builder.text(name), module, None);
                }
            }
            _ => {}
        }
    }
    if let Some(module) = source {
        if !has_clause {
            builder.facts.star_imports.push(module.to_owned());
        }
        return;
    }
    if has_clause {
        return;
    }
    let is_default =
        builder.text(node).trim_start_matches("export").trim_start().starts_with("default");
    let declared = node.child_by_field_name("declaration");
    let value = node.child_by_field_name("value");
    if is_default {
        let exported = match declared.and_then(|node| node.child_by_field_name("name")) {
            Some(name) => builder.name(name),
            None => value.map_or(Expression::Unknown, |value| read(builder, value)),
        };
        builder.bind("default", BoundValue::Assigned(exported));
    }
    builder.visit_children(node, visit);
}

fn export_specifier(builder: &mut FactBuilder<'_>, specifier: Node<'_>, source: Option<&str>) {
    if let Some(module) = source {
        bind_specifier(builder, specifier, module);
        return;
    }
    let Some(name) = specifier.child_by_field_name("name") else { return };
    builder.refer(ReferenceKind::Import, builder.name(name), name);
    if let Some(alias) = specifier.child_by_field_name("alias") {
        let value = builder.name(name);
        builder.bind(unquote(builder.text(alias)), BoundValue::Assigned(value));
    }
}

fn visit_loop(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    builder.in_scope(ScopeKind::Block, None, |builder| {
        visit_field(builder, node, "right");
        let source = node.child_by_field_name("right").map(|right| read(builder, right));
        let is_of = builder.field_text(node, "operator") == "of";
        if let Some(left) = node.child_by_field_name("left") {
            if left.kind() == "identifier" {
                let value =
                    source.filter(|_| is_of).map_or(BoundValue::Unknown, BoundValue::Element);
                builder.bind(builder.text(left), value);
            } else {
                bind_pattern(builder, left, None);
            }
        }
        visit_field(builder, node, "body");
    });
}

/// Binds the names of a pattern; members of `source` where it is known.
fn bind_pattern(builder: &mut FactBuilder<'_>, pattern: Node<'_>, source: Option<&Expression>) {
    let of_source = |name: &str| match source {
        Some(source) => BoundValue::Assigned(member(source.clone(), name)),
        None => BoundValue::Unknown,
    };
    match pattern.kind() {
        "identifier" => builder.bind(builder.text(pattern), BoundValue::Unknown),
        "shorthand_property_identifier_pattern" => {
            let name = builder.text(pattern);
            builder.bind(name, of_source(name));
        }
        "object_assignment_pattern" | "assignment_pattern" => {
            visit_field(builder, pattern, "right");
            if let Some(left) = pattern.child_by_field_name("left") {
                bind_pattern(builder, left, source);
            }
        }
        "pair_pattern" => {
            let key = unquote(builder.field_text(pattern, "key"));
            let Some(value) = pattern.child_by_field_name("value") else { return };
            if value.kind() == "identifier" {
                builder.bind(builder.text(value), of_source(key));
            } else {
                let inner = source.map(|source| member(source.clone(), key));
                bind_pattern(builder, value, inner.as_ref());
            }
        }
        "object_pattern" => {
            for child in named_children(pattern) {
                bind_pattern(builder, child, source);
            }
        }
        "array_pattern" | "rest_pattern" => {
            for child in named_children(pattern) {
                bind_pattern(builder, child, None);
            }
        }
        _ => {}
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
        "identifier" | "type_identifier" | "shorthand_property_identifier" => builder.name(node),
        "this" | "this_type" => Expression::This,
        "super" => Expression::Super,
        "member_expression" => {
            member(inner(node.child_by_field_name("object")), builder.field_text(node, "property"))
        }
        "nested_type_identifier" | "nested_identifier" => {
            let module =
                node.child_by_field_name("module").or_else(|| node.child_by_field_name("object"));
            let name =
                node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
            member(inner(module), name.map(|name| builder.text(name)).unwrap_or_default())
        }
        "new_expression" => {
            Expression::Call(Box::new(inner(node.child_by_field_name("constructor"))), Vec::new())
        }
        "call_expression" => {
            let arguments = node.child_by_field_name("arguments").map(named_children);
            let arguments = arguments.unwrap_or_default().into_iter().take(2);
            Expression::Call(
                Box::new(inner(node.child_by_field_name("function"))),
                arguments.map(|node| inner(Some(node))).collect(),
            )
        }
        "generic_type" => {
            let arguments = node.child_by_field_name("type_arguments").map(named_children);
            let arguments = arguments.unwrap_or_default().into_iter().take(3);
            Expression::Item(
                Box::new(inner(node.child_by_field_name("name"))),
                arguments.map(|node| inner(Some(node))).collect(),
            )
        }
        "array_type" => Expression::Item(
            Box::new(Expression::Name("Array".to_owned())),
            vec![inner(node.named_child(0))],
        ),
        "union_type" | "binary_expression" => {
            let is_choice = node.kind() == "union_type"
                || matches!(builder.field_text(node, "operator"), "||" | "??");
            if is_choice {
                Expression::Either(
                    Box::new(inner(node.named_child(0))),
                    Box::new(inner(node.named_child(1))),
                )
            } else {
                Expression::Unknown
            }
        }
        "ternary_expression" => Expression::Either(
            Box::new(inner(node.child_by_field_name("consequence"))),
            Box::new(inner(node.child_by_field_name("alternative"))),
        ),
        "as_expression" | "satisfies_expression" => {
            let children = named_children(node);
            match children.get(1).map(|node| inner(Some(*node))) {
                // A type as a value is an instance: `x as Type`.
                Some(known) if node.kind() == "as_expression" => {
                    Expression::Call(Box::new(known), Vec::new())
                }
                _ => inner(children.first().copied()),
            }
        }
        "await_expression" => Expression::Awaited(Box::new(inner(node.named_child(0)))),
        "subscript_expression" => {
            Expression::Item(Box::new(inner(node.child_by_field_name("object"))), Vec::new())
        }
        "type_annotation"
        | "parenthesized_expression"
        | "non_null_expression"
        | "parenthesized_type"
        | "readonly_type"
        | "class_heritage" => inner(node.named_child(0)),
        "assignment_expression" => inner(node.child_by_field_name("right")),
        "string"
        | "number"
        | "true"
        | "false"
        | "null"
        | "undefined"
        | "template_string"
        | "regex"
        | "array"
        | "predefined_type"
        | "literal_type"
        | "arrow_function"
        | "function_expression"
        | "unary_expression" => Expression::Outside,
        _ => Expression::Unknown,
    }
}
