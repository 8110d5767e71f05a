//! Collects the definitions of a parsed file, those inside units that stay whole among them.

use std::{ops::Range, rc::Rc};

use codeinfo_lang::grammar::{Construct, Grammar, Name, Rule};
use tree_sitter::{Node, TreeCursor};

use super::{heritage::Types, layout, lines::Lines, parser, symbol, unit::Definition};

/// Collects definitions as the nodes of a file are walked.
pub(super) struct Defined<'a> {
    grammar: &'a Grammar,
    /// The text as it was parsed.
    text: &'a str,
    /// The text as it is.
    lines: &'a Lines<'a>,
    /// Each with the place of its type.
    definitions: Vec<(Definition, Option<usize>)>,
    /// The line after the last text that was read by its words, so that nested ones are read once.
    unread_end: usize,
    types: Types,
}

/// A node whose children are read.
#[derive(Clone)]
struct Level {
    symbol: Option<Rc<str>>,
    /// Whether they are of a function, whose variables are of no use elsewhere.
    is_code: bool,
}

impl<'a> Defined<'a> {
    pub(super) fn new(grammar: &'a Grammar, text: &'a str, lines: &'a Lines<'a>) -> Self {
        Self {
            grammar,
            text,
            lines,
            definitions: Vec::new(),
            unread_end: 0,
            types: Types::default(),
        }
    }

    /// Returns the definitions in order of their lines.
    pub(super) fn definitions(self) -> Vec<Definition> {
        let bases = self.types.all_bases();
        let with_bases = |(definition, place): (Definition, Option<usize>)| {
            let bases = place.and_then(|place| bases.get(place)).map(Rc::clone);
            Definition { bases: bases.unwrap_or_default(), ..definition }
        };
        let mut definitions: Vec<Definition> =
            self.definitions.into_iter().map(with_bases).collect();
        definitions.sort_by_key(|definition| definition.line);
        definitions
    }

    /// Adds a node that is opened, but not what is inside.
    pub(super) fn opened(&mut self, node: Node<'_>, enclosing: Option<&Rc<str>>) {
        match parser::rule(self.grammar, node) {
            Some(rule) => self.add(rule, node, enclosing, rule.construct != Construct::Scope),
            None if self.is_unread(node) => self.unread(node, enclosing),
            None => {}
        }
    }

    /// Adds what a node that stays whole defines: itself, and what is inside.
    pub(super) fn whole(&mut self, node: Node<'_>, enclosing: Option<&Rc<str>>) {
        let mut cursor = node.walk();
        let mut levels = vec![Level { symbol: enclosing.cloned(), is_code: false }];
        while let Some(level) = levels.last() {
            let inner = self.inner(&cursor, level);
            if let Some(inner) = inner
                && cursor.goto_first_child()
            {
                levels.push(inner);
                continue;
            }
            while !cursor.goto_next_sibling() {
                levels.pop();
                if levels.len() < 2 || !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Adds one node; returns how to read its children, if they may define something.
    fn inner(&mut self, cursor: &TreeCursor<'_>, level: &Level) -> Option<Level> {
        let node = cursor.node();
        if !node.is_named() || node.child_count() == 0 {
            return None;
        }
        let enclosing = level.symbol.as_ref();
        let Some(rule) = parser::rule(self.grammar, node) else {
            if self.is_unread(node) {
                self.unread(node, enclosing);
                return None;
            }
            let is_list = cursor.field_name() == Some("parameters");
            return (!is_list).then(|| level.clone());
        };
        let is_function = rule.construct == Construct::Definition
            && matches!(rule.name, Name::Field(_) | Name::Receiver);
        if is_function {
            self.add(rule, node, enclosing, false);
            return None;
        }
        let own = || {
            let enclosing = enclosing.map(AsRef::as_ref);
            symbol::qualified(self.grammar, rule, node, self.text, enclosing)
        };
        let inner = match rule.construct {
            Construct::Lead => return None,
            Construct::Label | Construct::Value if level.is_code => return None,
            Construct::Wrapper | Construct::Transparent | Construct::Label => level.clone(),
            Construct::Container | Construct::Scope => {
                Level { symbol: own().or_else(|| level.symbol.clone()), is_code: false }
            }
            Construct::Definition | Construct::Value => {
                Level { symbol: own().or_else(|| level.symbol.clone()), is_code: true }
            }
        };
        self.add(rule, node, enclosing, false);
        Some(inner)
    }

    fn add(&mut self, rule: &Rule, node: Node<'_>, enclosing: Option<&Rc<str>>, is_cut: bool) {
        self.types.leave(node);
        if rule.construct == Construct::Container {
            self.types.enter(self.grammar, rule, node, self.text);
        }
        let enclosing = enclosing.map(AsRef::as_ref);
        if let Some(symbol) = symbol::defined(self.grammar, rule, node, self.text, enclosing) {
            let (line, last) = parser::span(node);
            self.define(line..last + 1, symbol, rule.construct, is_cut);
        }
    }

    fn define(&mut self, lines: Range<usize>, symbol: Rc<str>, construct: Construct, is_cut: bool) {
        let (line, last) = (lines.start, lines.end.saturating_sub(1));
        let definition = Definition { line, last, symbol, construct, is_cut, bases: Rc::default() };
        self.definitions.push((definition, self.types.innermost()));
    }

    fn is_unread(&self, node: Node<'_>) -> bool {
        let unread = self.grammar.unread;
        node.is_error() || !unread.is_empty() && unread.contains(&node.kind())
    }

    /// Adds what the lines of a node define by their words.
    fn unread(&mut self, node: Node<'_>, enclosing: Option<&Rc<str>>) {
        self.types.leave(node);
        let (first, last) = (node.start_position().row, node.end_position().row);
        for line in first.max(self.unread_end)..(last + 1).min(self.lines.count()) {
            if let Some(name) = layout::defined(self.lines.text(line..line + 1).trim_start()) {
                let enclosing = enclosing.map(AsRef::as_ref);
                let symbol = symbol::joined(self.grammar.separator, enclosing, &name);
                self.define(line..line + 1, symbol, Construct::Definition, false);
            }
        }
        self.unread_end = self.unread_end.max(last + 1);
    }
}
