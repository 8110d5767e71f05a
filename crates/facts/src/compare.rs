//! Compares two texts of a file, definition by definition.
//!
//! A definition has changed if its own lines differ: those that no definition inside it has. Lines
//! that moved and blank lines change nothing.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};

use serde::Serialize;

use crate::{DefinitionFact, DefinitionIndex, DefinitionKind, ScopeKind, SourceFacts};

/// Maximum times that a line is assigned to a definition, on average. Facts have 300 levels.
const MAX_LEVELS: usize = 300;

/// Maximum bytes of variables' lines, as a multiple of the text: many variables may share a line.
const MAX_SHARED: usize = 8;

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only the new text has the definition.
    Added,
    /// The definition has other lines.
    Changed,
    /// Only the former text has the definition.
    Deleted,
}

/// A definition that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionChange {
    /// Names of the definitions around it, outermost first, and its own; empty for the top level.
    pub names: Vec<String>,
    /// Line of the name; of a deleted definition that in the former text.
    pub line: u32,
    /// First and last line.
    pub lines: (u32, u32),
    /// Kind of the difference.
    pub change: ChangeKind,
    is_function: bool,
}

/// Definitions of a text by their names, each with its own lines; none for a file that is gone.
#[derive(Debug, Default)]
pub struct DefinitionTexts(BTreeMap<Vec<String>, DefinitionText>);

#[derive(Debug, Default, PartialEq, Eq)]
struct DefinitionText {
    line: u32,
    lines: (u32, u32),
    is_function: bool,
    own_lines: String,
}

impl DefinitionTexts {
    /// Divides the lines of a text among its definitions. Definitions with the same names count as
    /// one, and the variables of functions as part of these.
    pub fn from_facts(facts: &SourceFacts, text: &str) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let mut owners: Vec<Option<(DefinitionIndex, &DefinitionFact)>> = vec![None; lines.len()];
        let mut names_of: HashMap<DefinitionIndex, Vec<String>> = HashMap::new();
        let lines_of_file = (1, u32::try_from(lines.len()).unwrap_or(u32::MAX));
        let top_level =
            DefinitionText { line: 1, lines: lines_of_file, ..DefinitionText::default() };
        let mut texts = BTreeMap::from([(Vec::new(), top_level)]);
        let mut bytes_left = text.len().saturating_mul(MAX_SHARED);
        let mut lines_left = lines.len().saturating_mul(MAX_LEVELS);
        for (index, fact) in order_definitions(facts) {
            let end = (fact.lines.1 as usize).min(lines.len());
            let place = (fact.lines.0 as usize).saturating_sub(1).min(end)..end;
            let around = owners.get(place.start).copied().flatten();
            if is_local(facts, fact, around) || place.len() > lines_left {
                continue;
            }
            lines_left -= place.len();
            let names: Vec<String> =
                facts.qualified_name(index).into_iter().map(str::to_owned).collect();
            let known = texts.entry(names.clone()).or_insert_with(|| DefinitionText {
                line: fact.name_at.0,
                lines: fact.lines,
                is_function: fact.kind == DefinitionKind::Function,
                own_lines: String::new(),
            });
            if has_body(fact) {
                names_of.insert(index, names);
            } else {
                // Several variables of one statement share its lines.
                let shared = lines.get(place.clone()).unwrap_or_default();
                let bytes: usize = shared.iter().map(|line| line.len() + 1).sum();
                if bytes <= bytes_left {
                    bytes_left -= bytes;
                    known.own_lines.push_str(&shared.join("\n"));
                }
            }
            if let Some(owned) = owners.get_mut(place) {
                owned.fill(Some((index, fact)));
            }
        }
        let inner = lines.iter().zip(owners).filter(|(line, owner)| {
            !line.is_empty() && owner.is_none_or(|(_, fact)| has_body(fact))
        });
        for (line, owner) in inner {
            let names = owner.and_then(|(index, _)| names_of.get(&index));
            let known = texts.entry(names.cloned().unwrap_or_default()).or_default();
            known.own_lines.push_str(line);
            known.own_lines.push('\n');
        }
        Self(texts)
    }
}

