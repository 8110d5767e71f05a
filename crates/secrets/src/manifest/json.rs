//! Finds the values of Kubernetes secrets written as JSON.

use std::ops::Range;

use crate::shape::is_placeholder;

/// Maximum nesting of objects.
const MAX_DEPTH: usize = 64;

/// An object that is being read.
#[derive(Default)]
struct JsonObject {
    /// Range of the last string, which is a name if a colon follows.
    last: Range<usize>,
    name: Range<usize>,
    is_secret: bool,
    /// Values of its `data` and `stringData`.
    values: Vec<Range<usize>>,
}

/// Adds the ranges of secret values.
pub(super) fn find_json_secrets(text: &str, into: &mut Vec<Range<usize>>) {
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

/// Records a string as a name, a kind or a value.
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
