//! Turns a parsed file into units: ordered runs of lines, each with its part and symbol.
//!
//! Only nodes too large for one chunk are opened, so the walk is short; it keeps its own stack, so
//! deep nesting costs memory in proportion and never the call stack.

use std::{borrow::Cow, rc::Rc};

use codeinfo_lang::grammar::{Construct, Grammar, Name, Rule};
use tree_sitter::{Node, Tree};

use super::{
    branches,
    defined::Defined,
    lines::Lines,
    macros,
    parser::{self, parse, span},
    size::{CONTAINER, NAMED_VALUE_LINES, WHOLE},
    strip_bodies, symbol,
    unit::{Part, Structure, Unit},
};

/// Larger texts are cut by lines. The parser counts bytes in 32 bits and needs many times the
/// text's size in memory.
const MAX_PARSED_BYTES: usize = 8 * 1024 * 1024;

/// Returns the structure of `text`; `None` when parsing takes too long or the text is too large to parse.
pub(super) fn outline(grammar: &Grammar, lines: &Lines<'_>, text: &str) -> Option<Structure> {
    if text.len() > MAX_PARSED_BYTES {
        return None;
    }
    // Lines are as in the text, bytes are not.
    let text = leave_out_unreadable(grammar, text);
    let stripped = strip_bodies::stripped(grammar, &text);
    let parsed = stripped.as_deref().unwrap_or(&text);
    Some(structure(grammar, lines, parsed, &parse(grammar, parsed)?))
}

/// Returns the text with blanks for what a parser loses its way by: lines and bytes stay where they are.
pub(super) fn leave_out_unreadable<'a>(grammar: &Grammar, text: &'a str) -> Cow<'a, str> {
    let text = branches::leave_out(grammar, text).map_or(Cow::Borrowed(text), Cow::Owned);
    macros::leave_out(grammar.parser, &text).map_or(text, Cow::Owned)
}

fn structure(grammar: &Grammar, lines: &Lines<'_>, text: &str, tree: &Tree) -> Structure {
    let mut units: Vec<Unit> = Vec::new();
    let mut defined = Defined::new(grammar, text, lines);
    let mut cursor = tree.walk();
    if !cursor.goto_first_child() {
        return Structure::default();
    }
    let mut open = vec![Open { symbol: None, is_body: true }];
    loop {
        let node = cursor.node();
        let inside = open.last().cloned().unwrap_or(Open { symbol: None, is_body: true });
        match read(grammar, lines, text, (node, cursor.field_name()), &inside) {
            Reading::Unit(unit) => {
                defined.whole(node, inside.symbol.as_ref());
                push(&mut units, unit);
            }
            Reading::Open(opened) if cursor.goto_first_child() => {
                defined.opened(node, inside.symbol.as_ref());
                open.push(opened);
                continue;
            }
            Reading::Open(opened) => {
                push(&mut units, unit(node, Part::Glue, opened.symbol));
            }
        }
        while !cursor.goto_next_sibling() {
            open.pop();
            if open.is_empty() || !cursor.goto_parent() {
                return Structure { units, definitions: defined.definitions() };
            }
        }
    }
}

/// An opened node: the walk is among its children.
#[derive(Debug, Clone)]
struct Open {
    /// The definition it is or is inside.
    symbol: Option<Rc<str>>,
    /// Whether its children are content, as in a block, and not the pieces of a signature.
    is_body: bool,
}

enum Reading {
    Unit(Unit),
    Open(Open),
}

