//! Turns a parsed file into units: ordered runs of lines with a role and a symbol.
//!
//! Only nodes too large for one chunk are opened, so the walk is short. Its own stack keeps deep
//! nesting from overflowing the call stack.

use std::{borrow::Cow, rc::Rc};

use codeinfo_lang::grammar::{ConstructKind, GrammarRules, NameSource, NodeRule};
use tree_sitter::{Node, Tree};

use super::{
    branches,
    defined::DefinitionCollector,
    lines::{CONTAINER, LineIndex, NAMED_VALUE_LINES, WHOLE},
    macros,
    parser::{self, line_span, parse_tree},
    strip_bodies, symbol,
    unit::{TextStructure, TextUnit, UnitRole},
};

/// Maximum bytes of a parsed text, because the parser needs many times as much memory.
const MAX_PARSED_BYTES: usize = 8 * 1024 * 1024;

/// Returns the structure of `text`; `None` if it is too large or parsing exceeds its time limit.
pub(super) fn parse_structure(
    grammar: &GrammarRules,
    lines: &LineIndex<'_>,
    text: &str,
) -> Option<TextStructure> {
    if text.len() > MAX_PARSED_BYTES {
        return None;
    }
    // Line numbers stay the same, byte offsets do not.
    let text = blank_unparsable_text(grammar, text);
    let stripped = strip_bodies::strip_function_bodies(grammar, &text);
    let parsed = stripped.as_deref().unwrap_or(&text);
    Some(build_structure(grammar, lines, parsed, &parse_tree(grammar, parsed)?))
}

/// Replaces text that confuses a parser by blanks. Lines and byte offsets stay the same.
pub(super) fn blank_unparsable_text<'a>(grammar: &GrammarRules, text: &'a str) -> Cow<'a, str> {
    let text =
        branches::blank_unbalanced_branches(grammar, text).map_or(Cow::Borrowed(text), Cow::Owned);
    macros::blank_macros(grammar.parser, &text).map_or(text, Cow::Owned)
}

fn build_structure(
    grammar: &GrammarRules,
    lines: &LineIndex<'_>,
    text: &str,
    tree: &Tree,
) -> TextStructure {
    let mut units: Vec<TextUnit> = Vec::new();
    let mut defined = DefinitionCollector::new(grammar, text, lines);
    let mut cursor = tree.walk();
    if !cursor.goto_first_child() {
        return TextStructure::default();
    }
    let mut open = vec![OpenNode { symbol: None, is_body: true }];
    loop {
        let node = cursor.node();
        let inside = open.last().cloned().unwrap_or(OpenNode { symbol: None, is_body: true });
        match read_node(grammar, lines, text, node, cursor.field_name(), &inside) {
            NodeReading::Unit(unit) => {
                defined.add_whole_node(node, inside.symbol.as_ref());
                push_unit(&mut units, unit);
            }
            NodeReading::Open(opened) if cursor.goto_first_child() => {
                defined.add_opened_node(node, inside.symbol.as_ref());
                open.push(opened);
                continue;
            }
            NodeReading::Open(opened) => {
                let (first, last) = line_span(node);
                let unit = TextUnit { first, last, part: UnitRole::Glue, symbol: opened.symbol };
                push_unit(&mut units, unit);
            }
        }
        while !cursor.goto_next_sibling() {
            open.pop();
            if open.is_empty() || !cursor.goto_parent() {
                return TextStructure { units, definitions: defined.into_definitions() };
            }
        }
    }
}

#[derive(Debug, Clone)]
struct OpenNode {
    /// Symbol of the definition that the node is or is inside.
    symbol: Option<Rc<str>>,
    /// True if the children are content, as in a block; false for the pieces of a signature.
    is_body: bool,
}

enum NodeReading {
    Unit(TextUnit),
    Open(OpenNode),
}

