//! Compares a citation with the file that it means. Pure.

use std::collections::HashSet;

use codeinfo_core::{ChunkRecord, LineRange};

use super::{
    content::CitedFileText,
    fault::CitationFault,
    names::{CitedName, CitedNameWeight},
    parse::Citation,
    said::AttributedText,
};

/// A file as it is now, beside what was indexed of it.
#[derive(Debug)]
pub(super) struct CitedFile {
    pub(super) content: CitedFileText,
    /// The chunks that were indexed, where the file has changed since.
    pub(super) indexed: Option<Vec<ChunkRecord>>,
}

/// What became of one citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DocumentVerdict {
    Right,
    Wrong(CitationFault),
    /// It names the right lines in a wrong way, or the right name at wrong lines: these are right.
    Moved(CitationFault, Vec<LineRange>),
    Changed(CitationFault),
}

/// Judges a citation of a file that was read. `fits` says whether what is said of it stands in its lines, or
/// in those of one that it is named together with.
pub(super) fn judge_lines(
    known: &CitedFile,
    lines: &[LineRange],
    names: &[CitedName],
    fits: bool,
) -> DocumentVerdict {
    let content = &known.content;
    if lines.is_empty() {
        return DocumentVerdict::Right;
    }
    match out_of_bounds(content, lines) {
        // The lines that may be meant have nothing of what is said.
        Some(DocumentVerdict::Moved(_, fixed))
            if !names.is_empty() && !has_name(content, &fixed, names) =>
        {
            let wrong =
                DocumentVerdict::Wrong(CitationFault::NoSuchLines { lines: content.line_count() });
            find_misplaced_name(content, names).unwrap_or(wrong)
        }
        Some(DocumentVerdict::Wrong(fault)) => match find_misplaced_name(content, names) {
            Some(moved @ DocumentVerdict::Moved(..)) => moved,
            _ => DocumentVerdict::Wrong(fault),
        },
        Some(verdict) => verdict,
        None if fits => compare_with_indexed(known, lines),
        None => find_misplaced_name(content, names)
            .unwrap_or_else(|| compare_with_indexed(known, lines)),
    }
}

/// Says what is wrong with lines that the file does not have as they are written.
fn out_of_bounds(content: &CitedFileText, lines: &[LineRange]) -> Option<DocumentVerdict> {
    let fault = |range: &LineRange| {
        let is_reversed = range.last < range.first;
        if is_reversed {
            CitationFault::Reversed
        } else {
            CitationFault::NoSuchLines { lines: content.line_count() }
        }
    };
    let wrong = lines.iter().find(|range| !content.has_lines(**range))?;
    let fixed: Vec<LineRange> = lines
        .iter()
        .map(|range| {
            let (first, last) = (range.first.min(range.last), range.first.max(range.last));
            LineRange { first, last: last.min(content.line_count()) }
        })
        .collect();
    let is_right = fixed.iter().all(|range| content.has_lines(*range));
    let fault = fault(wrong);
    Some(if is_right {
        DocumentVerdict::Moved(fault, fixed)
    } else {
        DocumentVerdict::Wrong(fault)
    })
}

/// Returns the groups of citations of which one has a name that is given for them, or that are given none.
/// `content` is that of the file which the citation at a place means.
pub(super) fn find_fitting_groups<'a>(
    citations: &[Citation],
    said: &[AttributedText],
    content: impl Fn(usize) -> Option<&'a CitedFileText>,
) -> HashSet<usize> {
    let mut fits = HashSet::new();
    for (at, (citation, said)) in citations.iter().zip(said).enumerate() {
        let has_name = |content: &CitedFileText| has_name(content, &citation.lines, &said.names);
        if said.names.is_empty() || content(at).is_some_and(has_name) {
            fits.insert(said.group);
        }
    }
    fits
}

/// Whether one of the names stands in the lines.
pub(super) fn has_name(content: &CitedFileText, lines: &[LineRange], names: &[CitedName]) -> bool {
    let mut names = names.iter();
    names.any(|name| lines.iter().any(|range| content.mentions_word(&name.word, *range)))
}

/// Says where the names are that stand in no line of the citations they were given for; nothing if they
/// may be plain words.
fn find_misplaced_name(content: &CitedFileText, names: &[CitedName]) -> Option<DocumentVerdict> {
    let elsewhere = |name: &CitedName, at: Vec<LineRange>| {
        DocumentVerdict::Moved(
            CitationFault::Elsewhere { name: name.shown.clone(), at: at.clone() },
            at,
        )
    };
    let is_defined = |name: &&CitedName| !content.definitions_of(&name.word).is_empty();
    let mut accusing = names.iter().filter(|name| name.weight != CitedNameWeight::Hint);
    if let Some(name) = accusing.find(is_defined) {
        return Some(elsewhere(name, content.definitions_of(&name.word).to_vec()));
    }
    let sure = || names.iter().filter(|name| name.weight == CitedNameWeight::Name);
    let used = sure().map(|name| (name, content.lines_with(&name.word)));
    if let Some((name, at)) = used.into_iter().find(|(_, at)| !at.is_empty()) {
        return Some(elsewhere(name, at));
    }
    sure()
        .next()
        .map(|name| DocumentVerdict::Wrong(CitationFault::Absent { name: name.shown.clone() }))
}

/// Compares the lines of a file that has changed since it was indexed.
fn compare_with_indexed(known: &CitedFile, lines: &[LineRange]) -> DocumentVerdict {
    let Some(indexed) = &known.indexed else { return DocumentVerdict::Right };
    let content = &known.content;
    let is_same = |range: &LineRange| content.is_as_indexed(indexed, *range) == Some(true);
    if !lines.is_empty() && lines.iter().all(is_same) {
        return DocumentVerdict::Right;
    }
    let found: Option<Vec<LineRange>> =
        lines.iter().map(|range| content.find_indexed_lines(indexed, *range)).collect();
    match found {
        Some(at) if !at.is_empty() => {
            DocumentVerdict::Moved(CitationFault::Changed { at: at.clone() }, at)
        }
        _ => DocumentVerdict::Changed(CitationFault::Changed { at: Vec::new() }),
    }
}
