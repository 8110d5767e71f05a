//! Judges a citation of a document by the file that it refers to. Does no I/O.

use std::collections::HashSet;

use codeinfo_core::{ChunkRecord, LineRange};

use super::{
    attribution::AttributedText,
    content::CitedFileText,
    fault::CitationFault,
    names::{CitedName, CitedNameWeight},
    parse::Citation,
};

/// The current text of a file beside its indexed chunks.
#[derive(Debug)]
pub(super) struct CitedFile {
    pub(super) content: CitedFileText,
    /// Indexed chunks, if the file has changed since.
    pub(super) indexed: Option<Vec<ChunkRecord>>,
}

impl CitedFile {
    /// Compares lines with their indexed chunks; `None` if they are unchanged. Returns their current places if each
    /// is unique, else no lines.
    pub(super) fn find_moved_lines(&self, lines: &[LineRange]) -> Option<Vec<LineRange>> {
        let (indexed, content) = (self.indexed.as_ref()?, &self.content);
        let is_same = |range: &LineRange| content.is_as_indexed(indexed, *range) == Some(true);
        if !lines.is_empty() && lines.iter().all(is_same) {
            return None;
        }
        let found: Option<Vec<LineRange>> =
            lines.iter().map(|range| content.find_indexed_lines(indexed, *range)).collect();
        Some(found.unwrap_or_default())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DocumentVerdict {
    Right,
    Wrong(CitationFault),
    /// The lines are written in a wrong form, or the name is at other lines: these lines are right.
    Moved(CitationFault, Vec<LineRange>),
    Changed(CitationFault),
}

/// Judges a citation of a file that was read. `fits` tells that the lines of the citation, or of
/// another one in its group, have a name that the sentence gives.
pub(super) fn judge_lines(
    file: &CitedFile,
    lines: &[LineRange],
    names: &[CitedName],
    fits: bool,
) -> DocumentVerdict {
    let content = &file.content;
    if lines.is_empty() {
        return DocumentVerdict::Right;
    }
    match out_of_bounds(content, lines) {
        // The corrected lines have none of the names.
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
        None if fits => compare_with_indexed(file, lines),
        None => {
            find_misplaced_name(content, names).unwrap_or_else(|| compare_with_indexed(file, lines))
        }
    }
}

/// Returns the fault of lines that the file does not have as written.
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

/// Returns the groups in which a citation has no names, or lines with one of them; `content`
/// returns the file that the citation at an index refers to.
pub(super) fn find_fitting_groups<'a>(
    citations: &[Citation],
    attributed: &[AttributedText],
    content: impl Fn(usize) -> Option<&'a CitedFileText>,
) -> HashSet<usize> {
    let mut fits = HashSet::new();
    for (at, (citation, own)) in citations.iter().zip(attributed).enumerate() {
        let has_name = |content: &CitedFileText| has_name(content, &citation.lines, &own.names);
        if own.names.is_empty() || content(at).is_some_and(has_name) {
            fits.insert(own.group);
        }
    }
    fits
}

fn has_name(content: &CitedFileText, lines: &[LineRange], names: &[CitedName]) -> bool {
    names.iter().any(|name| lines.iter().any(|range| content.mentions_word(&name.word, *range)))
}

/// Finds the names that no cited line has; `None` if they may be ordinary words.
fn find_misplaced_name(content: &CitedFileText, names: &[CitedName]) -> Option<DocumentVerdict> {
    let elsewhere = |name: &CitedName, at: Vec<LineRange>| {
        DocumentVerdict::Moved(
            CitationFault::AtOtherLines { name: name.display.clone(), at: at.clone() },
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
        .map(|name| DocumentVerdict::Wrong(CitationFault::Absent { name: name.display.clone() }))
}

/// Compares lines with their indexed chunks, if the file has changed since it was indexed.
fn compare_with_indexed(file: &CitedFile, lines: &[LineRange]) -> DocumentVerdict {
    match file.find_moved_lines(lines) {
        None => DocumentVerdict::Right,
        Some(at) if at.is_empty() => DocumentVerdict::Changed(CitationFault::Changed { at }),
        Some(at) => DocumentVerdict::Moved(CitationFault::Changed { at: at.clone() }, at),
    }
}
