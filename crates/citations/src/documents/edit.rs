//! Edits a few bytes of a document.

use std::ops::Range;

use codeinfo_core::LineRange;

use crate::parse::Citation;

/// A replacement of a byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentEdit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// Builds the edits that change the lines of a citation. Returns them with the new lines.
///
/// The number of ranges stays the same, and a single line number stays single.
pub(super) fn edit_line_numbers(
    citation: &Citation,
    to: &[LineRange],
) -> (Vec<DocumentEdit>, Vec<LineRange>) {
    let (mut edits, mut named) = (Vec::new(), Vec::new());
    for (numbers, to) in citation.numbers.iter().zip(to) {
        edits.push(DocumentEdit { range: numbers.first.clone(), text: to.first.to_string() });
        let mut range = LineRange { first: to.first, last: to.first };
        if let Some(last) = &numbers.last {
            edits.push(DocumentEdit { range: last.clone(), text: to.last.to_string() });
            range = *to;
        }
        named.push(range);
    }
    (edits, named)
}

/// Applies edits that do not overlap.
pub(super) fn apply_edits(text: &str, mut edits: Vec<DocumentEdit>) -> String {
    edits.sort_unstable_by_key(|edit| edit.range.start);
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for DocumentEdit { range, text: new } in edits {
        changed.push_str(text.get(done..range.start).unwrap_or_default());
        changed.push_str(&new);
        done = range.end;
    }
    changed + text.get(done..).unwrap_or_default()
}
