//! Renders the result of a call as one text for the model.

use codeinfo_secrets::redact_secrets;
use serde_json::Value;

use crate::connection::CallResult;

/// Maximum bytes of a result. Codex cuts longer ones with a less helpful note.
pub(super) const MAX_RESULT_BYTES: usize = 40_000;
/// Maximum bytes of a result that are searched for secrets before it is cut.
const MAX_READ_BYTES: usize = 1024 * 1024;
/// Text for an empty result.
const NOTHING: &str = "(the tool returned nothing)";

/// Returns the text of `result` for the model, with secrets replaced and a note for each part that is not text.
pub(super) fn render_result(result: &CallResult) -> String {
    let mut parts: Vec<String> = result.content.iter().map(render_part).collect();
    let has_text = parts.iter().any(|part| !part.trim().is_empty());
    if let (false, Some(structured)) = (has_text, &result.structured) {
        parts = vec![structured.to_string()];
    }
    let text = parts.join("\n");
    if text.trim().is_empty() {
        return NOTHING.to_owned();
    }
    let text = truncate_middle(&text, MAX_READ_BYTES);
    truncate_middle(&redact_secrets("", None, &text).text, MAX_RESULT_BYTES)
}

fn render_part(content: &Value) -> String {
    let text = |pointer: &str| content.pointer(pointer).and_then(Value::as_str);
    match text("/type").unwrap_or_default() {
        "text" => text("/text").unwrap_or_default().to_owned(),
        "resource" => match text("/resource/text") {
            Some(resource) => resource.to_owned(),
            None => left_out("a file", text("/resource/mimeType"), text("/resource/blob")),
        },
        "resource_link" => format!("(a link to {})", text("/uri").unwrap_or("a resource")),
        "image" => left_out("an image", text("/mimeType"), text("/data")),
        "audio" => left_out("a recording", text("/mimeType"), text("/data")),
        kind => {
            format!("(a part of the kind `{}` is left out)", codeinfo_core::plain_name(kind, 40))
        }
    }
}

fn left_out(what: &str, kind: Option<&str>, base64: Option<&str>) -> String {
    let bytes = base64.map_or(0, str::len) / 4 * 3;
    let kind = codeinfo_core::plain_name(kind.unwrap_or("an unknown type"), 80);
    format!("({what} of {kind}, about {bytes} bytes, is left out)")
}

/// Cuts the middle out of a text of more than `most` bytes, and leaves a note there.
fn truncate_middle(text: &str, most: usize) -> String {
    /// Bytes reserved for the note.
    const SENTENCE: usize = 120;
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most.saturating_sub(SENTENCE) / 2;
    let start = text.floor_char_boundary(half);
    let end = text.ceil_char_boundary(text.len() - half);
    let first = text.get(..start).unwrap_or_default();
    let last = text.get(end..).unwrap_or_default();
    format!(
        "{first}\n[… {} bytes of {} are left out here; ask for less …]\n{last}",
        end - start,
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(content: Vec<Value>, structured: Option<Value>) -> CallResult {
        CallResult { content, structured, is_error: false, ttl: None }
    }

    #[test]
    fn parts_that_are_no_text_are_named() {
        let content = vec![
            json!({ "type": "text", "text": "a" }),
            json!({ "type": "image", "mimeType": "image/png", "data": "AAAABBBB" }),
            json!({ "type": "resource", "resource": { "uri": "x:y", "text": "b" } }),
            json!({ "type": "resource_link", "uri": "x:y" }),
            json!({ "type": "new\nline" }),
            json!(7),
        ];
        insta::assert_snapshot!(render_result(&result(content, Some(json!({ "c": 1 })))), @r"
        a
        (an image of image/png, about 6 bytes, is left out)
        b
        (a link to x:y)
        (a part of the kind `new line` is left out)
        (a part of the kind `` is left out)
        ");
        assert_eq!(render_result(&result(Vec::new(), Some(json!({ "c": 1 })))), r#"{"c":1}"#);
        assert_eq!(render_result(&result(Vec::new(), None)), NOTHING);
    }

    #[test]
    fn a_long_result_loses_its_middle_and_says_so() {
        let text = format!("begin{}end", "ü".repeat(3_000_000));
        let shown = render_result(&result(vec![json!({ "type": "text", "text": text })], None));
        assert!(shown.len() <= MAX_RESULT_BYTES, "{}", shown.len());
        assert!(shown.len() > MAX_RESULT_BYTES - 200, "{}", shown.len());
        assert!(shown.starts_with("beginü") && shown.ends_with("üend"));
        assert!(shown.contains("are left out here"));
    }

    #[test]
    fn secrets_are_replaced() {
        let key = format!("AKIA{}", "QWERTYUIOPASDFGH");
        let text = format!("aws_access_key_id = {key}");
        let shown = render_result(&result(vec![json!({ "type": "text", "text": text })], None));
        assert!(!shown.contains(&key), "{shown}");
    }
}
