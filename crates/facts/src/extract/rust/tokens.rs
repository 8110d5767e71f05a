//! Reads the arguments of macros of Rust, which are tokens, as expressions.

use codeinfo_lang::{StructureReader, languages};
use tree_sitter::Node;

use super::super::{
    builder::FactBuilder,
    syntax::{list_named_children, make_member},
    typed::make_name,
};
use crate::{BoundValue, ReferenceKind, ScopeKind, ShortExpression};

/// Maximum tokens of one macro that are read.
const MAX_TOKENS: usize = 20_000;

/// Refers to the macro of a call, and reads its arguments.
pub(super) fn visit_macro(builder: &mut FactBuilder<'_>, node: Node<'_>) {
    let Some(path) = node.child_by_field_name("macro") else { return };
    let name = path.child_by_field_name("name").unwrap_or(path);
    add_macro_reference(builder, name);
    if visit_items(builder, node) {
        return;
    }
    let mut cursor = node.walk();
    for tree in node.named_children(&mut cursor).filter(|child| child.kind() == "token_tree") {
        builder.visit_in_scope(ScopeKind::Block, None, |builder| visit_tokens(builder, tree, None));
    }
}

/// Visits the items in the braces of a macro. Returns false if there is anything else.
fn visit_items(builder: &mut FactBuilder<'_>, node: Node<'_>) -> bool {
    let is_item = node.parent().is_none_or(|parent| {
        matches!(parent.kind(), "source_file" | "declaration_list" | "expression_statement")
    });
    let text = builder.text(node);
    let (Some(open), true) = (text.find('{'), is_item && text.ends_with('}')) else { return false };
    // The columns of whole lines are those of the file.
    let Some(line_end) = text.get(open..).and_then(|rest| rest.find('\n')) else { return false };
    let start = open + line_end + 1;
    let piece = text.get(start..text.len() - 1).unwrap_or_default();
    let rows = text.get(..start).unwrap_or_default().matches('\n').count();
    let StructureReader::Grammar(grammar) = languages::native::RUST.reader else { return false };
    let mut is_read = false;
    builder.visit_piece(piece, node.start_position().row + rows, |builder, piece| {
        if let Some(tree) = codeinfo_chunk::parse_tree(grammar, piece)
            && !tree.root_node().has_error()
            && list_named_children(tree.root_node()).iter().any(is_item_node)
        {
            builder.visit_children(tree.root_node());
            is_read = true;
        }
    });
    is_read
}

fn is_item_node(node: &Node<'_>) -> bool {
    node.kind().ends_with("_item") || matches!(node.kind(), "use_declaration" | "macro_definition")
}

fn add_macro_reference(builder: &mut FactBuilder<'_>, name: Node<'_>) {
    let target = make_name(&format!("{}!", builder.text(name)));
    builder.add_reference(ReferenceKind::Call, target, name);
}

#[derive(Default)]
struct TokenReader<'text> {
    value: Option<ShortExpression>,
    /// Separator before the current token: `.`, `::`, or blank.
    separator: &'static str,
    /// Name that `let` binds at the end of the statement.
    bound: Option<&'text str>,
    /// Parameter of a closure whose type follows.
    parameter: Option<&'text str>,
    is_in_parameters: bool,
}

