//! Reads the names of definitions from the syntax tree.

use std::{borrow::Cow, rc::Rc};

use codeinfo_lang::grammar::{
    ConstructKind, DefinitionCondition, GrammarRules, NameSource, NodeRule,
};
use tree_sitter::Node;

use super::parser;

/// Maximum bytes of a name, because a heading may be a whole paragraph. Longer names are cut.
const MAX_NAME_BYTES: usize = 120;
/// Maximum bytes of a qualified name. Longer ones keep only their last part.
const MAX_SYMBOL_BYTES: usize = 400;
/// Maximum depth of the definition in a wrapper, and of the name in a declarator.
const MAX_STEPS: usize = 8;
const MAX_CHILDREN: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct NodeScope {
    /// True if no definition encloses the node.
    pub(super) is_top: bool,
    /// True if a function encloses the node, so that its variables are local and define no name.
    pub(super) is_code: bool,
}

/// Returns the name of `node`, qualified by `enclosing`; `None` for a node without a name.
pub(super) fn read_qualified_name(
    grammar: &GrammarRules,
    rule: &NodeRule,
    node: Node<'_>,
    text: &str,
    enclosing: Option<&str>,
) -> Option<Rc<str>> {
    let name = read_name(grammar, rule, node, text, enclosing.is_none())?;
    Some(join_symbol(grammar.separator, enclosing, &name))
}

/// Returns the qualified name that `node` defines. Unlike [`read_qualified_name`], this includes
/// top-level variables of one line and leaves out nodes that only declare something or add to it.
pub(super) fn read_defined_name(
    grammar: &GrammarRules,
    rule: &NodeRule,
    node: Node<'_>,
    text: &str,
    enclosing: Option<&str>,
) -> Option<Rc<str>> {
    let is_named =
        is_defined(rule, node, text) && !matches!(rule.name, NameSource::Inner | NameSource::None);
    if !is_named {
        return None;
    }
    let variable = || {
        let name = node.child_by_field_name("name").filter(|name| name.kind() == "identifier")?;
        (matches!(rule.name, NameSource::Function(_)) && enclosing.is_none())
            .then(|| tidy_name(node_text(name, text)))?
    };
    let is_label = rule.construct == ConstructKind::Label;
    let label = |field| node.child_by_field_name(field).filter(|name| name.kind() == "identifier");
    let name = match rule.name {
        NameSource::Field(field) if is_label => tidy_name(node_text(label(field)?, text))?,
        _ => read_name(grammar, rule, node, text, enclosing.is_none()).or_else(variable)?,
    };
    Some(join_symbol(grammar.separator, enclosing, &name))
}

fn is_defined(rule: &NodeRule, node: Node<'_>, text: &str) -> bool {
    match rule.defines {
        DefinitionCondition::Always => true,
        DefinitionCondition::WithBody => node.child_by_field_name("body").is_some(),
        DefinitionCondition::Variables => is_variable(node, text),
        DefinitionCondition::Never => false,
    }
}

/// Returns the node of the name that `node` defines, by the rules of [`read_defined_name`].
pub(super) fn find_name_node<'tree>(
    rule: &NodeRule,
    node: Node<'tree>,
    text: &str,
    scope: NodeScope,
) -> Option<Node<'tree>> {
    let is_local =
        scope.is_code && matches!(rule.construct, ConstructKind::Label | ConstructKind::Value);
    if is_local || !is_defined(rule, node, text) {
        return None;
    }
    match rule.name {
        NameSource::Field(field) => node.child_by_field_name(field),
        NameSource::Declarator => find_declarator(node),
        NameSource::Receiver => node.child_by_field_name("name"),
        NameSource::Function(values) => {
            find_variable_node(node, values, scope.is_top).or_else(|| {
                let name = node.child_by_field_name("name")?;
                (scope.is_top && name.kind() == "identifier").then_some(name)
            })
        }
        NameSource::Heading | NameSource::Inner | NameSource::None => None,
    }
}

/// Returns `name` qualified by `enclosing`, or alone where that exceeds [`MAX_SYMBOL_BYTES`].
pub(super) fn join_symbol(separator: &str, enclosing: Option<&str>, name: &str) -> Rc<str> {
    match enclosing {
        Some(enclosing) if enclosing.len() + name.len() <= MAX_SYMBOL_BYTES => {
            Rc::from(format!("{enclosing}{separator}{name}"))
        }
        _ => Rc::from(name),
    }
}

fn read_name(
    grammar: &GrammarRules,
    rule: &NodeRule,
    node: Node<'_>,
    text: &str,
    is_top: bool,
) -> Option<String> {
    match rule.name {
        NameSource::Field(field) => tidy_name(node_text(node.child_by_field_name(field)?, text)),
        NameSource::Declarator => read_declared_name(node, text),
        NameSource::Receiver => read_method_name(node, text),
        NameSource::Heading => {
            tidy_name(node_text(node, text).lines().next()?.trim_matches(['#', ' ', '\t']))
        }
        NameSource::Function(values) => read_variable_name(node, text, values, is_top),
        NameSource::Inner => {
            let (rule, node) = find_wrapped_definition(grammar, node)?;
            // The definition inside is not a wrapper, so the recursion ends after one step.
            read_name(grammar, rule, node, text, is_top)
        }
        NameSource::None => None,
    }
}

