//! Compares the lines that a document cites with what they stood for, or with what it says of them. Pure.

use codeinfo_core::LineRange;

use crate::{
    DocumentCitationState,
    content::CitedFileText,
    fault::{CitationFault, join_lines},
    judge::{self, CitedFile, DocumentVerdict},
    lock::CitationLock,
    parse::Citation,
    said::AttributedText,
};

/// What became of a citation with lines of a file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CitationOutcome {
    pub(super) state: DocumentCitationState,
    pub(super) message: Option<String>,
    /// Where its lines are now, if they are known.
    pub(super) moved_to: Vec<LineRange>,
    /// Whether the document may say so from now on.
    pub(super) is_mendable: bool,
}

/// One range beside what the lock has of it.
enum RangeComparison {
    Same,
    Moved(LineRange),
    Changed(&'static str),
    /// Nothing is known of it, and the file has no such lines.
    Beyond,
}

/// Settles a citation by what it stood for; `None` where the lock has nothing of it.
pub(super) fn compare_with_lock_entries(
    lock: &CitationLock,
    (document, path): (&str, &str),
    lines: &[LineRange],
    content: &CitedFileText,
) -> Option<CitationOutcome> {
    let entries: Vec<Option<&str>> =
        lines.iter().map(|range| lock.get(document, path, *range)).collect();
    if entries.iter().all(Option::is_none) {
        return None;
    }
    let now: Vec<RangeComparison> = lines
        .iter()
        .zip(entries)
        .map(|(range, entry)| compare_with_lock(content, *range, entry))
        .collect();
    let settled = |state, message: String| CitationOutcome {
        state,
        message: Some(message),
        moved_to: Vec::new(),
        is_mendable: false,
    };
    if now.iter().any(|now| matches!(now, RangeComparison::Beyond)) {
        let fault = CitationFault::NoSuchLines { lines: content.line_count() };
        return Some(settled(DocumentCitationState::Missing, fault.to_string()));
    }
    let changed = now.iter().find_map(|now| match now {
        RangeComparison::Changed(why) => Some(*why),
        RangeComparison::Same | RangeComparison::Moved(_) | RangeComparison::Beyond => None,
    });
    if let Some(why) = changed {
        return Some(settled(DocumentCitationState::Changed, why.to_owned()));
    }
    let right = lines.iter().zip(&now).map(|(range, now)| match now {
        RangeComparison::Moved(to) => *to,
        RangeComparison::Same | RangeComparison::Changed(_) | RangeComparison::Beyond => *range,
    });
    let right: Vec<LineRange> = right.collect();
    if right == lines {
        return Some(verified_outcome());
    }
    let message = format!("moved to {}", join_lines(&right));
    Some(CitationOutcome {
        moved_to: right,
        is_mendable: true,
        ..settled(DocumentCitationState::Moved, message)
    })
}

/// Settles a citation by the names that its sentence gives.
pub(super) fn judge_by_names(
    known: &CitedFile,
    citation: &Citation,
    said: &AttributedText,
    fits: bool,
) -> CitationOutcome {
    let (state, fault, moved_to) =
        match judge::judge_lines(known, &citation.lines, &said.names, fits) {
            DocumentVerdict::Right => return verified_outcome(),
            DocumentVerdict::Wrong(fault) => (DocumentCitationState::Missing, fault, Vec::new()),
            DocumentVerdict::Moved(fault, to) => (DocumentCitationState::Moved, fault, to),
            DocumentVerdict::Changed(fault) => (DocumentCitationState::Changed, fault, Vec::new()),
        };
    let is_one = moved_to.len() == 1 && citation.lines.len() == 1;
    let is_mendable = match fault {
        CitationFault::Elsewhere { .. } => is_one,
        CitationFault::Reversed => moved_to.len() == citation.lines.len(),
        _ => false,
    };
    CitationOutcome { state, message: Some(fault.to_string()), moved_to, is_mendable }
}

fn verified_outcome() -> CitationOutcome {
    CitationOutcome {
        state: DocumentCitationState::Verified,
        message: None,
        moved_to: Vec::new(),
        is_mendable: false,
    }
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
    match content
        .find_by_fingerprint(entry, range.last.saturating_sub(range.first).saturating_add(1))
        .as_slice()
    {
        [only] => RangeComparison::Moved(*only),
        [] => RangeComparison::Changed("these lines have changed since they were cited"),
        _ => RangeComparison::Changed(
            "these lines have changed, and what was cited stands in several places",
        ),
    }
}
