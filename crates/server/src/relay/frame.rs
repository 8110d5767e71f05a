//! Reads the few parts of a message that a relay needs: the requests that it holds or answers.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

const ROOTS: &str = "codeinfo/roots";
const MAX_NAME_CHARS: usize = 60;
/// Maximum number of folders among which a repository is looked for.
const MAX_ROOTS: usize = 64;

/// Members that the relay reads; all others are ignored.
#[derive(Deserialize)]
struct RpcEnvelope {
    id: Option<Value>,
    method: Option<String>,
}

pub(super) fn list_request_ids(text: &str) -> Vec<String> {
    list_ids(text, |frame| frame.method.is_some())
}

/// Returns whether a message is the greeting of a client of the first era.
pub(super) fn is_greeting(text: &str) -> bool {
    let frame = serde_json::from_str::<RpcEnvelope>(text);
    frame.is_ok_and(|frame| frame.method.as_deref() == Some("initialize"))
}

pub(super) fn client_name(text: &str) -> Option<String> {
    let greeting: Value = serde_json::from_str(text).ok()?;
    let name = greeting.pointer("/params/clientInfo/name")?.as_str()?;
    Some(name.chars().take(MAX_NAME_CHARS).collect())
}

/// Returns whether a message is the greeting of a client that can list the folders it works in.
pub(super) fn has_roots(text: &str) -> bool {
    let greeting = serde_json::from_str::<Value>(text).unwrap_or_default();
    is_greeting(text)
        && greeting.pointer("/params/capabilities/roots").is_some_and(Value::is_object)
}

/// Returns whether a message announces that the client lists folders, or that they have changed.
pub(super) fn is_time_for_roots(text: &str) -> bool {
    let frame = serde_json::from_str::<RpcEnvelope>(text).ok();
    let method = frame.and_then(|frame| frame.method);
    matches!(
        method.as_deref(),
        Some("notifications/initialized" | "notifications/roots/list_changed")
    )
}

/// Returns the request that asks which folders the client works in.
pub(super) fn ask_for_roots() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{ROOTS}","method":"roots/list"}}"#)
}

/// Returns the folders in an answer to [`ask_for_roots`]; none if the client failed to list them.
pub(super) fn parse_roots(text: &str) -> Option<Vec<PathBuf>> {
    #[derive(Deserialize)]
    struct RootsAnswer {
        id: Value,
        method: Option<String>,
        #[serde(default)]
        result: RootsResult,
    }
    #[derive(Default, Deserialize)]
    struct RootsResult {
        roots: Vec<RootUri>,
    }
    #[derive(Deserialize)]
    struct RootUri {
        uri: String,
    }
    let RootsAnswer { id, method, result } = serde_json::from_str(text).ok()?;
    let path = |root: RootUri| Url::parse(&root.uri).ok()?.to_file_path().ok();
    (id == ROOTS && method.is_none())
        .then(|| result.roots.into_iter().take(MAX_ROOTS).filter_map(path).collect())
}

/// Returns the ids of the requests that a message answers, as JSON.
pub(super) fn list_answered_ids(text: &str) -> Vec<String> {
    list_ids(text, |frame| frame.method.is_none())
}

/// Returns the id, as JSON, of the request that a message cancels; that request gets no answer.
pub(super) fn parse_cancelled_id(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct CancelledNotification {
        method: String,
        params: CancelledParams,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CancelledParams {
        request_id: Value,
    }
    let CancelledNotification { method, params } = serde_json::from_str(text).ok()?;
    (method == "notifications/cancelled").then(|| params.request_id.to_string())
}

fn list_ids(text: &str, is_wanted: impl Fn(&RpcEnvelope) -> bool) -> Vec<String> {
    let frames = match serde_json::from_str::<Vec<RpcEnvelope>>(text) {
        Ok(batch) => batch,
        Err(_) => serde_json::from_str::<RpcEnvelope>(text).into_iter().collect(),
    };
    let wanted = frames.iter().filter(|frame| is_wanted(frame));
    wanted.filter_map(|frame| frame.id.as_ref()).map(Value::to_string).collect()
}

/// Returns the message that fails the request `id`, given as JSON.
pub(super) fn build_error_reply(id: &str, code: i32, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_from_the_answer_to_the_question_for_them_alone() {
        assert!(has_roots(
            r#"{"id":0,"method":"initialize","params":{"capabilities":{"roots":{}}}}"#
        ));
        for other in [
            r#"{"id":0,"method":"initialize","params":{"capabilities":{}}}"#,
            r#"{"id":0,"method":"ping","params":{"capabilities":{"roots":{}}}}"#,
        ] {
            assert!(!has_roots(other), "{other}");
        }
        assert!(is_time_for_roots(r#"{"method":"notifications/initialized"}"#));
        assert!(is_time_for_roots(r#"{"method":"notifications/roots/list_changed"}"#));
        assert!(!is_time_for_roots(r#"{"method":"notifications/cancelled"}"#));
        let asked: Value = serde_json::from_str(&ask_for_roots()).unwrap();
        let roots_of = |message: &Value| parse_roots(&message.to_string());
        let answer =
            |listed: Value| roots_of(&json!({ "id": asked["id"], "result": { "roots": listed } }));
        let listed =
            json!([{ "uri": "file:///a%20b" }, { "uri": "https://c" }, { "uri": "file:///d" }]);
        assert_eq!(answer(listed), Some(vec!["/a b".into(), "/d".into()]));
        assert_eq!(answer(json!([])), Some(vec![]));
        assert_eq!(roots_of(&json!({ "id": asked["id"], "error": { "code": -1 } })), Some(vec![]));
        assert_eq!(roots_of(&json!({ "id": 1, "result": { "roots": [] } })), None);
        assert_eq!(roots_of(&json!({ "id": asked["id"], "method": "x" })), None);
    }

    #[test]
    fn requests_and_answers_are_known_by_their_ids_alone() {
        assert_eq!(list_request_ids(r#"{"id":"a","method":"tools/list"}"#), [r#""a""#]);
        assert_eq!(list_request_ids(r#"[{"id":1,"method":"a"},{"method":"b"},{"id":2}]"#), ["1"]);
        assert_eq!(list_request_ids(r#"{"method":"notifications/cancelled"}"#), [""; 0]);
        assert_eq!(
            list_answered_ids(r#"{"id":9007199254740993,"result":{}}"#),
            ["9007199254740993"]
        );
        assert_eq!(list_answered_ids(r#"{"method":"notifications/progress"}"#), [""; 0]);
        assert!(is_greeting(r#"{"id":0,"method":"initialize"}"#));
        assert!(!is_greeting(r#"{"id":0,"method":"ping"}"#));
        let named = |method| format!(r#"{{"method":"{method}","params":{{"requestId":"a"}}}}"#);
        assert_eq!(
            parse_cancelled_id(&named("notifications/cancelled")).as_deref(),
            Some(r#""a""#)
        );
        assert_eq!(parse_cancelled_id(&named("notifications/progress")), None);
        for odd in ["", "[", "null", "7", "[7]", r#"{"id""#] {
            assert_eq!((list_request_ids(odd), list_answered_ids(odd)), (vec![], vec![]), "{odd}");
        }
        let failed = build_error_reply("7", -1, "a \"b\"");
        assert_eq!(failed, r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"a \"b\""}}"#);
    }
}
