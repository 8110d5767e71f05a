//! Compares the lines that a document cites with what they stood for, or with what it says of them. Pure.

use codeinfo_core::LineRange;

use crate::{
    State,
    content::Content,
    fault::{Fault, join_lines},
    judge::{self, Known, Verdict},
    lock::Lock,
    parse::Citation,
    said::Said,
};

/// What became of a citation with lines of a file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) state: State,
    pub(super) message: Option<String>,
    /// Where its lines are now, if they are known.
    pub(super) moved_to: Vec<LineRange>,
    /// Whether the document may say so from now on.
    pub(super) is_mendable: bool,
}

/// One range beside what the lock has of it.
enum Now {
    Same,
    Moved(LineRange),
    Changed(&'static str),
    /// Nothing is known of it, and the file has no such lines.
    Beyond,
}

/// Settles a citation by what it stood for; `None` where the lock has nothing of it.
pub(super) fn by_lock(
    lock: &Lock,
    (document, path): (&str, &str),
    lines: &[LineRange],
    content: &Content,
) -> Option<Settled> {
    let entries: Vec<Option<&str>> =
        lines.iter().map(|range| lock.get(document, path, *range)).collect();
    if entries.iter().all(Option::is_none) {
        return None;
    }
    let now: Vec<Now> =
        lines.iter().zip(entries).map(|(range, entry)| compare(content, *range, entry)).collect();
    let settled = |state, message: String| Settled {
        state,
        message: Some(message),
        moved_to: Vec::new(),
        is_mendable: false,
    };
    if now.iter().any(|now| matches!(now, Now::Beyond)) {
        let fault = Fault::NoSuchLines { lines: content.lines() };
        return Some(settled(State::Missing, fault.to_string()));
    }
    let changed = now.iter().find_map(|now| match now {
        Now::Changed(why) => Some(*why),
        Now::Same | Now::Moved(_) | Now::Beyond => None,
    });
    if let Some(why) = changed {
        return Some(settled(State::Changed, why.to_owned()));
    }
    let right = lines.iter().zip(&now).map(|(range, now)| match now {
        Now::Moved(to) => *to,
        Now::Same | Now::Changed(_) | Now::Beyond => *range,
    });
    let right: Vec<LineRange> = right.collect();
    if right == lines {
        return Some(verified());
    }
    let message = format!("moved to {}", join_lines(&right));
    Some(Settled { moved_to: right, is_mendable: true, ..settled(State::Moved, message) })
}

/// Settles a citation by the names that its sentence gives.
pub(super) fn by_names(known: &Known, citation: &Citation, said: &Said, fits: bool) -> Settled {
    let (state, fault, moved_to) = match judge::verdict(known, &citation.lines, &said.names, fits) {
        Verdict::Right => return verified(),
        Verdict::Wrong(fault) => (State::Missing, fault, Vec::new()),
        Verdict::Moved(fault, to) => (State::Moved, fault, to),
        Verdict::Changed(fault) => (State::Changed, fault, Vec::new()),
    };
    let is_one = moved_to.len() == 1 && citation.lines.len() == 1;
    let is_mendable = match fault {
        Fault::Elsewhere { .. } => is_one,
        Fault::Reversed => moved_to.len() == citation.lines.len(),
        _ => false,
    };
    Settled { state, message: Some(fault.to_string()), moved_to, is_mendable }
}

fn verified() -> Settled {
    Settled { state: State::Verified, message: None, moved_to: Vec::new(), is_mendable: false }
}

fn compare(content: &Content, range: LineRange, entry: Option<&str>) -> Now {
    let now = content.fingerprint(range);
    let Some(entry) = entry else {
        return if now.is_some() { Now::Same } else { Now::Beyond };
    };
    if now.as_deref() == Some(entry) {
        return Now::Same;
    }
    match content
        .places_of(entry, range.last.saturating_sub(range.first).saturating_add(1))
        .as_slice()
    {
        [only] => Now::Moved(*only),
        [] => Now::Changed("these lines have changed since they were cited"),
        _ => Now::Changed("these lines have changed, and what was cited stands in several places"),
    }
}