/// Returns the definition inside a wrapper, through nested wrappers.
pub(super) fn find_wrapped_definition<'tree>(
    grammar: &GrammarRules,
    outermost: Node<'tree>,
) -> Option<(&'static NodeRule, Node<'tree>)> {
    let mut wrapper = outermost;
    for _ in 0..MAX_STEPS {
        let (rule, node) = find_named_child(grammar, wrapper)?;
        if rule.construct != ConstructKind::Wrapper {
            return Some((rule, node));
        }
        wrapper = node;
    }
    None
}

fn find_named_child<'tree>(
    grammar: &GrammarRules,
    wrapper: Node<'tree>,
) -> Option<(&'static NodeRule, Node<'tree>)> {
    let mut cursor = wrapper.walk();
    wrapper.named_children(&mut cursor).take(MAX_CHILDREN).find_map(|child| {
        let rule = parser::find_rule(grammar, child)?;
        (rule.construct != ConstructKind::Lead).then_some((rule, child))
    })
}

fn read_declared_name(node: Node<'_>, text: &str) -> Option<String> {
    tidy_name(node_text(find_declarator(node)?, text))
}

/// Follows `declarator` fields down to the name: `char *(*f)(int)` declares `f`.
fn find_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut declarator = node.child_by_field_name("declarator")?;
    for _ in 0..MAX_STEPS {
        let next = declarator.child_by_field_name("declarator").or_else(|| {
            let is_around = matches!(
                declarator.kind(),
                "parenthesized_declarator" | "reference_declarator" | "attributed_declarator"
            );
            is_around.then(|| declarator.named_child(0)).flatten()
        });
        match next {
            Some(next) => declarator = next,
            None => return Some(declarator),
        }
    }
    None
}

/// Returns true if a declaration of C defines a variable: it is neither a prototype nor `extern`.
fn is_variable(node: Node<'_>, text: &str) -> bool {
    let mut inner = node.child_by_field_name("declarator");
    for _ in 0..MAX_STEPS {
        let Some(declarator) = inner else { break };
        if declarator.kind() == "function_declarator" {
            return false;
        }
        inner = declarator.child_by_field_name("declarator");
    }
    !node_text(node, text).starts_with("extern")
}

/// Reads `Server.Close` from `func (s *Server[T]) Close()`.
fn read_method_name(node: Node<'_>, text: &str) -> Option<String> {
    let name = node_text(node.child_by_field_name("name")?, text);
    let receiver = node
        .child_by_field_name("receiver")
        .and_then(|list| list.named_child(0))
        .and_then(|parameter| parameter.child_by_field_name("type"))
        .and_then(|kind| {
            let kind = node_text(kind, text).trim_start_matches(['*', '(']);
            tidy_name(kind.split('[').next().unwrap_or(kind))
        });
    match receiver {
        Some(receiver) => tidy_name(&format!("{receiver}.{name}")),
        None => tidy_name(name),
    }
}

/// Reads the name of a variable, field or property. It is a definition if its value is of a kind in
/// `values`, such as a function, or if it is at the top of the file and has three lines or more.
fn read_variable_name(node: Node<'_>, text: &str, values: &[&str], is_top: bool) -> Option<String> {
    let name = find_variable_node(node, values, is_top)?;
    tidy_name(node_text(name, text).trim_matches(['"', '\'', '`']))
}

fn find_variable_node<'tree>(
    node: Node<'tree>,
    values: &[&str],
    is_top: bool,
) -> Option<Node<'tree>> {
    let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"))?;
    let spans_lines = value.start_position().row + 2 <= value.end_position().row;
    let is_definition = values.contains(&value.kind()) || (is_top && spans_lines);
    if !is_definition {
        return None;
    }
    ["name", "property", "key", "left"].iter().find_map(|field| node.child_by_field_name(field))
}

pub(super) fn node_text<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// Drops type arguments, joins white space and cuts to [`MAX_NAME_BYTES`]; `None` if empty.
pub(super) fn tidy_name(name: &str) -> Option<String> {
    let mut tidied = String::new();
    for word in strip_arguments(name).split_whitespace() {
        if !tidied.is_empty() {
            tidied.push(' ');
        }
        tidied.push_str(word);
    }
    let mut end = tidied.len().min(MAX_NAME_BYTES);
    while !tidied.is_char_boundary(end) {
        end -= 1;
    }
    tidied.truncate(end);
    (!tidied.is_empty()).then_some(tidied)
}

/// Reduces `Store<T>::open` to `Store::open`, but not `operator<` and headings with arrows.
fn strip_arguments(name: &str) -> Cow<'_, str> {
    let opening = name.matches('<').count();
    let is_type = 0 < opening && opening == name.matches('>').count() && !name.starts_with('<');
    if !is_type || name.contains("operator") {
        return Cow::Borrowed(name);
    }
    let mut depth = 0_usize;
    let mut plain = String::new();
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            character if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    Cow::Owned(plain)
}
