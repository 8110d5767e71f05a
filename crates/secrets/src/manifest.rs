//! Finds values of Kubernetes secrets, YAML or JSON objects with secrets under any name.

use std::ops::Range;

use super::shape::is_placeholder;

/// Adds the values of secrets, in single documents, among other documents or in a list.
pub(super) fn find_manifest_secrets(text: &str, into: &mut Vec<Range<usize>>) {
    if !text.contains("kind") || !text.contains("Secret") {
        return;
    }
    find_json_secrets(text, into);
    let lines = parse_lines(text);
    let mut next = 0;
    for (at, line) in lines.iter().enumerate() {
        if at >= next && line.split_field() == Some(("kind", "Secret")) {
            let object = find_object(&lines, at);
            next = object.end;
            find_object_values(&lines, object, line.column, into);
        }
    }
}

/// Returns whether a text consists only of secrets, at least one of which has a literal value.
pub(super) fn is_nothing_else(text: &str) -> bool {
    let mut found = Vec::new();
    find_manifest_secrets(text, &mut found);
    let lines = parse_lines(text);
    let mut kinds =
        lines.iter().filter_map(YamlLine::split_field).filter(|(name, _)| *name == "kind");
    !found.is_empty() && kinds.all(|(_, kind)| matches!(kind, "Secret" | "SecretList" | "List"))
}

struct YamlLine<'a> {
    start: usize,
    /// Indentation, including and not including dashes of lists.
    column: usize,
    indent: usize,
    content: &'a str,
}

impl<'a> YamlLine<'a> {
    fn is_blank(&self) -> bool {
        self.content.is_empty() || self.content.starts_with('#')
    }

    fn starts_item(&self) -> bool {
        self.indent < self.column
    }

    /// Splits `name: value # comment` into name and value without quotes.
    fn split_field(&self) -> Option<(&'a str, &'a str)> {
        let (name, rest) = self.content.split_once(':')?;
        let value = rest.split(" #").next().unwrap_or_default();
        let bare = |text: &'a str| text.trim().trim_matches(['"', '\'']);
        Some((bare(name), bare(value)))
    }
}

fn parse_lines(text: &str) -> Vec<YamlLine<'_>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|whole| {
            let indent = whole.len() - whole.trim_start_matches(' ').len();
            // A line of dashes separates documents.
            let is_parting = whole.starts_with("---");
            let content = if is_parting { whole } else { whole.trim_start_matches([' ', '-']) };
            let column = whole.len() - content.len();
            let line = YamlLine { start, column, indent, content: content.trim_end() };
            start += whole.len();
            line
        })
        .collect()
}

/// Returns the lines of the object that has the field in line `at`.
fn find_object(lines: &[YamlLine<'_>], at: usize) -> Range<usize> {
    let Some(column) = lines.get(at).map(|line| line.column) else { return at..at };
    let is_apart = |line: &YamlLine<'_>| line.content.starts_with("---") || line.content == "...";
    let is_inside =
        |line: &YamlLine<'_>| line.is_blank() || (line.indent >= column && !is_apart(line));
    let mut start = at;
    while let Some(before) = start.checked_sub(1).and_then(|before| lines.get(before)) {
        let is_first =
            lines.get(start).is_some_and(|line| line.starts_item() && line.column == column);
        let leads = before.starts_item() && before.column == column && !is_apart(before);
        if is_first || !(is_inside(before) || leads) {
            break;
        }
        start -= 1;
    }
    let after = lines.iter().skip(at + 1).take_while(|line| is_inside(line)).count();
    start..at + 1 + after
}

fn find_object_values(
    lines: &[YamlLine<'_>],
    object: Range<usize>,
    column: usize,
    into: &mut Vec<Range<usize>>,
) {
    let Some(object) = lines.get(object) else { return };
    let is_field = |line: &YamlLine<'_>| !line.is_blank() && line.column == column;
    let has_version = |line: &YamlLine<'_>| matches!(line.split_field(), Some(("apiVersion", _)));
    if !object.iter().any(|line| is_field(line) && has_version(line)) {
        return;
    }
    let mut is_data = false;
    for line in object.iter().filter(|line| !line.is_blank()) {
        let is_top = is_field(line);
        if is_top {
            is_data = matches!(line.split_field(), Some(("data" | "stringData", _)));
        }
        if !is_data {
            continue;
        }
        // A line without a name belongs to a block.
        let value = line.content.split_once(':').map_or(line.content, |(_, value)| value);
        // A value on one line is a secret as a whole.
        let is_around = |c: char| c.is_whitespace() || (is_top && "{}".contains(c));
        let started = value.trim_start_matches(is_around);
        let value = started.trim_end_matches(is_around);
        let bare = value.trim_matches(['"', '\'']);
        let is_opening = matches!(bare.trim_end_matches(['-', '+']), "" | "|" | ">");
        if !is_opening && !is_placeholder(bare) && !value.starts_with(['#', '{']) {
            let from = line.start + line.column + line.content.len() - started.len();
            into.push(from..from + value.len());
        }
    }
}

/// Maximum nesting of JSON objects.
const MAX_DEPTH: usize = 64;

#[derive(Default)]
struct JsonObject {
    /// Range of the last string, which is a name if a colon follows.
    last: Range<usize>,
    name: Range<usize>,
    is_secret: bool,
    values: Vec<Range<usize>>,
}

fn find_json_secrets(text: &str, into: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut objects: Vec<JsonObject> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let depth = objects.len();
        match byte {
            b'{' if depth < MAX_DEPTH => objects.push(JsonObject::default()),
            b'}' => {
                if let Some(object) = objects.pop().filter(|object| object.is_secret) {
                    into.extend(object.values);
                }
            }
            b':' => {
                if let Some(object) = objects.last_mut() {
                    object.name = object.last.clone();
                }
            }
            b'"' => {
                let end = string_end(bytes, at + 1);
                record_string(text, &mut objects, at + 1..end);
                at = end;
            }
            b',' => {
                if let Some(object) = objects.last_mut() {
                    object.name = 0..0;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn record_string(text: &str, objects: &mut [JsonObject], string: Range<usize>) {
    let get = |range: &Range<usize>| text.get(range.clone());
    let Some(value) = get(&string) else { return };
    let Some((object, above)) = objects.split_last_mut() else { return };
    if !object.name.is_empty() {
        object.is_secret |= get(&object.name) == Some("kind") && value == "Secret";
        let is_data =
            |above: &&mut JsonObject| matches!(get(&above.name), Some("data" | "stringData"));
        if let Some(above) = above.last_mut().filter(is_data)
            && !is_placeholder(value)
        {
            above.values.push(string.clone());
        }
    }
    object.last = string;
}

/// Returns the end of the string that starts at `at`; a string does not extend over its line.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'"' | b'\n' => break,
            b'\\' if bytes.get(end + 1) != Some(&b'\n') => end += 2,
            _ => end += 1,
        }
    }
    end.min(bytes.len())
}
