//! Changes documents: a few bytes of a text.

use std::ops::Range;

use codeinfo_core::LineRange;

use crate::parse::Citation;

/// Other bytes for some of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentEdit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// Returns what has a citation name other lines, as many as it does, and those that it names then: one that
/// names a single line goes on to.
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

/// Applies edits that do not meet.
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
