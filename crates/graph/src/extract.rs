//! Reads the facts of a file from its syntax tree.

mod python;
mod script;

use codeinfo_lang::{Language, StructureReader, grammar::ParserId};
use tree_sitter::Node;

use crate::facts::{
    Binding, BoundValue, DefinitionFact, DefinitionIndex, DefinitionKind, DefinitionTraits,
    Expression, FileFacts, ImportFact, ReferenceFact, ReferenceKind, Scope, ScopeIndex, ScopeKind,
};

/// Maximum depth of nodes that are read; what is nested deeper is left out.
const MAX_DEPTH: u32 = 300;
/// Maximum depth of an expression; what is deeper is unknown.
const MAX_EXPRESSION_DEPTH: u32 = 12;
/// Maximum facts of one kind in a file; what follows is left out.
const MAX_FACTS: usize = 200_000;
/// Maximum pieces of a text that are parsed one by one.
const MAX_PIECES: usize = 5_000;
/// Maximum bytes of a name; a longer one is left out.
const MAX_NAME_BYTES: usize = 200;
/// Maximum values that are kept of what a function returns or a field is assigned.
const MAX_VALUES: usize = 8;

/// Reads the facts of a text. Returns `None` for languages without rules, and if parsing takes
/// too long.
pub fn extract_facts(language: &Language, text: &str) -> Option<FileFacts> {
    let StructureReader::Grammar(grammar) = language.reader else { return None };
    let visit: fn(&mut FactBuilder<'_>, Node<'_>) = match grammar.parser {
        ParserId::Python => python::visit_file,
        ParserId::Javascript | ParserId::Typescript | ParserId::Tsx => script::visit_file,
        _ => return None,
    };
    let mut builder = FactBuilder::new(text);
    let tree = codeinfo_chunk::parse_tree(grammar, text)?;
    if !tree.root_node().is_error() {
        visit(&mut builder, tree.root_node());
        return Some(builder.facts);
    }
    // One statement that the parser cannot read must not cost the others.
    for (first_row, piece) in split_statements(text) {
        builder.text = piece;
        builder.first_row = first_row;
        if let Some(tree) = codeinfo_chunk::parse_tree(grammar, piece) {
            visit(&mut builder, tree.root_node());
        }
    }
    Some(builder.facts)
}

/// Splits a text before each line that starts with a letter or a decorator, which a statement of a
/// file does. Returns each piece with its first row.
fn split_statements(text: &str) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let (mut start, mut first_row) = (0, 0);
    let mut at = 0;
    for (row, line) in text.split_inclusive('\n').enumerate() {
        let starts_statement =
            line.starts_with(|first: char| first.is_alphabetic() || first == '@');
        if starts_statement && start < at && pieces.len() < MAX_PIECES {
            pieces.push((first_row, text.get(start..at).unwrap_or_default()));
            (start, first_row) = (at, row);
        }
        at += line.len();
    }
    pieces.push((first_row, text.get(start..).unwrap_or_default()));
    pieces
}

/// Collects facts while a visitor walks the tree.
struct FactBuilder<'a> {
    text: &'a str,
    /// Row of the text's first line in the file.
    first_row: usize,
    facts: FileFacts,
    scope: ScopeIndex,
    depth: u32,
}

