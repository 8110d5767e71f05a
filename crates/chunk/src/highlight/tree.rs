//! Classifies a text by its syntax tree.
//!
//! Grammars name their nodes alike: the class of a node follows from words in the name of its kind,
//! from its field and from the nodes around it.

use tree_sitter::{Node, Tree};

use super::{ByteClasses, HighlightClass};

/// Kinds of nodes that are an attribute with all their text.
const ATTRIBUTES: &[&str] = &[
    "annotation", "attribute_item", "attribute_list", "decorator", "inner_attribute_item",
    "marker_annotation",
];
/// Words in the kind names of strings; then of code inside strings.
const STRINGS: &[&str] =
    &["string", "char_literal", "character_literal", "rune_literal", "heredoc", "regex"];
const WITHIN_STRINGS: &[&str] = &["interpolation", "substitution", "expansion"];
const NUMBERS: &[&str] =
    &["integer", "float", "number", "int_literal", "real_literal", "imaginary"];
const CONSTANTS: &[&str] = &["boolean", "true", "false", "null", "nil", "none", "undefined"];
const TYPES: &[&str] = &["type_identifier", "primitive_type", "predefined_type", "builtin_type"];
/// Words in the kind names of nodes that define a function; then of those that call one.
const DEFINERS: &[&str] = &["function", "method", "macro_definition", "constructor"];
const CALLS: &[&str] = &["call", "invocation", "generic_function"];

struct AncestorNode<'a> {
    kind: &'a str,
    field: Option<&'a str>,
    /// Class of its text where no inner node has a class.
    class: Option<HighlightClass>,
}

enum NodeClass {
    Whole(HighlightClass),
    /// Applies where no inner node has a class.
    Inside(Option<HighlightClass>),
}

/// Sets the classes of the tree in `paint`. Each byte is filled once, by its innermost node, so
/// that nested strings cost no more than others.
pub(super) fn paint_tree(tree: &Tree, text: &str, paint: &mut ByteClasses) {
    let mut cursor = tree.walk();
    let mut around: Vec<AncestorNode<'_>> = Vec::new();
    // All bytes before `at` are filled.
    let mut at = 0;
    loop {
        let node = cursor.node();
        let field = cursor.field_name();
        let bytes = node.byte_range();
        let outer = around.last().and_then(|around| around.class);
        paint.set_class(at..bytes.start, outer);
        at = at.max(bytes.start);
        let found = if paint.overlaps_range(&bytes) {
            classify_node(node, field, &around, text)
        } else {
            // The node lies outside the lines, so the class does not matter.
            NodeClass::Whole(HighlightClass::Comment)
        };
        let class = match found {
            NodeClass::Whole(class) => Some(class),
            NodeClass::Inside(class) => {
                if cursor.goto_first_child() {
                    around.push(AncestorNode { kind: node.kind(), field, class });
                    continue;
                }
                class
            }
        };
        paint.set_class(at..bytes.end, class);
        at = at.max(bytes.end);
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            let end = cursor.node().end_byte();
            paint.set_class(at..end, around.pop().and_then(|around| around.class));
            at = at.max(end);
        }
    }
}

fn classify_node(
    node: Node<'_>,
    field: Option<&str>,
    around: &[AncestorNode<'_>],
    text: &str,
) -> NodeClass {
    let kind = node.kind();
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let outer = around.last().and_then(|around| around.class);
    if !node.is_named() {
        let is_word = kind.trim_start_matches(['#', '@']).starts_with(char::is_alphabetic);
        let class =
            if is_word && node.child_count() == 0 { Some(HighlightClass::Keyword) } else { outer };
        return NodeClass::Inside(class);
    }
    if kind.contains("comment") {
        return NodeClass::Whole(HighlightClass::Comment);
    }
    NodeClass::Inside(if has(WITHIN_STRINGS) {
        None
    } else if has(STRINGS) {
        Some(HighlightClass::String)
    } else if ATTRIBUTES.contains(&kind) {
        Some(HighlightClass::Attribute)
    } else if node.child_count() == 0 {
        classify_leaf(kind, field, around, text.get(node.byte_range()).unwrap_or_default())
            .or(outer)
    } else {
        outer
    })
}

fn classify_leaf(
    kind: &str,
    field: Option<&str>,
    around: &[AncestorNode<'_>],
    word: &str,
) -> Option<HighlightClass> {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let is_word = word.starts_with(|c: char| c.is_alphabetic());
    if has(NUMBERS) {
        Some(HighlightClass::Number)
    } else if has(TYPES) {
        Some(HighlightClass::Type)
    } else if CONSTANTS.iter().any(|constant| kind.starts_with(constant)) {
        Some(HighlightClass::Constant)
    } else if kind == word
        || is_word && (kind.ends_with("_specifier") || kind.ends_with("_modifier"))
    {
        Some(HighlightClass::Keyword)
    } else if is_function(field, around) {
        Some(HighlightClass::Function)
    } else if kind.contains("identifier") || kind == "constant" || kind == "name" {
        classify_by_case(word)
    } else {
        None
    }
}

fn is_function(field: Option<&str>, around: &[AncestorNode<'_>]) -> bool {
    let Some((parent, above)) = around.split_last() else { return false };
    let is = |kind: &str, words: &[&str]| words.iter().any(|word| kind.contains(word));
    let role = field.unwrap_or_default();
    if is(parent.kind, CALLS) {
        return matches!(role, "function" | "macro" | "method" | "name");
    }
    if is(parent.kind, DEFINERS) {
        return matches!(role, "name" | "declarator");
    }
    // The last part of `a.b()`, and the name of a command.
    let is_called = |around: &AncestorNode<'_>| {
        is(around.kind, CALLS) && matches!(parent.field, Some("function" | "macro"))
    };
    parent.kind == "command_name"
        || matches!(role, "attribute" | "field" | "name" | "property")
            && above.last().is_some_and(is_called)
}

/// Classifies a name by its letters: a type begins with a capital, a constant has only capitals.
fn classify_by_case(name: &str) -> Option<HighlightClass> {
    let starts_large = name.starts_with(char::is_uppercase);
    let has_small = name.contains(char::is_lowercase);
    match (starts_large, has_small) {
        (true, true) => Some(HighlightClass::Type),
        (true, false) if name.len() > 1 => Some(HighlightClass::Constant),
        _ => None,
    }
}
