//! Reads `use` declarations of Rust.

use tree_sitter::Node;

use super::super::{
    builder::FactBuilder,
    syntax::{list_named_children, make_member},
};
use crate::{BoundValue, ReferenceKind, ShortExpression};

pub(super) fn visit_use(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    if let Some(argument) = node.child_by_field_name("argument") {
        visit_tree(builder, argument, None);
    }
}

/// Binds the name of `extern crate a as b`.
pub(super) fn visit_extern_crate(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = builder.field_text(node, "name");
    let alias = node.child_by_field_name("alias").map_or(name, |alias| builder.text(alias));
    builder.bind(alias, BoundValue::Alias(ShortExpression::Root(name.to_owned())));
}

/// Visits a part of a `use` declaration below a path.
fn visit_tree(builder: &mut FactBuilder<'_>, node: Node<'_>, prefix: Option<&ShortExpression>) {
    match node.kind() {
        "use_list" => {
            for part in list_named_children(node) {
                builder.descend(|builder| visit_tree(builder, part, prefix));
            }
        }
        "scoped_use_list" => {
            let path_node = node.child_by_field_name("path");
            let path = path_node.map(|path| visit_use_path(builder, path, prefix));
            if let Some(list) = node.child_by_field_name("list") {
                builder.descend(|builder| visit_tree(builder, list, path.as_ref().or(prefix)));
            }
        }
        "use_wildcard" => {
            if let Some(path) = node.named_child(0) {
                let source = visit_use_path(builder, path, prefix);
                builder.add_glob_import(source);
            }
        }
        "use_as_clause" => {
            if let Some(path) = node.child_by_field_name("path") {
                let source = visit_use_path(builder, path, prefix);
                let alias = builder.field_text(node, "alias");
                builder.bind(alias, BoundValue::Alias(source));
            }
        }
        _ => {
            let source = visit_use_path(builder, node, prefix);
            let name = match &source {
                ShortExpression::Root(name) | ShortExpression::Member(_, name) => name.clone(),
                _ => return,
            };
            builder.bind(&name, BoundValue::Alias(source));
        }
    }
}

/// Refers to each name of a path, and returns the whole path.
fn visit_use_path(
    builder: &mut FactBuilder<'_>,
    node: Node<'_>,
    prefix: Option<&ShortExpression>,
) -> ShortExpression {
    let (path, name) = match node.child_by_field_name("name") {
        Some(name) => {
            let mut path = prefix.cloned();
            if let Some(inner) = node.child_by_field_name("path") {
                builder.descend(|builder| path = Some(visit_use_path(builder, inner, prefix)));
            }
            (path, name)
        }
        None => (prefix.cloned(), node),
    };
    let text = builder.text(name);
    let source = match path {
        // `use a::{self}`
        Some(path) if text == "self" => return path,
        Some(path) => make_member(path, text),
        None => ShortExpression::Root(text.to_owned()),
    };
    builder.add_reference(ReferenceKind::Import, source.clone(), name);
    source
}