/// Visits tokens: names with members, calls and paths. `owner` is the type whose fields they set.
fn visit_tokens(builder: &mut FactBuilder<'_>, tree: Node<'_>, owner: Option<&ShortExpression>) {
    let mut cursor = tree.walk();
    let tokens: Vec<Node<'_>> = tree.children(&mut cursor).take(MAX_TOKENS).collect();
    let mut reader = TokenReader::default();
    for (place, token) in tokens.iter().enumerate() {
        let mut following = tokens.iter().skip(place + 1).map(|next| builder.text(*next));
        let next = following.next().unwrap_or_default();
        let last_token = place.checked_sub(1).and_then(|place| tokens.get(place));
        let before = last_token.map(|token| builder.text(*token)).unwrap_or_default();
        match token.kind() {
            "identifier" if next == "!" => {
                add_macro_reference(builder, *token);
                reader.value = None;
            }
            "identifier" if before == "let" || (before == "mut" && next == "=") => {
                reader.bound = Some(builder.text(*token));
            }
            "identifier" if reader.is_in_parameters && next == ":" => {
                reader.parameter = Some(builder.text(*token));
            }
            "identifier" if next == ":" && matches!(before, "{" | ",") && owner.is_some() => {
                if let Some(owner) = owner {
                    let field = format!(".{}", builder.text(*token));
                    let target = make_member(owner.clone(), &field);
                    builder.add_reference(ReferenceKind::Write, target, *token);
                }
            }
            "identifier" | "self" | "super" | "crate" | "primitive_type" => {
                visit_name_token(builder, &mut reader, *token, next.starts_with('('));
            }
            "token_tree" => {
                let value = reader.value.take();
                let text = builder.text(*token);
                let owner = value.as_ref().filter(|value| text.starts_with('{') && is_type(value));
                builder.descend(|builder| visit_tokens(builder, *token, owner));
                reader.value = value.and_then(|value| follow_tree(value, builder.text(*token)));
                reader.separator = "";
            }
            "." => reader.separator = ".",
            "::" => reader.separator = "::",
            "?" => {
                let value = reader.value.take();
                reader.value = value.map(|value| ShortExpression::Awaited(Box::new(value)));
            }
            kind => end_expression(builder, &mut reader, kind),
        }
    }
}

/// Refers to a name, which becomes the value.
fn visit_name_token(
    builder: &mut FactBuilder<'_>,
    reader: &mut TokenReader<'_>,
    token: Node<'_>,
    is_called: bool,
) {
    let receiver = reader.value.take().filter(|_| !reader.separator.is_empty());
    let target = read_token(builder, token, receiver, reader.separator, is_called);
    if token.kind() == "identifier" {
        let kind = if is_called { ReferenceKind::Call } else { ReferenceKind::Read };
        builder.add_reference(kind, target.clone(), token);
    }
    reader.value = Some(target);
    reader.separator = "";
}

/// Ends an expression at a token, and binds the name that waits for it.
fn end_expression(builder: &mut FactBuilder<'_>, reader: &mut TokenReader<'_>, token: &str) {
    let value = reader.value.take();
    reader.separator = "";
    match token {
        ";" => {
            if let (Some(name), Some(value)) = (reader.bound.take(), value) {
                builder.bind(name, BoundValue::Assigned(value));
            }
        }
        "," | "|" => {
            if let (Some(name), Some(value)) = (reader.parameter.take(), value) {
                builder.bind(name, BoundValue::Typed(value));
            }
            reader.is_in_parameters ^= token == "|";
        }
        _ => {}
    }
}

/// Reads a name after a receiver and a separator, or at the begin of an expression.
fn read_token(
    builder: &FactBuilder<'_>,
    token: Node<'_>,
    receiver: Option<ShortExpression>,
    separator: &str,
    is_called: bool,
) -> ShortExpression {
    let name = builder.text(token);
    match (receiver, separator) {
        (Some(receiver), ".") if !is_called => make_member(receiver, &format!(".{name}")),
        (Some(ShortExpression::This), "::") => {
            make_member(ShortExpression::Root("self".to_owned()), name)
        }
        (Some(receiver), _) => make_member(receiver, name),
        (None, ".") => ShortExpression::Unknown,
        (None, _) => match token.kind() {
            "self" => ShortExpression::This,
            "super" | "crate" => ShortExpression::Root(name.to_owned()),
            "identifier" => make_name(name),
            _ => ShortExpression::Outside,
        },
    }
}

/// Returns true for a path whose last name is written as those of types.
fn is_type(path: &ShortExpression) -> bool {
    match path {
        ShortExpression::Name(name) | ShortExpression::Member(_, name) => {
            name.starts_with(char::is_uppercase)
        }
        _ => false,
    }
}

/// Reads a value with brackets after it.
fn follow_tree(value: ShortExpression, tree: &str) -> Option<ShortExpression> {
    match tree.chars().next() {
        Some('(') => Some(ShortExpression::Call(Box::new(value), Vec::new())),
        Some('[') => Some(ShortExpression::Item(Box::new(value), Vec::new())),
        _ => None,
    }
}
