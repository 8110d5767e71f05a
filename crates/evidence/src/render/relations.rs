//! Renders the relations of a definition as text for models.

use std::fmt::Write;

use codeinfo_core::{FileSummary, MAX_TOOL_TEXT_BYTES, count_things, plain_line, plain_name};

use super::places::{
    describe_place, describe_searched, mark_certainty, quote_name, summarize_lines,
};
use crate::{
    CallTrace, CallerChange, ChangeKind, IndexedFile, RelatedSymbol, RelationKind, SymbolNeighbour,
    SymbolPlace, SymbolRelations, TraceDirection, TraceRequest, TraceStep,
};

const MAX_PATH_CHARS: usize = 500;
const MAX_NAME_CHARS: usize = 200;
const MAX_LINE_BYTES: usize = 160;
/// Maximum definitions of the name that are listed.
const MAX_DEFINITIONS: usize = 10;
/// Bytes for the last lines.
const RESERVE: usize = 900;

/// Renders the definitions that were asked about, then the related ones: callers and importers by
/// place, others by a line each. Also summarizes the shown files.
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
    let [described, outdated] = relations.recorded.map(|files| count_things(files as u64, "file"));
    if relations.recorded != [0, 0] {
        let _ = write!(text, "(the SCIP index describes {described} of those that were read");
        let _ = match relations.recorded {
            [_, 0] => writeln!(text, ")"),
            _ => writeln!(text, "; {outdated} changed since it was written: read by rules)"),
        };
    }
    text.push_str(&describe_searched("code", &relations.searched, &relations.gone));
    (text, summarize_lines(shown.into_iter()))
}