fn read(
    grammar: &Grammar,
    lines: &Lines<'_>,
    text: &str,
    (node, field): (Node<'_>, Option<&str>),
    inside: &Open,
) -> Reading {
    let enclosing = inside.symbol.as_ref();
    let (first, last) = span(node);
    let rule = parser::rule(grammar, node);
    let most = if is_container(grammar, rule, node) { CONTAINER } else { WHOLE };
    let fits = lines.fits(&(first..last + 1), most);
    let Some(rule) = rule else {
        if first < last && (!fits || field == Some("body")) {
            return Reading::Open(Open { symbol: enclosing.cloned(), is_body: is_body(node) });
        }
        let part = match token(node) {
            Part::Glue if !inside.is_body => Part::Opening,
            part => part,
        };
        return Reading::Unit(unit(node, part, enclosing.cloned()));
    };
    let named = || symbol::qualified(grammar, rule, node, text, enclosing.map(AsRef::as_ref));
    match rule.construct {
        Construct::Lead => Reading::Unit(unit(node, Part::Lead, enclosing.cloned())),
        Construct::Transparent if first < last => {
            Reading::Open(Open { symbol: enclosing.cloned(), is_body: true })
        }
        Construct::Scope if first < last => Reading::Open(opened(rule, named(), enclosing)),
        Construct::Transparent | Construct::Scope => {
            Reading::Unit(unit(node, Part::Glue, enclosing.cloned()))
        }
        Construct::Label if !fits && first < last => {
            Reading::Open(Open { symbol: enclosing.cloned(), is_body: false })
        }
        Construct::Label => Reading::Unit(unit(node, Part::Glue, enclosing.cloned())),
        Construct::Value if last - first + 1 < NAMED_VALUE_LINES => {
            Reading::Unit(unit(node, Part::Glue, enclosing.cloned()))
        }
        Construct::Definition | Construct::Container | Construct::Value | Construct::Wrapper => {
            match named() {
                name if !fits && first < last => Reading::Open(opened(rule, name, enclosing)),
                Some(name) => Reading::Unit(unit(node, Part::Definition, Some(name))),
                None => Reading::Unit(unit(node, Part::Glue, enclosing.cloned())),
            }
        }
    }
}

fn is_container(grammar: &Grammar, rule: Option<&Rule>, node: Node<'_>) -> bool {
    match rule.map(|rule| rule.construct) {
        Some(Construct::Container) => true,
        Some(Construct::Wrapper) => symbol::inside(grammar, node)
            .is_some_and(|(inside, _)| inside.construct == Construct::Container),
        _ => false,
    }
}

/// What is known among the children of a definition. Those of a wrapper keep the outer symbol,
/// because the definition inside adds its own name.
fn opened(rule: &Rule, name: Option<Rc<str>>, enclosing: Option<&Rc<str>>) -> Open {
    let symbol = match rule.construct {
        Construct::Wrapper => enclosing.cloned(),
        _ => name.or_else(|| enclosing.cloned()),
    };
    Open { symbol, is_body: rule.name == Name::Heading }
}

/// Whether the children of a node that has no rule are content. Pieces of a signature that are too
/// large to stay whole are content too.
fn is_body(node: Node<'_>) -> bool {
    node.is_named()
}

/// Tells brackets from content.
fn token(node: Node<'_>) -> Part {
    if node.is_named() {
        return Part::Glue;
    }
    match node.kind() {
        "{" | "(" | "[" | "do" | "then" | "begin" | "=>" | "=" | ":" | "#{" => Part::Opening,
        "}" | ")" | "]" | "end" | "fi" | "done" | "esac" | ";" | "," | "#endif" | "};" => {
            Part::Closing
        }
        _ => Part::Glue,
    }
}

fn unit(node: Node<'_>, part: Part, symbol: Option<Rc<str>>) -> Unit {
    let (first, last) = span(node);
    Unit { first, last, part, symbol }
}

/// Adds a unit; what starts on the last line of the one before becomes part of that one.
fn push(units: &mut Vec<Unit>, unit: Unit) {
    let Some(before) = units.last_mut().filter(|before| unit.first <= before.last) else {
        units.push(unit);
        return;
    };
    let is_same_line = unit.last <= before.last;
    before.last = before.last.max(unit.last);
    before.part = match (before.part, unit.part) {
        (Part::Definition, _) => Part::Definition,
        (_, Part::Definition) => {
            before.symbol = unit.symbol;
            Part::Definition
        }
        (Part::Closing, Part::Closing) => Part::Closing,
        (_, Part::Opening) => Part::Opening,
        (part, Part::Closing | Part::Lead) if is_same_line => part,
        (Part::Opening, Part::Glue) if is_same_line => Part::Opening,
        _ => Part::Glue,
    };
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use codeinfo_lang::{Reader, detect};

    use super::*;

    /// Returns the files below a folder.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// Of a file in each language, and of all code of this repository.
    #[test]
    fn what_is_left_out_before_parsing_changes_no_unit() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = ["tests/fixtures", "src", "../lang/src", "../../src", "../../tests/it"];
        let mut count = 0;
        for path in folders.iter().flat_map(|name| files(&folder.join(name))) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let file = path.display();
            let Some(Reader::Grammar(grammar)) =
                detect::language(&file.to_string(), &text).map(|language| language.reader)
            else {
                continue;
            };
            let lines = Lines::of(&text);
            let readable = leave_out_unreadable(grammar, &text);
            let whole = structure(grammar, &lines, &readable, &parse(grammar, &readable).unwrap());
            let stripped = outline(grammar, &lines, &text).unwrap();
            let units = |of: &Structure| format!("{:#?}", of.units);
            assert_eq!(units(&stripped), units(&whole), "{file}");
            let without = strip_bodies::stripped(grammar, &text);
            count += usize::from(without.is_some_and(|without| without.len() < text.len()));
        }
        assert!(count > 300, "{count}");
    }
}
