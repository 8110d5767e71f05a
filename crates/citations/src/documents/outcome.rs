//! Judges cited lines of a document by its lock entries, or by the names that it gives. Does no I/O.

use codeinfo_core::LineRange;

use crate::{
    DocumentCitationState,
    attribution::AttributedText,
    content::CitedFileText,
    fault::{CitationFault, join_lines},
    judge::{self, CitedFile, DocumentVerdict},
    lock::CitationLock,
    parse::Citation,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CitationOutcome {
    pub(super) state: DocumentCitationState,
    pub(super) message: Option<String>,
    /// Current lines, if they are known.
    pub(super) moved_to: Vec<LineRange>,
    /// Set if the document can be rewritten to name the current lines.
    pub(super) is_fixable: bool,
}

impl CitationOutcome {
    /// Creates an outcome without current lines.
    pub(super) fn new(state: DocumentCitationState, message: Option<String>) -> Self {
        Self { state, message, moved_to: Vec::new(), is_fixable: false }
    }
}

enum RangeComparison {
    Same,
    Moved(LineRange),
    Changed(&'static str),
    /// The range has no lock entry, and the file has no such lines.
    Beyond,
}

/// Judges a citation by its lock entries; `None` if it has none.
pub(super) fn compare_with_lock_entries(
    lock: &CitationLock,
    document: &str,
    path: &str,
    lines: &[LineRange],
    content: &CitedFileText,
) -> Option<CitationOutcome> {
    let entries: Vec<Option<&str>> =
        lines.iter().map(|range| lock.get(document, path, *range)).collect();
    if entries.iter().all(Option::is_none) {
        return None;
    }
    let comparisons: Vec<RangeComparison> = lines
        .iter()
        .zip(entries)
        .map(|(range, entry)| compare_with_lock(content, *range, entry))
        .collect();
    if comparisons.iter().any(|range| matches!(range, RangeComparison::Beyond)) {
        let fault = CitationFault::NoSuchLines { lines: content.line_count() };
        return Some(CitationOutcome::new(DocumentCitationState::Missing, Some(fault.to_string())));
    }
    let changed = comparisons.iter().find_map(|comparison| match comparison {
        RangeComparison::Changed(why) => Some(*why),
        RangeComparison::Same | RangeComparison::Moved(_) | RangeComparison::Beyond => None,
    });
    if let Some(why) = changed {
        return Some(CitationOutcome::new(DocumentCitationState::Changed, Some(why.to_owned())));
    }
    let by_range = lines.iter().zip(&comparisons).map(|(range, comparison)| match comparison {
        RangeComparison::Moved(to) => *to,
        RangeComparison::Same | RangeComparison::Changed(_) | RangeComparison::Beyond => *range,
    });
    let current_lines: Vec<LineRange> = by_range.collect();
    if current_lines == lines {
        return Some(CitationOutcome::new(DocumentCitationState::Verified, None));
    }
    let message = format!("moved to {}", join_lines(&current_lines));
    Some(CitationOutcome {
        moved_to: current_lines,
        is_fixable: true,
        ..CitationOutcome::new(DocumentCitationState::Moved, Some(message))
    })
}

pub(super) fn judge_by_names(
    file: &CitedFile,
    citation: &Citation,
    attributed: &AttributedText,
    fits: bool,
) -> CitationOutcome {
    let (state, fault, moved_to) =
        match judge::judge_lines(file, &citation.lines, &attributed.names, fits) {
            DocumentVerdict::Right => {
                return CitationOutcome::new(DocumentCitationState::Verified, None);
            }
            DocumentVerdict::Wrong(fault) => (DocumentCitationState::Missing, fault, Vec::new()),
            DocumentVerdict::Moved(fault, to) => (DocumentCitationState::Moved, fault, to),
            DocumentVerdict::Changed(fault) => (DocumentCitationState::Changed, fault, Vec::new()),
        };
    let is_one = moved_to.len() == 1 && citation.lines.len() == 1;
    let is_fixable = match fault {
        CitationFault::AtOtherLines { .. } => is_one,
        CitationFault::Reversed => moved_to.len() == citation.lines.len(),
        _ => false,
    };
    CitationOutcome { state, message: Some(fault.to_string()), moved_to, is_fixable }
}

fn compare_with_lock(
    content: &CitedFileText,
    range: LineRange,
    entry: Option<&str>,
) -> RangeComparison {
    let now = content.fingerprint_lines(range);
    let Some(entry) = entry else {
        return if now.is_some() { RangeComparison::Same } else { RangeComparison::Beyond };
    };
    if now.as_deref() == Some(entry) {
        return RangeComparison::Same;
    }
    match content.find_by_fingerprint(entry, range.line_count()).as_slice() {
        [only] => RangeComparison::Moved(*only),
        [] => RangeComparison::Changed("these lines have changed since they were cited"),
        _ => RangeComparison::Changed(
            "these lines have changed, and what was cited stands in several places",
        ),
    }
}
