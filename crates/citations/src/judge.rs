//! Compares a citation with the file that it means. Pure.

use std::collections::HashSet;

use codeinfo_core::{ChunkRecord, LineRange};

use super::{
    content::Content,
    fault::Fault,
    names::{Name, Weight},
    parse::Citation,
    said::Said,
};

/// A file as it is now, beside what was indexed of it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) content: Content,
    /// The chunks that were indexed, where the file has changed since.
    pub(super) indexed: Option<Vec<ChunkRecord>>,
}

/// What became of one citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Wrong(Fault),
    /// It names the right lines in a wrong way, or the right name at wrong lines: these are right.
    Moved(Fault, Vec<LineRange>),
    Changed(Fault),
}

/// Judges a citation of a file that was read. `fits` says whether what is said of it stands in its lines, or
/// in those of one that it is named together with.
pub(super) fn verdict(known: &Known, lines: &[LineRange], names: &[Name], fits: bool) -> Verdict {
    let content = &known.content;
    if lines.is_empty() {
        return Verdict::Right;
    }
    match out_of_bounds(content, lines) {
        // The lines that may be meant have nothing of what is said.
        Some(Verdict::Moved(_, fixed))
            if !names.is_empty() && !has_name(content, &fixed, names) =>
        {
            let wrong = Verdict::Wrong(Fault::NoSuchLines { lines: content.lines() });
            misplaced(content, names).unwrap_or(wrong)
        }
        Some(Verdict::Wrong(fault)) => match misplaced(content, names) {
            Some(moved @ Verdict::Moved(..)) => moved,
            _ => Verdict::Wrong(fault),
        },
        Some(verdict) => verdict,
        None if fits => freshness(known, lines),
        None => misplaced(content, names).unwrap_or_else(|| freshness(known, lines)),
    }
}

/// Says what is wrong with lines that the file does not have as they are written.
fn out_of_bounds(content: &Content, lines: &[LineRange]) -> Option<Verdict> {
    let fault = |range: &LineRange| {
        let is_reversed = range.last < range.first;
        if is_reversed { Fault::Reversed } else { Fault::NoSuchLines { lines: content.lines() } }
    };
    let wrong = lines.iter().find(|range| !content.has(**range))?;
    let fixed: Vec<LineRange> = lines
        .iter()
        .map(|range| {
            let (first, last) = (range.first.min(range.last), range.first.max(range.last));
            LineRange { first, last: last.min(content.lines()) }
        })
        .collect();
    let is_right = fixed.iter().all(|range| content.has(*range));
    let fault = fault(wrong);
    Some(if is_right { Verdict::Moved(fault, fixed) } else { Verdict::Wrong(fault) })
}

/// Returns the groups of citations of which one has a name that is given for them, or that are given none.
/// `content` is that of the file which the citation at a place means.
pub(super) fn fitting<'a>(
    citations: &[Citation],
    said: &[Said],
    content: impl Fn(usize) -> Option<&'a Content>,
) -> HashSet<usize> {
    let mut fits = HashSet::new();
    for (at, (citation, said)) in citations.iter().zip(said).enumerate() {
        let has_name = |content: &Content| has_name(content, &citation.lines, &said.names);
        if said.names.is_empty() || content(at).is_some_and(has_name) {
            fits.insert(said.group);
        }
    }
    fits
}

/// Whether one of the names stands in the lines.
pub(super) fn has_name(content: &Content, lines: &[LineRange], names: &[Name]) -> bool {
    let mut names = names.iter();
    names.any(|name| lines.iter().any(|range| content.stands(&name.word, *range)))
}

/// Says where the names are that stand in no line of the citations they were given for; nothing if they
/// may be plain words.
fn misplaced(content: &Content, names: &[Name]) -> Option<Verdict> {
    let elsewhere = |name: &Name, at: Vec<LineRange>| {
        Verdict::Moved(Fault::Elsewhere { name: name.shown.clone(), at: at.clone() }, at)
    };
    let is_defined = |name: &&Name| !content.definitions_of(&name.word).is_empty();
    let mut accusing = names.iter().filter(|name| name.weight != Weight::Hint);
    if let Some(name) = accusing.find(is_defined) {
        return Some(elsewhere(name, content.definitions_of(&name.word).to_vec()));
    }
    let sure = || names.iter().filter(|name| name.weight == Weight::Name);
    let used = sure().map(|name| (name, content.lines_with(&name.word)));
    if let Some((name, at)) = used.into_iter().find(|(_, at)| !at.is_empty()) {
        return Some(elsewhere(name, at));
    }
    sure().next().map(|name| Verdict::Wrong(Fault::Absent { name: name.shown.clone() }))
}

/// Compares the lines of a file that has changed since it was indexed.
fn freshness(known: &Known, lines: &[LineRange]) -> Verdict {
    let Some(indexed) = &known.indexed else { return Verdict::Right };
    let content = &known.content;
    let is_same = |range: &LineRange| content.is_as_indexed(indexed, *range) == Some(true);
    if !lines.is_empty() && lines.iter().all(is_same) {
        return Verdict::Right;
    }
    let found: Option<Vec<LineRange>> =
        lines.iter().map(|range| content.found(indexed, *range)).collect();
    match found {
        Some(at) if !at.is_empty() => Verdict::Moved(Fault::Changed { at: at.clone() }, at),
        _ => Verdict::Changed(Fault::Changed { at: Vec::new() }),
    }
}
