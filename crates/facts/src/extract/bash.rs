//! Reads the facts of shells: functions, files that are sourced, and commands by their names.

use tree_sitter::Node;

use super::{
    builder::{DefinitionNodes, FILE_SCOPE, FactBuilder, NodeRole, SyntaxRules},
    typed::{self, make_name},
};
use crate::{DefinitionKind, ModuleSystem, ReferenceKind, ScopeKind};

/// Commands whose first argument that is no option names a function to call.
const CALLING_COMMANDS: [&str; 4] = ["run", "trap", "time", "eval"];
/// Commands that read another file; `load` is that of Bats.
const SOURCING_COMMANDS: [&str; 3] = ["source", ".", "load"];

pub(super) static SYNTAX: SyntaxRules = typed::make_syntax(ModuleSystem::Bash, classify_node);

fn classify_node(kind: &str) -> NodeRole {
    match kind {
        "function_definition" => NodeRole::Custom(visit_function),
        "command" => NodeRole::Custom(visit_command),
        _ => NodeRole::Children,
    }
}

/// Defines a function of the file, also inside of another one.
fn visit_function(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    let nodes = DefinitionNodes { name, definition: node };
    let text = builder.text(name);
    let defined = builder.define_as(FILE_SCOPE, text, DefinitionKind::Function, text, nodes);
    builder.visit_in_scope(ScopeKind::Function, defined, |builder| {
        builder.visit_field(node, "body");
    });
}

/// Refers to the function that a command may be, and to one that it calls by its name.
fn visit_command(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let name = node.child_by_field_name("name").and_then(|name| name.named_child(0));
    if let Some(name) = name.filter(|name| name.kind() == "word") {
        // A backslash keeps aliases out.
        let text = builder.text(name).trim_start_matches('\\');
        let mut cursor = node.walk();
        let mut arguments = node.children_by_field_name("argument", &mut cursor);
        if SOURCING_COMMANDS.contains(&text) {
            let path = arguments.next().map(|path| builder.text(path)).unwrap_or_default();
            builder.add_star_import(read_path(path));
        } else if CALLING_COMMANDS.contains(&text)
            && let Some(called) = arguments.find(|word| !builder.text(*word).starts_with('-'))
        {
            builder.add_reference(ReferenceKind::Call, make_name(builder.text(called)), called);
        }
        builder.add_reference(ReferenceKind::Call, make_name(text), name);
    }
    builder.visit_children(node);
}

/// Returns a path without quotes and without the folder that a variable or command gives.
fn read_path(text: &str) -> &str {
    let path = text.trim_matches(['"', '\'']);
    let expansion = path.rfind(['$', '}', ')']).and_then(|place| path.get(place..));
    match expansion {
        Some(expansion) => expansion.split_once('/').map_or("", |(_, end)| end),
        None => path,
    }
}
