//! Puts members into the text of an object and takes them out, in the style of the text around.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp};

/// How a text is laid out.
pub(super) struct Style {
    /// What a level is indented by; `None` where all is in one line.
    unit: Option<String>,
    end: &'static str,
}

impl Style {
    pub(super) fn of(text: &str, top: &Object<'_>) -> Self {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = top.properties.first().map(|first| first.range.start);
        let is_one_line =
            first.is_some() && !slice(text, top.range.start..top.range.end).contains('\n');
        let own = first.and_then(|first| line_indent(text, first)).filter(|own| !own.is_empty());
        let base = indent_at(text, top.range.start);
        let unit = own.map_or("  ", |own| own.strip_prefix(base).unwrap_or(own));
        Self { unit: (!is_one_line).then(|| unit.to_owned()), end }
    }

    pub(super) fn deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit.as_deref().unwrap_or_default())
    }

    /// Returns an object whose line is indented by `indent`.
    pub(super) fn object(&self, indent: &str, members: &[(&str, String)]) -> String {
        let inner = self.deeper(indent);
        let (open, between, close) = if self.unit.is_none() {
            (String::new(), ", ".to_owned(), String::new())
        } else {
            let line = format!("{}{inner}", self.end);
            (line.clone(), format!(",{line}"), format!("{}{indent}", self.end))
        };
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{open}{}{close}}}", members.join(&between))
    }
}

/// Returns `text` with a member at the end of `object`; `value` is given how its line is indented.
pub(super) fn added(
    text: &str,
    object: &Object<'_>,
    style: &Style,
    name: &str,
    value: &dyn Fn(&str) -> String,
) -> String {
    let base = indent_at(text, object.range.start);
    let close = object.range.end - 1;
    let last = object.properties.last();
    let comma = last.and_then(|last| comma_after(text, last.range.end));
    let from = match (last, comma) {
        (_, Some(comma)) => comma + 1,
        (Some(last), None) => last.range.end,
        (None, None) => object.range.start + 1,
    };
    // After the comments that belong to what is there.
    let filled = slice(text, from..close).trim_end();
    let at = from + filled.len();
    let trailing = if comma.is_some() { "," } else { "" };
    let (member, tail) = if style.unit.is_some() {
        let own = last.and_then(|last| line_indent(text, last.range.start));
        let indent = own.map_or_else(|| style.deeper(base), str::to_owned);
        let member = format!("{}{indent}\"{name}\": {}{trailing}", style.end, value(&indent));
        // The bracket of what was in one line, or after a comment, comes to stand below.
        let needs_line = last.is_none() && !slice(text, at..close).contains('\n');
        (member, if needs_line { format!("{}{base}", style.end) } else { String::new() })
    } else {
        (format!(" \"{name}\": {}{trailing}", value(base)), String::new())
    };
    let separator = if last.is_some() && comma.is_none() { "," } else { "" };
    let before = slice(text, 0..from);
    let after = text.get(at..).unwrap_or_default();
    format!("{before}{separator}{filled}{member}{tail}{after}")
}

/// Returns `text` without a member of `object`, and without the lines that held nothing else.
pub(super) fn removed(text: &str, object: &Object<'_>, member: &ObjectProp<'_>) -> String {
    let Range { mut start, mut end } = member.range.start..member.range.end;
    let mut text = text.to_owned();
    if let Some(comma) = comma_after(&text, end) {
        // A comment between the two stays.
        text.replace_range(comma..=comma, "");
        if slice(&text, end..comma).trim().is_empty() {
            end = comma;
        }
    } else {
        let before = object.properties.iter().take_while(|other| other.range.start < start).last();
        let comma = before.and_then(|before| comma_after(&text, before.range.end));
        if let Some(comma) = comma.filter(|comma| *comma < start) {
            text.replace_range(comma..=comma, "");
            (start, end) = (start - 1, end - 1);
        }
    }
    let rest = text.get(end..).unwrap_or_default();
    let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
    if line_indent(&text, start).is_some() && slice(rest, 0..line).trim().is_empty() {
        start -= indent_at(&text, start).len();
        end += line;
    }
    text.replace_range(start..end, "");
    text
}

/// Returns `text` with other bytes in `range`.
pub(super) fn replaced(text: &str, range: Range<usize>, new: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(range, new);
    text
}

/// Returns the white space that the line of a place begins with.
pub(super) fn indent_at(text: &str, at: usize) -> &str {
    let before = slice(text, 0..at);
    let line = text.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
    slice(line, 0..line.len() - line.trim_start_matches([' ', '\t']).len())
}

/// Returns how a line is indented, if it begins with what is at `at`.
fn line_indent(text: &str, at: usize) -> Option<&str> {
    let before = slice(text, 0..at);
    let start = before.rfind('\n')? + 1;
    let indent = slice(before, start..at);
    indent.chars().all(|c| matches!(c, ' ' | '\t')).then_some(indent)
}

/// Returns where the comma is that follows, after white space and comments.
fn comma_after(text: &str, from: usize) -> Option<usize> {
    let mut rest = text.get(from..)?;
    loop {
        rest = rest.trim_start();
        rest = if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")?.1
        } else if rest.starts_with("//") {
            rest.split_once('\n')?.1
        } else {
            return rest.starts_with(',').then_some(text.len() - rest.len());
        };
    }
}

fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}
