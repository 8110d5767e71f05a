//! Builds chunks from packed lines: adds line numbers, definitions and their base types.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    rc::Rc,
};

use codeinfo_lang::{
    comment,
    grammar::{ConstructKind, GrammarRules, NameSource, NodeRule},
};
use tree_sitter::Node;

use super::{
    Chunk, ChunkKind, lines::LineIndex, parser, symbol::node_text, unit::DefinitionSpan,
    window::PackedLines,
};

const MAX_SIGNATURE_BYTES: usize = 200;
/// Maximum lines from the head of a definition that are searched for its signature.
const MAX_LEAD_LINES: usize = 40;
const MAX_DEFINED_NAMES: usize = 64;
const MAX_DEFINED_BYTES: usize = 2000;

pub(super) fn build_chunks<'a>(
    lines: &LineIndex<'a>,
    packed: Vec<PackedLines<'a>>,
    definitions: &[DefinitionSpan],
) -> Vec<Chunk<'a>> {
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let mut rest = definitions;
    let mut started: HashSet<&str> = HashSet::new();
    let chunk = |packed: PackedLines<'a>| {
        // If a line is cut into pieces, the first piece has its definitions.
        let inside = rest.partition_point(|definition| definition.line < packed.lines.end);
        let (own, after) = rest.split_at(inside);
        rest = after;
        let symbol = packed.symbol.as_deref();
        let kind = match symbol {
            Some(symbol) if own.iter().any(|definition| definition.symbol.as_ref() == symbol) => {
                ChunkKind::Head
            }
            Some(symbol) if started.contains(symbol) => ChunkKind::Part,
            _ => ChunkKind::Glue,
        };
        started.extend(own.iter().map(|definition| definition.symbol.as_ref()));
        Chunk {
            start_line: number(packed.lines.start + 1),
            end_line: number(packed.lines.end),
            signature: packed.head.and_then(|head| find_signature(lines, head, packed.lines.start)),
            symbol: symbol.map(str::to_owned),
            kind,
            defines: list_defined_names(own, symbol),
            bases: list_bases(own),
            text: packed.text,
        }
    };
    packed.into_iter().map(chunk).collect()
}

/// Returns the distinct defined names, always with the chunk's own symbol if it is defined.
fn list_defined_names(definitions: &[DefinitionSpan], own: Option<&str>) -> Vec<String> {
    let mut room = MAX_DEFINED_BYTES;
    let mut seen: HashSet<&str> = HashSet::new();
    let mut names: Vec<String> = Vec::new();
    for DefinitionSpan { symbol, .. } in definitions {
        let fits = names.len() < MAX_DEFINED_NAMES && symbol.len() <= room || own == Some(symbol);
        if fits && seen.insert(symbol) {
            room = room.saturating_sub(symbol.len());
            names.push(symbol.to_string());
        }
    }
    names
}

fn list_bases(definitions: &[DefinitionSpan]) -> Vec<String> {
    let mut bases: Vec<String> = Vec::new();
    for base in definitions.iter().flat_map(|definition| definition.bases.iter()) {
        if bases.len() < MAX_BASES && !bases.contains(base) {
            bases.push(base.clone());
        }
    }
    bases
}

/// Returns the first line of a definition after comments and attributes, with its parameters.
fn find_signature(lines: &LineIndex<'_>, head: usize, before: usize) -> Option<String> {
    let mut rest = head..before.min(head + MAX_LEAD_LINES);
    let first = rest.find(|line| {
        let text = lines.text(*line..line + 1).trim();
        let is_lead = text.is_empty() || comment::is_lead(text);
        !is_lead && text.contains(char::is_alphanumeric)
    })?;
    let mut signature = lines.text(first..first + 1).trim().to_owned();
    let is_open = |text: &str| text.matches('(').count() != text.matches(')').count();
    while signature.len() < MAX_SIGNATURE_BYTES && is_open(&signature) {
        let Some(line) = rest.next() else { break };
        signature.extend([" ", lines.text(line..line + 1).trim()]);
    }
    signature.truncate(signature.floor_char_boundary(MAX_SIGNATURE_BYTES));
    Some(signature)
}

const MAX_BASES: usize = 16;
const MAX_NAME_BYTES: usize = 80;

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

    pub(super) fn leave_ended_types(&mut self, node: Node<'_>) {
        while self.open.pop_if(|(end, _)| *end <= node.start_byte()).is_some() {}
    }

    pub(super) fn innermost_type(&self) -> Option<usize> {
        self.open.last().map(|(_, place)| *place)
    }

    /// Returns, for each type, its bases and their bases in the same file.
    pub(super) fn collect_bases(&self) -> Vec<Rc<[String]>> {
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

/// Reduces `http.Handler[T]` to `Handler`; `None` for text that is no type, like `metaclass=Meta`.
fn parse_type_name(spelled: &str) -> Option<String> {
    let end = spelled.find(['<', '(', '[', '{']).unwrap_or(spelled.len());
    let name = spelled.get(..end)?.trim_end().rsplit(['.', ':', '\\']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    (is_name && name.len() <= MAX_NAME_BYTES).then(|| name.to_owned())
}
