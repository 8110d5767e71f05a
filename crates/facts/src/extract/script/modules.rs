//! Reads imports and exports of scripts.

use tree_sitter::Node;

use super::{
    super::{DEFAULT_EXPORT, MODULE_EXPORTS, builder::FactBuilder, syntax::list_named_children},
    unquote,
};
use crate::{BoundValue, ReferenceKind, ShortExpression};

pub(super) fn visit_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let module = unquote(builder.field_text(node, "source"));
    for clause in list_named_children(node) {
        match clause.kind() {
            "import_clause" => visit_import_clause(builder, clause, module),
            // `import name = require('module')`
            "import_require_clause" => {
                let module = unquote(builder.field_text(clause, "source"));
                for name in list_named_children(clause) {
                    if name.kind() == "identifier" {
                        builder.bind_import(builder.text(name), module, None);
                    }
                }
            }
            _ => {}
        }
    }
}

fn visit_import_clause(builder: &mut FactBuilder<'_>, clause: Node<'_>, module: &str) {
    for part in list_named_children(clause) {
        match part.kind() {
            "identifier" => {
                builder.bind_import(builder.text(part), module, Some(DEFAULT_EXPORT));
                builder.add_reference(ReferenceKind::Import, builder.read_name(part), part);
            }
            "namespace_import" => {
                if let Some(name) = part.named_child(0) {
                    builder.bind_import(builder.text(name), module, None);
                }
            }
            "named_imports" => {
                for specifier in list_named_children(part) {
                    bind_specifier(builder, specifier, module);
                }
            }
            _ => {}
        }
    }
}

/// Binds `name as alias` of an import or a re-export.
fn bind_specifier(builder: &mut FactBuilder<'_>, specifier: Node<'_>, module: &str) {
    let Some(name) = specifier.child_by_field_name("name") else { return };
    let alias = specifier.child_by_field_name("alias").unwrap_or(name);
    let local = unquote(builder.text(alias));
    builder.bind_import(local, module, Some(unquote(builder.text(name))));
    for node in [Some(name), Some(alias).filter(|alias| *alias != name)].into_iter().flatten() {
        let target = ShortExpression::Name(local.to_owned());
        builder.add_reference(ReferenceKind::Import, target, node);
    }
}

pub(super) fn visit_export(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let source = node.child_by_field_name("source").map(|source| unquote(builder.text(source)));
    builder.mark_exports();
    let mut has_clause = false;
    for child in list_named_children(node) {
        match child.kind() {
            "export_clause" => {
                has_clause = true;
                for specifier in list_named_children(child) {
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
    match source {
        Some(module) if !has_clause => builder.add_star_import(module),
        None if !has_clause => visit_exported_definition(builder, node),
        _ => {}
    }
}

fn export_specifier(builder: &mut FactBuilder<'_>, specifier: Node<'_>, source: Option<&str>) {
    if let Some(module) = source {
        bind_specifier(builder, specifier, module);
        return;
    }
    let Some(name) = specifier.child_by_field_name("name") else { return };
    builder.add_reference(ReferenceKind::Import, builder.read_name(name), name);
    if let Some(alias) = specifier.child_by_field_name("alias") {
        let value = builder.read_name(name);
        builder.bind(unquote(builder.text(alias)), BoundValue::Assigned(value));
    }
}

/// Visits `export` with a definition or value, and binds the default value.
fn visit_exported_definition(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let after_export = builder.text(node).trim_start_matches("export").trim_start();
    if after_export.starts_with(DEFAULT_EXPORT) {
        let declaration = node.child_by_field_name("declaration");
        let exported = match declaration.and_then(|node| node.child_by_field_name("name")) {
            Some(name) => builder.read_name(name),
            None => builder.read_field(node, "value").unwrap_or(ShortExpression::Unknown),
        };
        builder.bind(DEFAULT_EXPORT, BoundValue::Assigned(exported));
    }
    builder.visit_children(node);
}

/// Binds the names of `const { name, other: alias } = require('module')`.
pub(super) fn bind_required_names(builder: &mut FactBuilder<'_>, pattern: Node<'_>, module: &str) {
    for child in list_named_children(pattern) {
        let name = child.child_by_field_name("key").unwrap_or(child);
        let alias = child.child_by_field_name("value").unwrap_or(child);
        let (name, local) = (unquote(builder.text(name)), builder.text(alias));
        builder.bind_import(local, module, Some(name));
        builder.add_reference(
            ReferenceKind::Import,
            ShortExpression::Name(local.to_owned()),
            alias,
        );
    }
}

/// Returns the module of `require('module')`.
pub(super) fn find_required_module<'text>(
    builder: &FactBuilder<'text>,
    value: Node<'_>,
) -> Option<&'text str> {
    let is_require =
        value.kind() == "call_expression" && builder.field_text(value, "function") == "require";
    let arguments = value.child_by_field_name("arguments").filter(|_| is_require)?;
    let module = arguments.named_child(0).filter(|module| module.kind() == "string")?;
    Some(unquote(builder.text(module)))
}

/// Binds what `exports.name = …` and `module.exports = …` assign.
pub(super) fn assign_export(
    builder: &mut FactBuilder<'_>,
    object: &str,
    name: &str,
    value: ShortExpression,
) {
    match object {
        "exports" | "module.exports" => builder.bind_in(0, name, BoundValue::Assigned(value)),
        "module" if name == "exports" => {
            if let ShortExpression::Name(_) | ShortExpression::Member(..) = &value {
                builder.bind_in(0, MODULE_EXPORTS, BoundValue::Assigned(value));
            }
        }
        _ => {}
    }
}
