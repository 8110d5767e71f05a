//! Secrets of Kubernetes: documents of YAML whose values are secrets, whatever their names.

use std::ops::Range;

use super::shape::is_placeholder;

/// What every such document has, at the start of a line.
const KIND: &str = "kind: Secret";

/// Adds where the values of secrets stand.
pub(super) fn find(text: &str, into: &mut Vec<Range<usize>>) {
    if !text.contains(KIND) {
        return;
    }
    let mut start = 0;
    for document in documents(text) {
        if is_secret(document) {
            values(document, start, into);
        }
        start += document.len();
    }
}

/// Whether a text is nothing but secrets, and at least one has a value that is written out.
pub(super) fn is_nothing_else(text: &str) -> bool {
    let mut found = Vec::new();
    find(text, &mut found);
    let has_content = |document: &&str| document.lines().any(|line| line.starts_with("kind:"));
    !found.is_empty() && documents(text).filter(has_content).all(is_secret)
}

fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        match text.find("\n---") {
            Some(end) => {
                let (document, next) = text.split_at(end + 1);
                // The next one starts with its `---`, which must not be found again.
                let skip = next.find('\n').map_or(next.len(), |line| line + 1);
                let (document, next) = text.split_at(document.len() + skip);
                rest = (!next.is_empty()).then_some(next);
                Some(document)
            }
            None => Some(text),
        }
    })
}

fn is_secret(document: &str) -> bool {
    let mut has = [false; 2];
    for line in document.lines() {
        has = [has[0] || line.trim_end() == KIND, has[1] || line.starts_with("apiVersion:")];
    }
    has == [true; 2]
}

fn values(document: &str, start: usize, into: &mut Vec<Range<usize>>) {
    let mut at = start;
    let mut is_data = false;
    for line in document.split_inclusive('\n') {
        let content = line.trim();
        let is_top = !line.starts_with([' ', '\t', '#']) && !content.is_empty();
        if is_top {
            is_data = matches!(content, "data:" | "stringData:");
        } else if is_data && !content.is_empty() {
            let value = match content.split_once(':') {
                Some((_, value)) => value.trim(),
                // A line of a block.
                None => content,
            };
            let bare = value.trim_matches(['"', '\'']);
            let is_opening = matches!(bare.trim_end_matches(['-', '+']), "" | "|" | ">");
            let end = at + line.trim_end().len();
            let from = end - value.len();
            if !is_opening && !is_placeholder(bare) && !content.starts_with(['#', '{']) {
                into.push(from..end);
            }
        }
        at += line.len();
    }
}