fn read_node(
    grammar: &GrammarRules,
    lines: &LineIndex<'_>,
    text: &str,
    node: Node<'_>,
    field: Option<&str>,
    inside: &OpenNode,
) -> NodeReading {
    let enclosing = inside.symbol.as_ref();
    let (first, last) = line_span(node);
    let rule = parser::find_rule(grammar, node);
    let max_size = if is_container(grammar, rule, node) { CONTAINER } else { WHOLE };
    let fits = lines.fits_within(&(first..last + 1), max_size);
    let unit = |part| NodeReading::Unit(TextUnit { first, last, part, symbol: enclosing.cloned() });
    let open = |is_body| NodeReading::Open(OpenNode { symbol: enclosing.cloned(), is_body });
    let Some(rule) = rule else {
        if first < last && (!fits || field == Some("body")) {
            // Named children are content, also pieces of a signature too large to stay whole.
            return open(node.is_named());
        }
        return match classify_token(node) {
            UnitRole::Glue if !inside.is_body => unit(UnitRole::Opening),
            part => unit(part),
        };
    };
    let named =
        || symbol::read_qualified_name(grammar, rule, node, text, enclosing.map(AsRef::as_ref));
    match rule.construct {
        ConstructKind::Lead => unit(UnitRole::Lead),
        ConstructKind::Transparent if first < last => open(true),
        ConstructKind::Scope if first < last => {
            NodeReading::Open(open_definition(rule, named(), enclosing))
        }
        ConstructKind::Label if !fits && first < last => open(false),
        ConstructKind::Transparent | ConstructKind::Scope | ConstructKind::Label => {
            unit(UnitRole::Glue)
        }
        ConstructKind::Value if last - first + 1 < NAMED_VALUE_LINES => unit(UnitRole::Glue),
        ConstructKind::Definition
        | ConstructKind::Container
        | ConstructKind::Value
        | ConstructKind::Wrapper => match named() {
            name if !fits && first < last => {
                NodeReading::Open(open_definition(rule, name, enclosing))
            }
            name @ Some(_) => {
                let part = UnitRole::Definition;
                NodeReading::Unit(TextUnit { first, last, part, symbol: name })
            }
            None => unit(UnitRole::Glue),
        },
    }
}

fn is_container(grammar: &GrammarRules, rule: Option<&NodeRule>, node: Node<'_>) -> bool {
    match rule.map(|rule| rule.construct) {
        Some(ConstructKind::Container) => true,
        Some(ConstructKind::Wrapper) => symbol::find_wrapped_definition(grammar, node)
            .is_some_and(|(inside, _)| inside.construct == ConstructKind::Container),
        _ => false,
    }
}

/// Returns the state for the children of a definition. Children of a wrapper keep the outer symbol,
/// because the definition inside adds its own name.
fn open_definition(
    rule: &NodeRule,
    name: Option<Rc<str>>,
    enclosing: Option<&Rc<str>>,
) -> OpenNode {
    let symbol = match rule.construct {
        ConstructKind::Wrapper => enclosing.cloned(),
        _ => name.or_else(|| enclosing.cloned()),
    };
    OpenNode { symbol, is_body: rule.name == NameSource::Heading }
}

fn classify_token(node: Node<'_>) -> UnitRole {
    if node.is_named() {
        return UnitRole::Glue;
    }
    match node.kind() {
        "{" | "(" | "[" | "do" | "then" | "begin" | "=>" | "=" | ":" | "#{" => UnitRole::Opening,
        "}" | ")" | "]" | "end" | "fi" | "done" | "esac" | ";" | "," | "#endif" | "};" => {
            UnitRole::Closing
        }
        _ => UnitRole::Glue,
    }
}

/// Adds a unit. A unit that starts on the last line of the one before is merged into it.
fn push_unit(units: &mut Vec<TextUnit>, unit: TextUnit) {
    let Some(before) = units.last_mut().filter(|before| unit.first <= before.last) else {
        units.push(unit);
        return;
    };
    let is_same_line = unit.last <= before.last;
    before.last = before.last.max(unit.last);
    before.part = match (before.part, unit.part) {
        (UnitRole::Definition, _) => UnitRole::Definition,
        (_, UnitRole::Definition) => {
            before.symbol = unit.symbol;
            UnitRole::Definition
        }
        (UnitRole::Closing, UnitRole::Closing) => UnitRole::Closing,
        (_, UnitRole::Opening) => UnitRole::Opening,
        (part, UnitRole::Closing | UnitRole::Lead) if is_same_line => part,
        (UnitRole::Opening, UnitRole::Glue) if is_same_line => UnitRole::Opening,
        _ => UnitRole::Glue,
    };
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use codeinfo_lang::{StructureReader, detect};

    use super::*;

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// Checks a file in each language and much of the code of this repository.
    #[test]
    fn text_blanked_before_parsing_changes_no_unit() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = [
            "tests/fixtures", "src", "../ingest/src", "../lang/src", "../search/src",
            "../server/src", "../toolkits/src", "../../src", "../../tests/e2e",
        ];
        let mut count = 0;
        for path in folders.iter().flat_map(|name| files(&folder.join(name))) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let file = path.display();
            let Some(StructureReader::Grammar(grammar)) =
                detect::detect_language(&file.to_string(), &text).map(|language| language.reader)
            else {
                continue;
            };
            let lines = LineIndex::new(&text);
            let readable = blank_unparsable_text(grammar, &text);
            let unblanked = build_structure(
                grammar,
                &lines,
                &readable,
                &parse_tree(grammar, &readable).unwrap(),
            );
            let stripped = parse_structure(grammar, &lines, &text).unwrap();
            let units = |structure: &TextStructure| format!("{:#?}", structure.units);
            assert_eq!(units(&stripped), units(&unblanked), "{file}");
            let without = strip_bodies::strip_function_bodies(grammar, &text);
            count += usize::from(without.is_some_and(|without| without.len() < text.len()));
        }
        assert!(count > 300, "{count}");
    }
}
