//! Reads imports of Python.

use tree_sitter::Node;

use super::super::{builder::FactBuilder, syntax::list_named_children};
use crate::{ReferenceKind, ShortExpression};

/// Visits `import a.b, c as d`.
pub(super) fn visit_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    for child in list_named_children(node) {
        if child.kind() == "aliased_import" {
            let alias = builder.field_text(child, "alias");
            builder.bind_import(alias, builder.field_text(child, "name"), None);
        } else {
            // `import a.b` binds `a`, through which `a.b` is found.
            let module = builder.text(child);
            let first = module.split('.').next().unwrap_or(module);
            builder.bind_import(first, first, None);
        }
    }
}

/// Visits `from a import b, c as d` and `from a import *`.
pub(super) fn visit_from_import(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let module_name = node.child_by_field_name("module_name");
    let module = module_name.map(|name| builder.text(name)).unwrap_or_default();
    for child in list_named_children(node) {
        match child.kind() {
            "wildcard_import" => builder.add_star_import(module),
            "dotted_name" if Some(child) != module_name => {
                bind_imported_name(builder, module, child, builder.text(child));
            }
            "aliased_import" => {
                if let Some(name) = child.child_by_field_name("name") {
                    let alias = builder.field_text(child, "alias");
                    bind_imported_name(builder, module, name, alias);
                }
            }
            _ => {}
        }
    }
}

fn bind_imported_name(builder: &mut FactBuilder<'_>, module: &str, name: Node<'_>, local: &str) {
    builder.bind_import(local, module, Some(builder.text(name)));
    builder.add_reference(ReferenceKind::Import, ShortExpression::Name(local.to_owned()), name);
}
