//! Renders the relations of a definition as text for models.

use std::fmt::Write;

use codeinfo_core::{FileSummary, MAX_TOOL_TEXT_BYTES, count_things, plain_line, plain_name};

use super::uses::{describe_searched, quote_name, summarize_lines};
use crate::evidence::{Certainty, RelatedSymbol, RelationKind, SymbolPlace, SymbolRelations};

const MAX_PATH_CHARS: usize = 500;
const MAX_NAME_CHARS: usize = 200;
/// Maximum bytes of a shown line.
const MAX_LINE_BYTES: usize = 160;
/// Maximum definitions of the name that are listed.
const MAX_DEFINITIONS: usize = 10;
/// Bytes for the last lines.
const RESERVE: usize = 900;

/// Renders the definitions that were asked about, then what has a relation to them: the places of
/// callers and importers, one line for each other definition. Also returns a summary of the files
/// whose lines are shown.
pub fn render_relations(relations: &SymbolRelations) -> (String, Vec<FileSummary>) {
    let mut text = render_head(relations);
    let mut shown = Vec::new();
    let mut path = "";
    let mut is_test = false;
    for (place, symbol) in relations.related.iter().enumerate() {
        let mut entry = String::new();
        if symbol.place.is_test && !is_test {
            entry.push_str("tests:\n");
        }
        let has_lines = matches!(relations.kind, RelationKind::Callers | RelationKind::Importers);
        if has_lines {
            if symbol.lines_in.path != path || (symbol.place.is_test && !is_test) {
                let _ = writeln!(entry, "{}", plain_name(&symbol.lines_in.path, MAX_PATH_CHARS));
            }
            entry.push_str(&render_lines_of(symbol));
        } else {
            entry.push_str(&render_symbol(symbol, relations.kind));
        }
        if text.len() + entry.len() + RESERVE > MAX_TOOL_TEXT_BYTES {
            let rest = relations.related.len() - place;
            let _ = writeln!(text, "({rest} more do not fit: name a repository or a deeper name)");
            break;
        }
        text.push_str(&entry);
        is_test = symbol.place.is_test;
        path = &symbol.lines_in.path;
        if has_lines {
            shown.extend(symbol.lines.iter().map(|line| (&symbol.lines_in, line.number)));
        } else {
            shown.push((&symbol.place.file, symbol.place.line));
        }
    }
    if relations.more > 0 {
        let _ = writeln!(text, "({} more are not listed)", relations.more);
    }
    if relations.is_incomplete {
        text.push_str("(some files were not read for want of time: name a repository)\n");
    }
    text.push_str(&describe_searched("code", &relations.searched, &relations.gone));
    (text, summarize_lines(shown.into_iter()))
}

fn render_head(relations: &SymbolRelations) -> String {
    let asked = quote_name(&relations.asked);
    let mut text = String::new();
    let (one, several) = label_relation(relations.kind);
    if relations.definitions.is_empty() {
        let _ = writeln!(
            text,
            "no definition of {asked} is known to the symbol graph, which reads {}: leave out `kind` to find the name \
             as a word",
            codeinfo_graph::LANGUAGES,
        );
        return text;
    }
    let found = match relations.related.len() + relations.more {
        0 => format!("no {several} found"),
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    };
    let tests = relations.related.iter().filter(|symbol| symbol.place.is_test).count();
    let tests = if tests == 0 { String::new() } else { format!(" ({tests} in tests)") };
    match relations.definitions.as_slice() {
        [only] => {
            let _ = writeln!(text, "{found}{tests} of {}", describe_place(only));
        }
        several => {
            let count = count_things(several.len() as u64, "definition");
            let _ = writeln!(text, "{found}{tests} of {asked}, which names {count}:");
            for place in several.iter().take(MAX_DEFINITIONS) {
                let _ = writeln!(text, "{}", describe_place(place));
            }
            text.push_str("(ask for one by `Type.name` or `path:line`)\n");
        }
    }
    text
}

fn label_relation(kind: RelationKind) -> (&'static str, &'static str) {
    match kind {
        RelationKind::Callers => ("caller", "callers"),
        RelationKind::Callees => ("callee", "callees"),
        RelationKind::Implementations => ("implementation", "implementations"),
        RelationKind::Overrides => ("override", "overrides"),
        RelationKind::Importers => ("importer", "importers"),
    }
}

/// Writes where a definition is: `path:12-40 Store.open`.
pub(crate) fn describe_place(place: &SymbolPlace) -> String {
    let path = plain_name(&place.file.path, MAX_PATH_CHARS);
    let (first, last) = place.lines;
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    format!("{path}:{lines} {}", plain_name(&place.name, MAX_NAME_CHARS))
}

/// Writes what is added to a relation that is not certain.
pub(crate) fn mark_certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Certain => "",
        Certainty::Likely => ", likely",
        Certainty::Possible => ", possible",
    }
}

fn render_symbol(symbol: &RelatedSymbol, kind: RelationKind) -> String {
    let mut text = describe_place(&symbol.place) + mark_certainty(symbol.certainty);
    if kind == RelationKind::Callees {
        let lines: Vec<String> = symbol.lines.iter().map(|line| line.number.to_string()).collect();
        let _ = write!(text, " (called in {})", lines.join(", "));
    }
    text + "\n"
}

/// Renders the name of a definition and its lines with references.
fn render_lines_of(symbol: &RelatedSymbol) -> String {
    let SymbolPlace { name, lines: (first, last), .. } = &symbol.place;
    let mark = mark_certainty(symbol.certainty);
    let mut text = if name.is_empty() {
        format!("top level{mark}:\n")
    } else {
        format!("{} ({first}-{last}){mark}:\n", plain_name(name, MAX_NAME_CHARS))
    };
    for line in &symbol.lines {
        let (shown, cut) = line.text.split_at(line.text.floor_char_boundary(MAX_LINE_BYTES));
        let more = if cut.is_empty() { "" } else { " ⋯" };
        let is_weaker = line.certainty > symbol.certainty;
        let mark = if is_weaker { mark_certainty(line.certainty) } else { "" };
        let _ = writeln!(text, "{}|{}{more}{mark}", line.number, plain_line(shown));
    }
    text
}
