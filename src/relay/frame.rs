//! The little that a relay reads of a message: which requests it holds, or which it answers.

use serde::Deserialize;
use serde_json::{Value, json};

/// The members that matter. Everything else stays unread.
#[derive(Deserialize)]
struct Frame {
    id: Option<Value>,
    method: Option<String>,
}

/// Returns the ids of the requests in a message, as JSON.
pub(super) fn requests(text: &str) -> Vec<String> {
    ids(text, |frame| frame.method.is_some())
}

/// Whether a message is the greeting of a client of the first era.
pub(super) fn is_greeting(text: &str) -> bool {
    let frame = serde_json::from_str::<Frame>(text);
    frame.is_ok_and(|frame| frame.method.as_deref() == Some("initialize"))
}

/// Returns the ids of the requests that a message answers, as JSON.
pub(super) fn answers(text: &str) -> Vec<String> {
    ids(text, |frame| frame.method.is_none())
}

/// Returns the id, as JSON, of the request that a message cancels: it has no answer.
pub(super) fn cancelled(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Cancelled {
        method: String,
        params: Params,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        request_id: Value,
    }
    let Cancelled { method, params } = serde_json::from_str(text).ok()?;
    (method == "notifications/cancelled").then(|| params.request_id.to_string())
}

fn ids(text: &str, is_meant: impl Fn(&Frame) -> bool) -> Vec<String> {
    let frames = match serde_json::from_str::<Vec<Frame>>(text) {
        Ok(batch) => batch,
        Err(_) => serde_json::from_str::<Frame>(text).into_iter().collect(),
    };
    let meant = frames.iter().filter(|frame| is_meant(frame));
    meant.filter_map(|frame| frame.id.as_ref()).map(Value::to_string).collect()
}

/// Returns the message that fails the request `id`, given as JSON.
pub(super) fn failed(id: &str, code: i32, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

#[cfg(test)]
mod tests {
    use super::{answers, cancelled, failed, is_greeting, requests};

    #[test]
    fn requests_and_answers_are_known_by_their_ids_alone() {
        assert_eq!(requests(r#"{"id":"a","method":"tools/list"}"#), [r#""a""#]);
        assert_eq!(requests(r#"[{"id":1,"method":"a"},{"method":"b"},{"id":2}]"#), ["1"]);
        assert_eq!(requests(r#"{"method":"notifications/cancelled"}"#), [""; 0]);
        assert_eq!(answers(r#"{"id":9007199254740993,"result":{}}"#), ["9007199254740993"]);
        assert_eq!(answers(r#"{"method":"notifications/progress"}"#), [""; 0]);
        assert!(is_greeting(r#"{"id":0,"method":"initialize"}"#));
        assert!(!is_greeting(r#"{"id":0,"method":"ping"}"#));
        let named = |method| format!(r#"{{"method":"{method}","params":{{"requestId":"a"}}}}"#);
        assert_eq!(cancelled(&named("notifications/cancelled")).as_deref(), Some(r#""a""#));
        assert_eq!(cancelled(&named("notifications/progress")), None);
        for odd in ["", "[", "null", "7", "[7]", r#"{"id""#] {
            assert_eq!((requests(odd), answers(odd)), (vec![], vec![]), "{odd}");
        }
        let failed = failed("7", -1, "a \"b\"");
        assert_eq!(failed, r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"a \"b\""}}"#);
    }
}
