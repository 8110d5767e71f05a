//! Parts that the readers of all languages share: calls, members, returned values, and how nodes are visited.

use tree_sitter::Node;

use super::builder::{FactBuilder, MAX_NAME_BYTES, ValueContext};
use crate::{ReferenceKind, ScopeKind, ShortExpression};

/// Maximum depth of an expression; what is deeper is unknown.
pub(super) const MAX_EXPRESSION_DEPTH: usize = 12;
const MAX_CALL_ARGUMENTS: usize = 2;
const MAX_TUPLE_PARTS: usize = 8;
const MAX_TYPE_ARGUMENTS: usize = 3;

/// Reads a node as an expression, to a bounded depth.
pub(super) struct ExpressionReader<'a, 'text> {
    pub(super) builder: &'a FactBuilder<'text>,
    pub(super) depth: usize,
}

impl FactBuilder<'_> {
    /// Visits a node, unless the nesting is too deep.
    pub(super) fn visit(&mut self, node: Node<'_>) {
        let visit_node = self.syntax().visit_node;
        self.descend(|builder| visit_node(builder, node));
        self.take_next_value();
    }

    pub(super) fn visit_expected(&mut self, node: Node<'_>, expected: Option<ShortExpression>) {
        self.set_next_value(ValueContext { expected, is_returned: false });
        self.visit(node);
    }

    pub(super) fn visit_returned(&mut self, node: Node<'_>, expected: Option<ShortExpression>) {
        self.set_next_value(ValueContext { expected, is_returned: true });
        self.visit(node);
    }

    pub(super) fn visit_children(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        if cursor.goto_first_child() {
            loop {
                let child = cursor.node();
                if child.is_named() {
                    self.visit(child);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
        }
    }

    pub(super) fn visit_field(&mut self, node: Node<'_>, field: &str) {
        if let Some(child) = node.child_by_field_name(field) {
            self.visit(child);
        }
    }

    pub(super) fn visit_block(&mut self, node: Node<'_>) {
        self.visit_in_scope(ScopeKind::Block, None, |builder| builder.visit_children(node));
    }

    /// Refers to the member of `receiver.member` and visits the receiver.
    pub(super) fn visit_member(&mut self, node: Node<'_>, kind: ReferenceKind) {
        let (Some(object), Some(name)) = (
            node.child_by_field_name("object"),
            node.child_by_field_name(self.syntax().member_field),
        ) else {
            return;
        };
        self.visit(object);
        let target = make_member(self.read(object), self.text(name));
        self.add_reference(kind, target, name);
    }

    /// Refers to a name or a member as a use of a kind, and visits any other expression.
    pub(super) fn visit_used(&mut self, node: Node<'_>, kind: ReferenceKind) {
        match node.kind() {
            "identifier" => self.add_reference(kind, self.read_name(node), node),
            member if member == self.syntax().member_kind => self.visit_member(node, kind),
            _ => self.visit(node),
        }
    }

    /// Visits a `return` and adds its value to those of the enclosing function.
    pub(super) fn visit_return(&mut self, node: Node<'_>) {
        self.visit_children(node);
        if let Some(value) = node.named_child(0) {
            self.add_returned_value(self.read(value));
        }
    }

    pub(super) fn read(&self, node: Node<'_>) -> ShortExpression {
        ExpressionReader { builder: self, depth: 0 }.read(node)
    }

    pub(super) fn read_field(&self, node: Node<'_>, field: &str) -> Option<ShortExpression> {
        node.child_by_field_name(field).map(|child| self.read(child))
    }
}

impl ExpressionReader<'_, '_> {
    fn read(&self, node: Node<'_>) -> ShortExpression {
        if self.depth > MAX_EXPRESSION_DEPTH {
            return ShortExpression::Unknown;
        }
        (self.builder.syntax().read_node)(self.builder, node, self.depth)
    }

    pub(super) fn read_part(&self, part: Option<Node<'_>>) -> ShortExpression {
        let inner = Self { builder: self.builder, depth: self.depth + 1 };
        part.map_or(ShortExpression::Unknown, |part| inner.read(part))
    }

    pub(super) fn read_member(&self, receiver: Option<Node<'_>>, name: &str) -> ShortExpression {
        make_member(self.read_part(receiver), name)
    }

    /// Reads a call of `function` with the arguments of a node.
    pub(super) fn read_call(&self, function: Option<Node<'_>>, node: Node<'_>) -> ShortExpression {
        let arguments = node.child_by_field_name("arguments").map(list_named_children);
        let arguments = self.read_parts(arguments.unwrap_or_default(), MAX_CALL_ARGUMENTS);
        ShortExpression::Call(Box::new(self.read_part(function)), arguments)
    }

    /// Reads an item of a container, or a type with arguments.
    pub(super) fn read_item(
        &self,
        container: Option<Node<'_>>,
        items: Vec<Node<'_>>,
    ) -> ShortExpression {
        let items = self.read_parts(items, MAX_TYPE_ARGUMENTS);
        ShortExpression::Item(Box::new(self.read_part(container)), items)
    }

    /// Reads the first child of a node as the argument of a type with a name.
    pub(super) fn read_container(&self, name: &str, node: Node<'_>) -> ShortExpression {
        let container = Box::new(ShortExpression::Name(name.to_owned()));
        ShortExpression::Item(container, vec![self.read_part(node.named_child(0))])
    }

    /// Reads the first of several values in order.
    pub(super) fn read_tuple(&self, parts: Vec<Node<'_>>) -> ShortExpression {
        ShortExpression::Tuple(self.read_parts(parts, MAX_TUPLE_PARTS))
    }

    fn read_parts(&self, parts: Vec<Node<'_>>, max_parts: usize) -> Vec<ShortExpression> {
        parts.into_iter().take(max_parts).map(|part| self.read_part(Some(part))).collect()
    }

    pub(super) fn read_either(
        &self,
        one: Option<Node<'_>>,
        other: Option<Node<'_>>,
    ) -> ShortExpression {
        ShortExpression::Either(Box::new(self.read_part(one)), Box::new(self.read_part(other)))
    }

    pub(super) fn read_awaited(&self, node: Node<'_>) -> ShortExpression {
        ShortExpression::Awaited(Box::new(self.read_part(node.named_child(0))))
    }
}

/// Returns the expression of a receiver's member; unknown if the name is too long.
pub(super) fn make_member(receiver: ShortExpression, name: &str) -> ShortExpression {
    if name.len() > MAX_NAME_BYTES {
        return ShortExpression::Unknown;
    }
    ShortExpression::Member(Box::new(receiver), name.to_owned())
}

pub(super) fn list_named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
}
