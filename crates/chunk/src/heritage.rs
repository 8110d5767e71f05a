//! Reads the types that the head of a type extends or implements.

use std::{
    collections::{HashMap, VecDeque},
    rc::Rc,
};

use codeinfo_lang::grammar::{ConstructKind, GrammarRules, NameSource, NodeRule};
use tree_sitter::Node;

use super::{parser, symbol::node_text};

/// Maximum bases of a type, and of a chunk.
pub(super) const MAX_BASES: usize = 16;
/// Maximum bytes of a base's name; longer names are left out.
const MAX_NAME_BYTES: usize = 80;

/// Types of a file, collected while its nodes are walked.
#[derive(Default)]
pub(super) struct TypeHierarchy {
    types: Vec<TypeBases>,
    /// Types around the current node: the byte where each ends, and its index in `types`.
    open: Vec<(usize, usize)>,
}

struct TypeBases {
    name: Option<String>,
    bases: Vec<String>,
}

impl TypeHierarchy {
    /// Adds the type that a node defines.
    pub(super) fn enter_type(
        &mut self,
        grammar: &GrammarRules,
        rule: &NodeRule,
        node: Node<'_>,
        text: &str,
    ) {
        let spelled = |field| Some(node_text(node.child_by_field_name(field)?, text));
        let own = match rule.name {
            NameSource::Field(field) => spelled(field).and_then(parse_type_name),
            _ => None,
        };
        self.open.push((node.end_byte(), self.types.len()));
        self.types.push(TypeBases { name: own, bases: read_bases(grammar, node, text) });
    }

    /// Closes the types that end before a node.
    pub(super) fn leave_ended_types(&mut self, node: Node<'_>) {
        while self.open.pop_if(|(end, _)| *end <= node.start_byte()).is_some() {}
    }

    pub(super) fn innermost_type(&self) -> Option<usize> {
        self.open.last().map(|(_, place)| *place)
    }

    /// Returns, for each type, its bases and their bases in the same file.
    pub(super) fn all_bases(&self) -> Vec<Rc<[String]>> {
        let mut by_name: HashMap<&str, Vec<&TypeBases>> = HashMap::new();
        for bases in &self.types {
            if let Some(name) = &bases.name {
                by_name.entry(name).or_default().push(bases);
            }
        }
        let collect_bases = |bases: &TypeBases| {
            let mut all = bases.bases.clone();
            let mut at = 0;
            while let Some(base) = all.get(at) {
                let types = by_name.get(base.as_str()).into_iter().flatten().take(MAX_BASES);
                for further in types.flat_map(|base| &base.bases) {
                    if all.len() < MAX_BASES
                        && !all.contains(further)
                        && bases.name.as_ref() != Some(further)
                    {
                        all.push(further.clone());
                    }
                }
                at += 1;
            }
            Rc::from(all)
        };
        self.types.iter().map(collect_bases).collect()
    }
}

/// Returns the unqualified names of the types that the head of a type lists.
fn read_bases(grammar: &GrammarRules, node: Node<'_>, text: &str) -> Vec<String> {
    let names = |word: &str| grammar.heritage.contains(&word);
    let mut bases = Vec::new();
    let mut lists = VecDeque::from([node]);
    while let Some(list) = lists.pop_front() {
        let mut cursor = list.walk();
        let mut has_next = cursor.goto_first_child();
        while has_next && bases.len() < MAX_BASES {
            let child = cursor.node();
            let is_base = list != node && !is_lead(grammar, child);
            if names(child.kind()) {
                lists.push_back(child);
            } else if child.is_named() && (is_base || cursor.field_name().is_some_and(names)) {
                bases.extend(parse_type_name(node_text(child, text)));
            }
            has_next = cursor.goto_next_sibling();
        }
    }
    bases
}

fn is_lead(grammar: &GrammarRules, node: Node<'_>) -> bool {
    parser::find_rule(grammar, node).is_some_and(|rule| rule.construct == ConstructKind::Lead)
}

/// Reduces `http.Handler[T]` to `Handler`. Returns `None` for text that names no type, such as
/// `metaclass=Meta`.
fn parse_type_name(spelled: &str) -> Option<String> {
    let end = spelled.find(['<', '(', '[', '{']).unwrap_or(spelled.len());
    let name = spelled.get(..end)?.trim_end().rsplit(['.', ':', '\\']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    (is_name && name.len() <= MAX_NAME_BYTES).then(|| name.to_owned())
}