/// Compares the definitions of two texts of a file: those of the new text in the order of their
/// lines, then deleted ones. Inner definitions of an added or deleted function are left out, and
/// the top level of an added or deleted file unless it has nothing else.
pub fn compare_definitions(
    before: &DefinitionTexts,
    now: &DefinitionTexts,
) -> Vec<DefinitionChange> {
    let describe = |names: &[String], text: &DefinitionText, change| DefinitionChange {
        names: names.to_vec(),
        line: text.line,
        lines: text.lines,
        change,
        is_function: text.is_function,
    };
    let mut found = Vec::new();
    for (names, text) in &now.0 {
        match before.0.get(names) {
            None => found.push(describe(names, text, ChangeKind::Added)),
            Some(former) if former.own_lines != text.own_lines => {
                found.push(describe(names, text, ChangeKind::Changed));
            }
            Some(_) => {}
        }
    }
    let deleted = before.0.iter().filter(|(names, _)| !now.0.contains_key(*names));
    found.extend(deleted.map(|(names, text)| describe(names, text, ChangeKind::Deleted)));
    let functions: HashSet<(&[String], ChangeKind)> = found
        .iter()
        .filter(|found| found.is_function && found.change != ChangeKind::Changed)
        .map(|found| (found.names.as_slice(), found.change))
        .collect();
    let has_names = found.iter().any(|found| !found.names.is_empty());
    let is_shown = |found: &&DefinitionChange| match found.names.split_last() {
        Some((_, outer)) => !functions.contains(&(outer, found.change)),
        None => found.change == ChangeKind::Changed || !has_names,
    };
    let mut shown: Vec<DefinitionChange> = found.iter().filter(is_shown).cloned().collect();
    shown.sort_by_key(|found| (found.change == ChangeKind::Deleted, found.line));
    shown
}

/// Returns true for a variable of a function, also of one without a name, and for a member of it.
fn is_local(
    facts: &SourceFacts,
    fact: &DefinitionFact,
    around: Option<(DefinitionIndex, &DefinitionFact)>,
) -> bool {
    if matches!(fact.kind, DefinitionKind::Function | DefinitionKind::Type) {
        return false;
    }
    let mut current = Some(fact.scope);
    while let Some(scope) = current.and_then(|index| facts.scopes.get(index as usize)) {
        if matches!(scope.kind, ScopeKind::Function | ScopeKind::Block) {
            return true;
        }
        // A scope follows the one around it, so that this ends.
        current = scope.parent.filter(|parent| Some(*parent) < current);
    }
    around.is_some_and(|(_, around)| around.kind == DefinitionKind::Function)
}

fn has_body(fact: &DefinitionFact) -> bool {
    fact.body.is_some() || matches!(fact.kind, DefinitionKind::Function | DefinitionKind::Type)
}

/// Returns the definitions with a body, outer ones before inner ones, then the others.
fn order_definitions(facts: &SourceFacts) -> Vec<(DefinitionIndex, &DefinitionFact)> {
    let mut ordered: Vec<(DefinitionIndex, &DefinitionFact)> =
        (0..).zip(&facts.definitions).collect();
    ordered.sort_by_key(|(_, fact)| (!has_body(fact), fact.lines.0, Reverse(fact.lines.1)));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(before: &str, now: &str) -> Vec<String> {
        let python = codeinfo_lang::detect::find_language("python").unwrap();
        let read = |text: &str| {
            DefinitionTexts::from_facts(&crate::extract_facts(python, text).unwrap(), text)
        };
        let found = compare_definitions(&read(before), &read(now));
        let describe = |found: &DefinitionChange| {
            format!("{:?} {} {}", found.change, found.line, found.names.join("."))
        };
        found.iter().map(describe).collect()
    }

    #[test]
    fn own_lines_decide_what_changed() {
        let class = "class A:\n    x = 1\n    def b(self):\n        y = 2\n        return y\n";
        assert_eq!(compare(class, &format!("\n\n{class}  \n")), [""; 0]);
        assert_eq!(compare(class, &class.replace("y = 2", "y = 3")), ["Changed 3 A.b"]);
        assert_eq!(compare(class, &class.replace("x = 1", "x = 3")), ["Changed 2 A.x"]);
        assert_eq!(compare(class, &class.replace("A:", "A(B):")), ["Changed 1 A"]);
        assert_eq!(compare(class, &format!("{class}print()\n")), ["Changed 1 "]);
        assert_eq!(compare("a, b = 1, 2\n", "a, b = 1, 3\n"), ["Changed 1 a", "Changed 1 b"]);
        let nested = "def a():\n    def b():\n        pass\n    return b\n";
        assert_eq!(
            compare(nested, class),
            ["Added 1 A", "Added 2 A.x", "Added 3 A.b", "Deleted 1 a"]
        );
    }

    #[test]
    fn many_variables_of_a_long_line_are_bounded() {
        let names: Vec<String> = (0..50_000).map(|number| format!("v{number}")).collect();
        let text = format!("{} = 1\n", names.join(" = "));
        assert!(compare(&text, &text.replace("= 1\n", "= 2\n")).len() < 50);
    }
}
