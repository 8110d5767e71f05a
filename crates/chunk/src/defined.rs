//! Collects the definitions of a parsed file, including those inside units that stay whole.

use std::{ops::Range, rc::Rc};

use codeinfo_lang::grammar::{ConstructKind, GrammarRules, NameSource, NodeRule};
use tree_sitter::{Node, TreeCursor};

use super::{facts::TypeHierarchy, layout, lines::LineIndex, parser, symbol, unit::DefinitionSpan};

pub(super) struct DefinitionCollector<'a> {
    grammar: &'a GrammarRules,
    text: &'a str,
    lines: &'a LineIndex<'a>,
    /// Definitions, each with the index of its type.
    definitions: Vec<(DefinitionSpan, Option<usize>)>,
    /// Line after the last one that was read by its words, so that nested nodes are read once.
    unread_end: usize,
    types: TypeHierarchy,
}

#[derive(Clone)]
struct NestingLevel {
    symbol: Option<Rc<str>>,
    /// True inside a function, whose variables are local.
    is_code: bool,
}

impl<'a> DefinitionCollector<'a> {
    pub(super) fn new(grammar: &'a GrammarRules, text: &'a str, lines: &'a LineIndex<'a>) -> Self {
        Self {
            grammar,
            text,
            lines,
            definitions: Vec::new(),
            unread_end: 0,
            types: TypeHierarchy::default(),
        }
    }

    pub(super) fn into_definitions(self) -> Vec<DefinitionSpan> {
        let bases = self.types.collect_bases();
        let with_bases = |(definition, place): (DefinitionSpan, Option<usize>)| {
            let bases = place.and_then(|place| bases.get(place)).map(Rc::clone);
            DefinitionSpan { bases: bases.unwrap_or_default(), ..definition }
        };
        let mut definitions: Vec<DefinitionSpan> =
            self.definitions.into_iter().map(with_bases).collect();
        definitions.sort_by_key(|definition| definition.line);
        definitions
    }

    /// Adds a node that is opened, without its children.
    pub(super) fn add_opened_node(&mut self, node: Node<'_>, enclosing: Option<&Rc<str>>) {
        match parser::find_rule(self.grammar, node) {
            Some(rule) => {
                self.add_definition(rule, node, enclosing, rule.construct != ConstructKind::Scope);
            }
            None if self.is_unread(node) => self.add_unparsed_lines(node, enclosing),
            None => {}
        }
    }

    /// Adds the definitions of a node that stays whole: the node itself and those inside.
    pub(super) fn add_whole_node(&mut self, node: Node<'_>, enclosing: Option<&Rc<str>>) {
        let mut cursor = node.walk();
        let mut levels = vec![NestingLevel { symbol: enclosing.cloned(), is_code: false }];
        while let Some(level) = levels.last() {
            let inner = self.add_inner_node(&cursor, level);
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

    /// Adds one node. Returns how to read its children, or `None` if they define nothing.
    fn add_inner_node(
        &mut self,
        cursor: &TreeCursor<'_>,
        level: &NestingLevel,
    ) -> Option<NestingLevel> {
        let node = cursor.node();
        if !node.is_named() || node.child_count() == 0 {
            return None;
        }
        let enclosing = level.symbol.as_ref();
        let Some(rule) = parser::find_rule(self.grammar, node) else {
            if self.is_unread(node) {
                self.add_unparsed_lines(node, enclosing);
                return None;
            }
            let is_list = cursor.field_name() == Some("parameters");
            return (!is_list).then(|| level.clone());
        };
        let is_function = rule.construct == ConstructKind::Definition
            && matches!(rule.name, NameSource::Field(_) | NameSource::Receiver);
        if is_function {
            self.add_definition(rule, node, enclosing, false);
            return None;
        }
        let own = || {
            let qualifier = enclosing.map(AsRef::as_ref);
            symbol::read_qualified_name(self.grammar, rule, node, self.text, qualifier)
        };
        let inner = match rule.construct {
            ConstructKind::Lead => return None,
            ConstructKind::Label | ConstructKind::Value if level.is_code => return None,
            ConstructKind::Wrapper | ConstructKind::Transparent | ConstructKind::Label => {
                level.clone()
            }
            ConstructKind::Container | ConstructKind::Scope => {
                NestingLevel { symbol: own().or_else(|| level.symbol.clone()), is_code: false }
            }
            ConstructKind::Definition | ConstructKind::Value => {
                NestingLevel { symbol: own().or_else(|| level.symbol.clone()), is_code: true }
            }
        };
        self.add_definition(rule, node, enclosing, false);
        Some(inner)
    }

    fn add_definition(
        &mut self,
        rule: &NodeRule,
        node: Node<'_>,
        enclosing: Option<&Rc<str>>,
        is_cut: bool,
    ) {
        self.types.leave_ended_types(node);
        if rule.construct == ConstructKind::Container {
            self.types.enter_type(self.grammar, rule, node, self.text);
        }
        let qualifier = enclosing.map(AsRef::as_ref);
        if let Some(symbol) =
            symbol::read_defined_name(self.grammar, rule, node, self.text, qualifier)
        {
            let (line, last) = parser::line_span(node);
            self.push_definition(line..last + 1, symbol, rule.construct, is_cut);
        }
    }

    fn push_definition(
        &mut self,
        lines: Range<usize>,
        symbol: Rc<str>,
        construct: ConstructKind,
        is_cut: bool,
    ) {
        let definition = DefinitionSpan {
            line: lines.start,
            last: lines.end.saturating_sub(1),
            symbol,
            construct,
            is_cut,
            bases: Rc::default(),
        };
        self.definitions.push((definition, self.types.innermost_type()));
    }

    fn is_unread(&self, node: Node<'_>) -> bool {
        let unread = self.grammar.unread;
        node.is_error() || !unread.is_empty() && unread.contains(&node.kind())
    }

    fn add_unparsed_lines(&mut self, node: Node<'_>, enclosing: Option<&Rc<str>>) {
        self.types.leave_ended_types(node);
        let first = node.start_position().row;
        let last = node.end_position().row;
        for line in first.max(self.unread_end)..(last + 1).min(self.lines.count()) {
            if let Some(name) =
                layout::find_defined_name(self.lines.text(line..line + 1).trim_start())
            {
                let qualifier = enclosing.map(AsRef::as_ref);
                let symbol = symbol::join_symbol(self.grammar.separator, qualifier, &name);
                self.push_definition(line..line + 1, symbol, ConstructKind::Definition, false);
            }
        }
        self.unread_end = self.unread_end.max(last + 1);
    }
}
