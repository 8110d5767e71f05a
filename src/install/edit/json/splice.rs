//! Inserts and removes members in the text of an object, in the style of the surrounding text.

use std::ops::Range;

use jsonc_parser::{
    ast::{Array, Object},
    common::Ranged,
};
use serde_json::Value;

/// Positions of an object or a list and of its members.
pub(super) struct JsonContainer {
    range: Range<usize>,
    members: Vec<Range<usize>>,
}

impl From<&Object<'_>> for JsonContainer {
    fn from(object: &Object<'_>) -> Self {
        let members = object.properties.iter().map(bytes_of).collect();
        Self { range: bytes_of(object), members }
    }
}

impl From<&Array<'_>> for JsonContainer {
    fn from(list: &Array<'_>) -> Self {
        let members = list.elements.iter().map(bytes_of).collect();
        Self { range: bytes_of(list), members }
    }
}

pub(super) fn bytes_of(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

pub(super) struct JsonStyle {
    /// Indentation of a level; `None` for a single line.
    unit: Option<String>,
    end: &'static str,
}

impl JsonStyle {
    pub(super) fn detect_style(text: &str, top: &JsonContainer) -> Self {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = top.members.first().map(|first| first.start);
        let is_one_line = first.is_some() && !slice(text, top.range.clone()).contains('\n');
        let own = first.and_then(|first| line_indent(text, first)).filter(|own| !own.is_empty());
        let base = indent_at(text, top.range.start);
        let unit = own.map_or("  ", |own| own.strip_prefix(base).unwrap_or(own));
        Self { unit: (!is_one_line).then(|| unit.to_owned()), end }
    }

    /// Returns the style of a nested container: its own if it has members, otherwise this one.
    pub(super) fn for_container(self, text: &str, container: &JsonContainer) -> Self {
        if container.members.is_empty() { self } else { Self::detect_style(text, container) }
    }

    pub(super) fn indent_deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit.as_deref().unwrap_or_default())
    }

    pub(super) fn render_object(&self, indent: &str, members: &[(&str, String)]) -> String {
        let lines: Vec<String> =
            members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        self.render_enclosed(indent, ('{', '}'), &lines)
    }

    pub(super) fn render_value(&self, indent: &str, value: &Value) -> String {
        let inner = self.indent_deeper(indent);
        match value {
            Value::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| (name.as_str(), self.render_value(&inner, value)))
                    .collect();
                self.render_object(indent, &members)
            }
            Value::Array(elements) => {
                let lines: Vec<_> =
                    elements.iter().map(|element| self.render_value(&inner, element)).collect();
                self.render_enclosed(indent, ('[', ']'), &lines)
            }
            plain => plain.to_string(),
        }
    }

    fn render_enclosed(&self, indent: &str, brackets: (char, char), members: &[String]) -> String {
        let (first, between, last) = if self.unit.is_none() {
            (String::new(), ", ".to_owned(), String::new())
        } else {
            let line = format!("{}{}", self.end, self.indent_deeper(indent));
            (line.clone(), format!(",{line}"), format!("{}{indent}", self.end))
        };
        format!("{}{first}{}{last}{}", brackets.0, members.join(&between), brackets.1)
    }
}

/// Returns `text` with a member at the end of `container`; `member` gets its line's indentation.
pub(super) fn insert_member(
    text: &str,
    container: &JsonContainer,
    style: &JsonStyle,
    member: &dyn Fn(&str) -> String,
) -> String {
    let base = indent_at(text, container.range.start);
    let close = container.range.end - 1;
    let last = container.members.last();
    let comma = last.and_then(|last| comma_after(text, last.end));
    let from = match (last, comma) {
        (_, Some(comma)) => comma + 1,
        (Some(last), None) => last.end,
        (None, None) => container.range.start + 1,
    };
    // After the comments that belong to the existing members.
    let filled = slice(text, from..close).trim_end();
    let at = from + filled.len();
    let trailing = if comma.is_some() { "," } else { "" };
    let (member, tail) = if style.unit.is_some() {
        let own = last.and_then(|last| line_indent(text, last.start));
        let indent = own.map_or_else(|| style.indent_deeper(base), str::to_owned);
        let member = format!("{}{indent}{}{trailing}", style.end, member(&indent));
        // The closing bracket moves to its own line if it shares one with members or a comment.
        let needs_line = last.is_none() && !slice(text, at..close).contains('\n');
        (member, if needs_line { format!("{}{base}", style.end) } else { String::new() })
    } else {
        (format!(" {}{trailing}", member(base)), String::new())
    };
    let separator = if last.is_some() && comma.is_none() { "," } else { "" };
    let before = slice(text, 0..from);
    let after = text.get(at..).unwrap_or_default();
    format!("{before}{separator}{filled}{member}{tail}{after}")
}

/// Returns `text` without a member of `container`, and without the lines that contain nothing else.
pub(super) fn remove_member(old: &str, container: &JsonContainer, member: Range<usize>) -> String {
    let Range { mut start, mut end } = member;
    let mut text = old.to_owned();
    if let Some(comma) = comma_after(&text, end) {
        // A comment between the two remains.
        text.replace_range(comma..=comma, "");
        if slice(&text, end..comma).trim().is_empty() {
            end = comma;
        }
    } else {
        let before = container.members.iter().take_while(|other| other.start < start).last();
        let comma = before.and_then(|before| comma_after(&text, before.end));
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

pub(super) fn replace_range(old: &str, range: Range<usize>, new: &str) -> String {
    let mut text = old.to_owned();
    text.replace_range(range, new);
    text
}

/// Returns the white space at the start of a position's line.
pub(super) fn indent_at(text: &str, at: usize) -> &str {
    let before = slice(text, 0..at);
    let line = text.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
    slice(line, 0..line.len() - line.trim_start_matches([' ', '\t']).len())
}

/// Returns the indentation of a line whose text begins at `at`.
fn line_indent(text: &str, at: usize) -> Option<&str> {
    let before = slice(text, 0..at);
    let start = before.rfind('\n')? + 1;
    let indent = slice(before, start..at);
    indent.chars().all(|c| matches!(c, ' ' | '\t')).then_some(indent)
}

/// Returns the position of a comma that follows, after white space and comments.
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