fn render_head(relations: &SymbolRelations) -> String {
    let asked = quote_name(&relations.asked);
    let mut text = String::new();
    let (one, several) = label_relation(relations.kind);
    if relations.definitions.is_empty() {
        return describe_unknown(&asked);
    }
    let count = relations.related.len() + relations.more;
    let tests = relations.related.iter().filter(|symbol| symbol.place.is_test).count();
    let tests = if tests == 0 { String::new() } else { format!(" ({tests} in tests)") };
    let (found, rest) = match count {
        0 => (format!("no {several}"), " found"),
        1 => (format!("1 {one}{tests}"), ""),
        count => (format!("{count} {several}{tests}"), ""),
    };
    match relations.definitions.as_slice() {
        [only] => {
            let _ = writeln!(text, "{found} of {}{rest}", describe_place(only));
        }
        places => {
            let count = count_things(places.len() as u64, "definition");
            let _ = writeln!(text, "{found} of {asked}, which names {count}{rest}:");
            for place in places.iter().take(MAX_DEFINITIONS) {
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

/// Renders a trace: its starts, then a line for each step, indented by the number of steps before
/// it. Also summarizes the shown files.
pub fn render_trace(trace: &CallTrace, request: &TraceRequest) -> (String, Vec<FileSummary>) {
    let from = quote_name(&request.from);
    let mut text = String::new();
    let (verb, calls) = match request.direction {
        TraceDirection::Callers => ("callers of", "calls"),
        TraceDirection::Callees => ("calls from", "called"),
    };
    if trace.starts.is_empty() {
        return (describe_unknown(&from), Vec::new());
    }
    match &request.to {
        None => {
            let _ =
                writeln!(text, "{verb} {from}, to {}:", count_things(request.depth as u64, "step"));
        }
        Some(to) if trace.ends.is_empty() => {
            return (describe_unknown(&quote_name(to)), Vec::new());
        }
        Some(to) if trace.is_reached => {
            let steps = count_things(trace.steps.len() as u64, "step");
            let _ = writeln!(text, "{verb} {from} to {}, {steps}:", quote_name(to));
        }
        Some(to) => {
            let depth = request.depth;
            let _ = writeln!(
                text,
                "no path found from {from} to {} within {depth} steps",
                quote_name(to)
            );
        }
    }
    let starts: Vec<String> =
        trace.starts.iter().take(MAX_DEFINITIONS).map(describe_place).collect();
    let _ = writeln!(text, "{}", starts.join("\n"));
    let mut shown: Vec<(&IndexedFile, u32)> = Vec::new();
    // The steps of a tree come by depth; a reader needs each below the one before it.
    for (depth, place) in order_by_branch(&trace.steps) {
        let Some(step) = trace.steps.get(place) else { continue };
        let name = if step.place.name.is_empty() { "top level" } else { "" };
        let line = format!(
            "{}{}{name} ({calls} in line {}{})\n",
            "  ".repeat(depth),
            describe_place(&step.place),
            step.call_line,
            mark_certainty(step.certainty)
        );
        if text.len() + line.len() + RESERVE > MAX_TOOL_TEXT_BYTES {
            text.push_str("(more steps do not fit: take fewer)\n");
            break;
        }
        text.push_str(&line);
        shown.push((&step.place.file, step.place.line));
    }
    if trace.is_cut {
        text.push_str("(there are more calls than were followed)\n");
    }
    text.push_str("(calls by names that are made at run time are not seen)");
    (text, summarize_lines(shown.into_iter()))
}

/// Renders neighbours, a line each, in at most `max_bytes` bytes; blank without any.
pub fn render_neighbours(neighbours: &[SymbolNeighbour], max_bytes: usize) -> String {
    const HEAD: &str = "\n\none call away (> these pieces call it, < it calls them):";
    let mut text = HEAD.to_owned();
    for neighbour in neighbours {
        let arrow = if neighbour.is_caller { '<' } else { '>' };
        let mark = mark_certainty(neighbour.certainty);
        let line = format!("\n{arrow} {}{mark}", describe_relative_place(&neighbour.place));
        if text.len() + line.len() > max_bytes {
            break;
        }
        text.push_str(&line);
    }
    if text.len() == HEAD.len() { String::new() } else { text }
}

/// Renders callers that differ, a line each, in at most `max_bytes` bytes; blank without any.
pub fn render_caller_changes(
    changes: &[CallerChange],
    is_incomplete: bool,
    max_bytes: usize,
) -> String {
    const HEAD: &str = "\n\ncallers (- only before, + only now, ~ changed):";
    const LEFT_OUT: &str = "\n(some callers are left out, for want of time or room)";
    let mut text = HEAD.to_owned();
    let mut is_cut = is_incomplete;
    let mut former = None;
    for CallerChange { called, caller, change } in changes {
        let sign = match change {
            ChangeKind::Deleted => '-',
            ChangeKind::Added => '+',
            ChangeKind::Changed => '~',
        };
        let head = match former.replace(called) {
            Some(former) if former == called => String::new(),
            _ => format!("\nof {}", describe_relative_place(called)),
        };
        let mark = mark_certainty(caller.certainty);
        let line = format!("{head}\n{sign} {}{mark}", describe_relative_place(&caller.place));
        if text.len() + line.len() + LEFT_OUT.len() > max_bytes {
            is_cut = true;
            break;
        }
        text.push_str(&line);
    }
    if is_cut {
        text.push_str(LEFT_OUT);
    }
    if (HEAD.len() + 1..=max_bytes).contains(&text.len()) { text } else { String::new() }
}

/// Writes where a definition is below its root: `path:12 Store.open`.
fn describe_relative_place(place: &SymbolPlace) -> String {
    let SymbolPlace { file, line, name, .. } = place;
    let path = plain_name(&file.rel_path, MAX_PATH_CHARS);
    let name = if name.is_empty() { "top level" } else { name };
    format!("{path}:{line} {}", plain_name(name, MAX_NAME_CHARS))
}

/// Returns the steps, each after the one before it, with their depths.
fn order_by_branch(steps: &[TraceStep]) -> Vec<(usize, usize)> {
    let mut ordered = Vec::new();
    let children = |of: Option<usize>| {
        let numbered = steps.iter().enumerate();
        let found = numbered.filter(move |(_, step)| step.before == of).map(|(place, _)| place);
        found.collect::<Vec<usize>>()
    };
    let mut open: Vec<usize> = children(None).into_iter().rev().collect();
    while let Some(place) = open.pop() {
        let depth = steps.get(place).map_or(1, |step| step.depth);
        ordered.push((depth, place));
        open.extend(children(Some(place)).into_iter().rev());
    }
    ordered
}

fn describe_unknown(asked: &str) -> String {
    format!(
        "the symbol graph knows no definition of {asked}; it reads {}. Find it as a word: FindUses without `kind`, or \
         `codeinfo uses`\n",
        codeinfo_facts::LANGUAGES,
    )
}