impl<'a> FactBuilder<'a> {
    fn new(text: &'a str) -> Self {
        let file =
            Scope { parent: None, kind: ScopeKind::File, definition: None, bindings: Vec::new() };
        let facts = FileFacts { scopes: vec![file], ..FileFacts::default() };
        Self { text, first_row: 0, facts, scope: 0, depth: 0 }
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn field_text(&self, node: Node<'_>, field: &str) -> &'a str {
        node.child_by_field_name(field).map(|child| self.text(child)).unwrap_or_default()
    }

    /// Visits a part of a node, unless the nesting is too deep.
    fn descend(&mut self, visit: impl FnOnce(&mut Self)) {
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            visit(self);
            self.depth -= 1;
        }
    }

    /// Calls `visit` for each named child of a node.
    fn visit_children(&mut self, node: Node<'_>, visit: fn(&mut Self, Node<'_>)) {
        let mut cursor = node.walk();
        if cursor.goto_first_child() {
            loop {
                let child = cursor.node();
                if child.is_named() {
                    visit(self, child);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
        }
    }

    /// Runs `visit` with a new scope inside the current one.
    fn in_scope(
        &mut self,
        kind: ScopeKind,
        definition: Option<DefinitionIndex>,
        visit: impl FnOnce(&mut Self),
    ) {
        if self.facts.scopes.len() >= MAX_FACTS {
            return;
        }
        let outer = self.scope;
        self.scope = to_index(self.facts.scopes.len());
        self.facts.scopes.push(Scope {
            parent: Some(outer),
            kind,
            definition,
            bindings: Vec::new(),
        });
        let body = self.scope;
        if let Some(definition) = definition.and_then(|index| self.definition_mut(index)) {
            definition.body = Some(body);
        }
        visit(self);
        self.scope = outer;
    }

    fn definition_mut(&mut self, index: DefinitionIndex) -> Option<&mut DefinitionFact> {
        self.facts.definitions.get_mut(index as usize)
    }

    fn scope_ref(&self, scope: ScopeIndex) -> Option<&Scope> {
        self.facts.scopes.get(scope as usize)
    }

    /// Returns the innermost scope of a kind around the current one, or the file's.
    fn enclosing_scope(&self, accepts: impl Fn(ScopeKind) -> bool) -> ScopeIndex {
        let mut scope = self.scope;
        while let Some(Scope { parent: Some(parent), kind, .. }) = self.scope_ref(scope) {
            if accepts(*kind) {
                return scope;
            }
            scope = *parent;
        }
        scope
    }

    fn bind(&mut self, name: &str, value: BoundValue) {
        self.bind_in(self.scope, name, value);
    }

    fn bind_in(&mut self, scope: ScopeIndex, name: &str, value: BoundValue) {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return;
        }
        if let Some(scope) = self.facts.scopes.get_mut(scope as usize)
            && scope.bindings.len() < MAX_FACTS
        {
            scope.bindings.push(Binding { name: name.to_owned(), value });
        }
    }

    fn bind_import(&mut self, local: &str, module: &str, name: Option<&str>) {
        let scope = self.scope;
        if self.facts.imports.len() < MAX_FACTS && module.len() <= MAX_NAME_BYTES {
            let index = to_index(self.facts.imports.len());
            self.facts
                .imports
                .push(ImportFact { module: module.to_owned(), name: name.map(str::to_owned) });
            self.bind_in(scope, local, BoundValue::Import(index));
        }
    }

    /// Adds a definition in a scope and binds its name there.
    fn define(
        &mut self,
        scope: ScopeIndex,
        kind: DefinitionKind,
        name: &str,
        at: Node<'_>,
        whole: Node<'_>,
    ) -> Option<DefinitionIndex> {
        let is_nameable = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        if !is_nameable || self.facts.definitions.len() >= MAX_FACTS {
            return None;
        }
        let index = to_index(self.facts.definitions.len());
        self.facts.definitions.push(DefinitionFact {
            name: name.to_owned(),
            kind,
            scope,
            body: None,
            lines: (
                to_index(self.first_row + whole.start_position().row + 1),
                to_index(self.first_row + whole.end_position().row + 1),
            ),
            name_at: self.position_of(at),
            bases: Vec::new(),
            result: None,
            values: Vec::new(),
            traits: DefinitionTraits::default(),
        });
        self.bind_in(scope, name, BoundValue::Definition(index));
        Some(index)
    }

    fn refer(&mut self, kind: ReferenceKind, target: Expression, at: Node<'_>) {
        let is_known =
            !matches!(target, Expression::Unknown | Expression::Outside | Expression::This);
        if is_known && self.facts.references.len() < MAX_FACTS {
            let reference =
                ReferenceFact { kind, target, scope: self.scope, at: self.position_of(at) };
            self.facts.references.push(reference);
        }
    }

    fn position_of(&self, node: Node<'_>) -> (u32, u32) {
        let start = node.start_position();
        (to_index(self.first_row + start.row + 1), to_index(start.column))
    }

    fn name(&self, node: Node<'_>) -> Expression {
        let name = self.text(node);
        if name.len() > MAX_NAME_BYTES {
            Expression::Unknown
        } else {
            Expression::Name(name.to_owned())
        }
    }

    /// Adds a value that the enclosing function returns.
    fn add_returned(&mut self, value: Expression) {
        let place = self.scope;
        let scope = self.enclosing_scope(|kind| kind == ScopeKind::Function);
        let definition = self.scope_ref(scope).and_then(|scope| scope.definition);
        if let Some(definition) = definition.and_then(|index| self.definition_mut(index))
            && definition.values.len() < MAX_VALUES
        {
            definition.values.push((place, value));
        }
    }

    /// Adds what is written about the type of a variable or field.
    fn add_value(
        &mut self,
        defined: Option<DefinitionIndex>,
        annotated: Option<Expression>,
        value: Option<Expression>,
    ) {
        let place = self.scope;
        let Some(definition) = defined.and_then(|index| self.definition_mut(index)) else { return };
        if let Some(annotated) = annotated {
            definition.result.get_or_insert(annotated);
        } else if let Some(value) = value
            && definition.values.len() < MAX_VALUES
        {
            definition.values.push((place, value));
        }
    }

    /// Returns the field of a type with a name, which it defines on first use.
    fn define_field(
        &mut self,
        scope: ScopeIndex,
        name: &str,
        at: Node<'_>,
        whole: Node<'_>,
    ) -> Option<DefinitionIndex> {
        let known =
            self.scope_ref(scope)?.bindings.iter().find_map(|binding| match binding.value {
                BoundValue::Definition(index) if binding.name == name => Some(index),
                _ => None,
            });
        let is_field = self.scope_ref(scope)?.kind == ScopeKind::Type;
        let kind = if is_field { DefinitionKind::Field } else { DefinitionKind::Variable };
        known.or_else(|| self.define(scope, kind, name, at, whole))
    }
}

fn member(receiver: Expression, name: &str) -> Expression {
    let is_usable = !matches!(receiver, Expression::Unknown) && name.len() <= MAX_NAME_BYTES;
    // A member of an unknown receiver may still be the only one of its name.
    let receiver = if is_usable { receiver } else { Expression::Unknown };
    Expression::Member(Box::new(receiver), name.to_owned())
}

fn to_index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the named children of a node.
fn named_children<'tree>(node: Node<'tree>) -> Vec<Node<'tree>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
